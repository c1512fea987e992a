"""Calls of search tools: evidence over all calls, calls and tokens until all of it, wasted and repeated calls."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rankproof._analysis.answers.answer_input import AnswerInput, answer_input_from_files
from rankproof._analysis.answers.log_tables import Trajectory, search_calls_table, trajectory
from rankproof._analysis.answers.logged_answers import answers_of_logs
from rankproof._cli.main import main
from rankproof._data.answers import SearchCall
from rankproof._importers.registry import import_source
from rankproof.errors import InputError

FIRST, SECOND, OTHER = "Oslo was founded in 1040.", "Harald Hardrada founded Oslo.", "Bergen is rainy."


def call(query: str, *returned: str, tokens: float | None = None) -> SearchCall:
    return SearchCall(query, returned, tokens)


@pytest.mark.parametrize(
    ("searches", "expected"),
    [
        ((), Trajectory(0, 0, 0, 0.0, 0)),
        ((call("a", "d1", "d2", tokens=50.0),), Trajectory(1, 0, 0, 1.0, 0, 1, 50.0)),
        ((call("a", "d1"), call("b", "x"), call("c", "d2", tokens=90.0)), Trajectory(3, 0, 0, 1.0, 1, 3, 90.0)),
        ((call("a", "d1"), call(" A ", "d1")), Trajectory(2, 1, 1, 0.5, 1)),
        ((call("a", "d1", "d2"), call("b", "d2"), call("c", "x")), Trajectory(3, 0, 1, 1.0, 2, 1)),
        ((SearchCall("a", ("d1", "d2"), None, 800.0),), Trajectory(1, 0, 0, 1.0, 0, 1, None, 800.0)),
        ((call("", "x"), call("")), Trajectory(2, 0, 1, 0.0, 2)),
    ],
)
def test_evidence_is_that_of_all_calls_together(searches: tuple[SearchCall, ...], expected: Trajectory) -> None:
    assert trajectory(searches, frozenset({"d1", "d2"}), {}) == expected


def test_a_chunk_counts_as_its_judged_document() -> None:
    assert trajectory([call("a", "d1#2")], frozenset({"d1"}), {"d1#2": "d1"}).evidence == 1.0


def test_without_relevant_documents_only_repeats_and_what_is_new_are_known() -> None:
    assert trajectory([call("a", "d1"), call("a", "d1")], frozenset(), {}) == Trajectory(2, 1, 1)


def agent_row(session: str, *steps: tuple[str, list[str]], answer: str = "In 1040.") -> dict[str, Any]:
    """A trajectory in LangChain's messages: each step costs 100 tokens and returns its passages."""
    messages: list[dict[str, Any]] = [{"type": "human", "content": f"Who founded Oslo, {session}?"}]
    for number, (query, passages) in enumerate(steps):
        tool_call = {"name": "search", "args": {"query": query}, "id": f"c{number}"}
        usage = {"input_tokens": 90, "output_tokens": 10}
        messages.append({"type": "ai", "content": "", "tool_calls": [tool_call], "usage_metadata": usage})
        messages.append({"type": "tool", "tool_call_id": f"c{number}", "content": json.dumps(passages)})
    messages.append({"type": "ai", "content": answer, "usage_metadata": {"input_tokens": 200, "output_tokens": 20}})
    return {"session_id": session, "messages": messages, "reference_contexts": [FIRST, SECOND], "reference": "In 1040."}


def logs(folder: Path, **systems: list[dict[str, Any]]) -> list[Path]:
    paths = [folder / f"{name}.jsonl" for name in systems]
    for path, rows in zip(paths, systems.values(), strict=True):
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return paths


def answer_input(paths: list[Path]) -> AnswerInput:
    return answer_input_from_files(answers_of_logs(import_source(paths)), ["ClaimF1"])


GOOD = [agent_row(f"s{n}", ("oslo", [FIRST, SECOND])) for n in range(3)]
POOR = [agent_row(f"s{n}", ("oslo", [FIRST]), ("oslo", [FIRST]), ("oslo founder", [OTHER, SECOND])) for n in range(3)]


def test_the_table_of_two_agents_says_what_their_searches_took(tmp_path: Path) -> None:
    table = search_calls_table(answer_input(logs(tmp_path, good=GOOD, poor=POOR)), "good")
    assert table is not None
    good, poor = table.records()
    assert (good["calls"], good["evidence"], good["wasted"], good["tokens until"]) == (1.0, 1.0, 0.0, 100.0)
    assert (poor["calls"], poor["evidence"], poor["calls until"], poor["tokens until"]) == (3.0, 1.0, 3.0, 300.0)
    assert poor["repeated"] == poor["nothing new"] == poor["wasted"] == 1 / 3


def test_the_difference_of_evidence_has_an_interval_of_paired_questions(tmp_path: Path) -> None:
    names = [f"s{n}" for n in range(15)]
    good = [agent_row(name, ("oslo", [FIRST, SECOND])) for name in names]
    half = [agent_row(name, ("oslo", [FIRST]), ("norway", [OTHER] if n < 12 else [SECOND])) for n, name in enumerate(names)]
    table = search_calls_table(answer_input(logs(tmp_path, good=good, half=half)), "good")
    assert table is not None
    interval = table.records()[1]["vs good (95% CI)"]
    assert isinstance(interval, tuple)
    assert interval[0] < -0.4 < interval[1] < 0


def test_a_difference_of_evidence_in_few_questions_has_no_interval(tmp_path: Path) -> None:
    half = [agent_row(f"s{n}", ("oslo", [FIRST]), ("norway", [OTHER] if n else [SECOND])) for n in range(3)]
    table = search_calls_table(answer_input(logs(tmp_path, good=GOOD, half=half)), "good")
    assert table is not None
    assert "vs good (95% CI)" not in table.records()[1]


def test_systems_with_one_call_per_answer_have_no_table(tmp_path: Path) -> None:
    assert search_calls_table(answer_input(logs(tmp_path, good=GOOD)), None) is None


def test_tokens_of_messages_are_the_costs_of_the_answer(tmp_path: Path) -> None:
    (usage, *_) = answer_input(logs(tmp_path, good=GOOD)).answers["good"].usages
    assert (usage.tokens_in, usage.tokens_out) == (290.0, 30.0)


def test_results_of_calls_that_name_their_call_may_come_in_any_order(tmp_path: Path) -> None:
    row = agent_row("s", ("one", [FIRST]), ("two", [SECOND]))
    first, second = row["messages"].pop(2), row["messages"].pop(3)
    row["messages"][3:3] = [second, first]
    (path,) = logs(tmp_path, a=[row])
    searches = import_source(path).answers["a"]["s/1"].searches or ()
    texts = import_source(path).contexts
    assert [(search.query, [texts[doc] for doc in search.returned]) for search in searches] == [
        ("one", [FIRST]),
        ("two", [SECOND]),
    ]


def test_a_column_of_searches_gives_the_contexts_of_the_answer(tmp_path: Path) -> None:
    searches = [
        {"query": "a", "contexts": [FIRST, OTHER], "tokens": 10},
        {"query": "b", "contexts": [{"id": "d1", "text": SECOND}]},
    ]
    (path,) = logs(tmp_path, a=[{"question": "q", "answer": "x", "searches": searches}])
    (answer,) = import_source(path).answers["a"].values()
    assert answer.searches is not None
    assert answer.given is not None
    assert [search.tokens for search in answer.searches] == [10.0, None]
    assert answer.given == (*answer.searches[0].returned, "d1")


@pytest.mark.parametrize("wrong", [[{"q": "x"}], [5], [{"query": "x", "tokens": -1}]])
def test_a_column_of_searches_of_another_shape_is_an_error(tmp_path: Path, wrong: object) -> None:
    (path,) = logs(tmp_path, a=[{"question": "q", "answer": "x", "searches": wrong}])
    with pytest.raises(InputError, match="searches is no list of searches"):
        import_source(path)


def test_a_results_folder_keeps_the_calls(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths, tables = logs(tmp_path, good=GOOD, poor=POOR), []
    for arguments in ([*map(str, paths), "-m", "ClaimF1", "-o", str(tmp_path / "results")], [str(tmp_path / "results")]):
        assert main(["answers", *arguments, "--quiet"]) == 0
        tables.append(capsys.readouterr().out.partition("Calls of search tools")[2])
    assert tables[0]
    assert tables[0] == tables[1]


def test_explain_shows_what_was_said_before_a_question_and_what_was_searched_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    row = agent_row("s", ("founder of Oslo", [FIRST]))
    row["messages"] += [
        {"type": "human", "content": "And when?"},
        {"type": "ai", "content": "", "tool_calls": [{"name": "search", "args": {"query": "founding year of Oslo"}, "id": "x"}]},
        {"type": "tool", "tool_call_id": "x", "content": json.dumps([FIRST])},
        {"type": "ai", "content": "In 1040."},
    ]
    (path,) = logs(tmp_path, a=[row])
    assert main(["answers", str(path), "-m", "Faithfulness", "-o", str(tmp_path / "r"), "--quiet"]) == 0
    capsys.readouterr()
    assert main(["explain", str(tmp_path / "r"), "-m", "Faithfulness", "--query", "s/2"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "Question: And when? Said before: user: Who founded Oslo, s? | assistant: In 1040." in shown
    assert "Searched for: founding year of Oslo" in shown
