"""Preferences between answers: strengths, the bias of the place, machines that never decide, and files of several tools."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankproof as rp
from rankproof._analysis.preferences import Comparisons, analyse_preferences, fit_strengths
from rankproof._cli.main import main
from rankproof._formats.preferences import Preference, read_preferences
from rankproof.errors import InputError, UsageError
from rankproof.models._chat.base import ChatRequest
from support.scripted_chat import ScriptedChat


def drawn(
    seed: int, questions: int, chance: float, bias: float = 0.0, *, who: str = "human:ann", swap: float = 0.5
) -> list[Preference]:
    """Preferences between a and b: a is better with this chance, plus a bias for the place."""
    random, made = np.random.default_rng(seed), []
    for at in range(questions):
        first, second = ("b", "a") if random.random() < swap else ("a", "b")
        wins_first = random.random() < (chance if first == "a" else 1 - chance) + bias
        made.append(Preference(f"q{at}", "a", "b", first if wins_first else second, first, who))
    return made


def shares(result: Any) -> dict[str, float]:
    """The chance of each system to be preferred."""
    return {str(row[0]): float(row[1]) for row in result.tables[0].rows}


def test_of_two_systems_the_chance_is_the_share_of_wins() -> None:
    made = [Preference(f"q{at}", "a", "b", "a" if at < 30 else "tie" if at < 34 else "b") for at in range(40)]
    result = analyse_preferences(made)
    (row, other) = result.tables[0].rows
    assert row[0] == "a"
    assert row[1] == pytest.approx(32 / 40, abs=0.002)
    assert other[1] == pytest.approx(8 / 40, abs=0.002)
    assert row[4:] == (30, 4, 6)


def test_the_place_is_corrected_where_half_of_the_pairs_are_swapped() -> None:
    result = analyse_preferences(drawn(1, 4000, 0.5, bias=0.15))
    assert result.tables[0].rows[0][1] == pytest.approx(0.5, abs=0.02)
    assert any(note.startswith("the first of two equal answers is preferred in 6") for note in result.notes)


def test_unequal_orders_bias_plain_shares_and_not_the_model() -> None:
    # b is shown first in 80% of the pairs: the share of its wins is above a half although both are equal.
    made = drawn(2, 4000, 0.5, bias=0.2, swap=0.8)
    assert np.mean([one.preferred == "b" for one in made]) > 0.58
    values = shares(analyse_preferences(made))
    assert values["a"] == pytest.approx(0.5, abs=0.03)


def test_a_system_that_is_always_shown_first_decides_nothing() -> None:
    result = analyse_preferences(drawn(3, 200, 0.9, swap=0.0))
    assert not result.decision.decided
    assert "cannot be told from the bias of its place" in result.sentences[0]


def test_preferences_of_people_decide_and_those_of_machines_do_not() -> None:
    people, machine = drawn(4, 200, 0.75), drawn(4, 200, 0.75, who="gpt-4o")
    assert analyse_preferences(people).decision.systems == ("a",)
    alone = analyse_preferences(machine)
    assert not alone.decision.decided
    assert alone.decision.reason == "judge_not_checked"
    assert alone.to_dict()["decision"]["decided"] is False
    assert alone.sentences[0].startswith("By gpt-4o (not checked by people), a leads")
    assert not any("risk" in sentence.lower() or "ship" in sentence.lower() for sentence in alone.sentences)


def test_a_machine_that_contradicts_people_changes_nothing() -> None:
    people = drawn(5, 100, 0.8)
    flipped = [Preference(one.query, "a", "b", "b" if one.preferred == "a" else "a", one.first, "llm:x:1") for one in people]
    both = analyse_preferences([*people, *flipped])
    assert both.decision.systems == ("a",)
    (agreement,) = [table for table in both.tables if table.name == "agreement"]
    assert agreement.rows[0][:3] == ("llm:x:1", 100, 0.0)


def test_several_people_on_one_question_are_one_question() -> None:
    once = drawn(6, 40, 0.8)
    often = [Preference(one.query, one.a, one.b, one.preferred, one.first, f"p{at}") for one in once for at in range(5)]
    first, second = (analyse_preferences(made).tables[0].rows[0][2] for made in (once, often))
    assert isinstance(first, tuple)
    assert second == pytest.approx(first, abs=0.03)


def test_three_systems_are_compared_by_way_of_another() -> None:
    made = [Preference(f"q{at}", *pair, pair[0] if at % 4 else pair[1]) for at in range(60) for pair in (("a", "b"), ("b", "c"))]
    values = shares(analyse_preferences(made))
    assert values["a"] > values["b"] > values["c"]
    with pytest.raises(UsageError, match="connects all systems"):
        analyse_preferences([Preference("q", "a", "b", "a"), Preference("q", "c", "d", "c")])


def test_the_values_of_questions_have_the_chances_as_means() -> None:
    random, n = np.random.default_rng(7), 500
    pairs = random.integers(0, 3, size=(n, 2))
    pairs[:, 1] = (pairs[:, 0] + 1 + random.integers(0, 2, size=n)) % 3
    won = (random.random(n) < 0.5 + 0.1 * (pairs[:, 1] - pairs[:, 0])).astype(float)
    fitted = fit_strengths(Comparisons(pairs[:, 0], pairs[:, 1], won, np.arange(n), np.ones(n, dtype=bool), 3))
    odds = fitted.strengths[:, None] - fitted.strengths
    chances = (1 / (1 + np.exp(-odds)))[~np.eye(3, dtype=bool)].reshape(3, 2).mean(axis=1)
    assert fitted.values.mean(axis=0) == pytest.approx(chances, abs=1e-9)


def written(folder: Path, name: str, rows: list[dict[str, Any]]) -> str:
    path = folder / name
    if name.endswith(".csv"):
        head = list(rows[0])
        lines = [",".join(head), *(",".join(str(row.get(column, "")) for column in head) for row in rows)]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("name", "row", "expected"),
    [
        (
            "own.jsonl",
            {"query": "q", "a": "x", "b": "y", "preferred": "y", "first": "y", "who": "human:ann"},
            ("q", "x", "y", "y", "y", "human:ann"),
        ),
        ("arena.csv", {"question_id": "q", "model_a": "x", "model_b": "y", "winner": "model_b"}, ("q", "x", "y", "y", "x", "")),
        (
            "arena.jsonl",
            {"id": 7, "model_a": "x", "model_b": "y", "winner": "tie (bothbad)", "judge": "arena_user_1"},
            ("7", "x", "y", "tie", "x", "arena_user_1"),
        ),
        (
            "kaggle.csv",
            {"id": 7, "model_a": "x", "model_b": "y", "winner_model_a": 0, "winner_model_b": 1, "winner_tie": 0},
            ("7", "x", "y", "y", "x", ""),
        ),
        ("smith.jsonl", {"example_id": "q", "scores": {"x": 0, "y": 1}, "order": ["y", "x"]}, ("q", "x", "y", "y", "y", "")),
        (
            "turn.jsonl",
            {"question_id": "q", "turn": 2, "model_a": "x", "model_b": "y", "winner": "x"},
            ("q/2", "x", "y", "x", "x", ""),
        ),
    ],
)
def test_files_of_other_tools_are_read(tmp_path: Path, name: str, row: dict[str, Any], expected: tuple[str, ...]) -> None:
    (made,) = read_preferences(written(tmp_path, name, [row])).preferences
    assert (made.query, made.a, made.b, made.preferred, made.first, made.who) == expected


def test_both_games_of_mt_bench_are_read_and_failed_ones_counted(tmp_path: Path) -> None:
    row = {
        "question_id": 1,
        "model_1": "x",
        "model_2": "y",
        "g1_winner": "model_1",
        "g2_winner": "model_2",
        "judge": ["gpt-4", "v2"],
    }
    read = read_preferences(written(tmp_path, "mt.jsonl", [row, {**row, "question_id": 2, "g2_winner": "error"}]))
    assert [(one.preferred, one.first, one.is_machine) for one in read.preferences] == [
        ("x", "x", True),
        ("y", "y", True),
        ("x", "x", True),
    ]
    assert read.notes == ("1 row of a judge that failed dropped",)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"query": "q", "a": "x", "b": "y", "preferred": "z"}, "better one is z; write one of x, y, a, b, tie"),
        ({"query": "q", "a": "x", "b": "y", "preferred": "x", "first": "C"}, "wrong.jsonl:1: first is C; write one of x, y"),
        ({"query": "q", "a": "x", "b": "y", "preferred": "x", "first": "tie"}, "first is tie"),
        ({"query": "q", "one": "x", "other": "y"}, "no columns are recognised as two systems"),
        ({"query": "q", "a": "x", "b": "x", "preferred": "x"}, "the file has no preference"),
    ],
)
def test_a_wrong_file_is_an_error(tmp_path: Path, row: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_preferences(written(tmp_path, "wrong.jsonl", [row]))


@pytest.mark.parametrize("who", ["my-judge-v3", "mymodel", "ann", "annotator-of-mine", ""])
def test_a_judge_that_may_be_a_machine_ships_nothing_until_the_user_says_otherwise(who: str, tmp_path: Path) -> None:
    rows = [{"query": f"q{at}", "a": "x", "b": "y", "preferred": "x" if at % 8 else "y", "judge": who} for at in range(200)]
    path = written(tmp_path, "made.jsonl", rows)
    alone = rp.prefer(path)
    name = who or "somebody without a name"
    assert (alone.decision.outcome, alone.decision.risk) == ("judge_leads", None)
    assert alone.sentences[0].startswith(f"By {name} (not checked by people), x leads")
    assert alone.sentences[1] == f"Whether {name} is a machine is not known: --labels-by people if not."
    assert rp.prefer(path, labels_by="people").decision.systems == ("x",)


@pytest.mark.parametrize("who", ["human:ann", "people", "expert_17", "author_2", "arena_user_9965", "annotator 3"])
def test_names_of_people_are_those_of_people(who: str, tmp_path: Path) -> None:
    path = written(tmp_path, "made.jsonl", [{"query": "q", "a": "x", "b": "y", "preferred": "x", "judge": who}])
    assert [made.is_machine for made in read_preferences(path).preferences] == [False]


@pytest.mark.parametrize(("value", "first"), [("x", "x"), ("b", "y"), ("", ""), (None, "")])
def test_the_system_that_was_shown_first_may_be_named_by_its_column(value: str | None, first: str, tmp_path: Path) -> None:
    row = {"query": "q", "a": "x", "b": "y", "preferred": "x", "first": value}
    assert [made.first for made in read_preferences(written(tmp_path, "made.jsonl", [row])).preferences] == [first]


def test_names_typed_in_the_browser_are_those_of_people(tmp_path: Path) -> None:
    row = {"query": "q", "a": "x", "b": "y", "preferred": "x", "first": "x", "answers": "0", "dataset": "d", "who": "ann"}
    (made,) = read_preferences(written(tmp_path, "made.jsonl", [{**row, "when": ""}])).preferences
    assert (made.who, made.is_machine) == ("human:ann", False)


def test_a_language_model_is_asked_in_both_orders_and_its_place_bias_is_seen(tmp_path: Path) -> None:
    def first(request: ChatRequest) -> str:
        return json.dumps({"reason": "", "better": "first"})

    logs = {
        name: [{"id": f"q{at}", "question": f"What is {at}?", "answer": f"{name} {at}"} for at in range(20)]
        for name in ("x", "y")
    }
    chat = ScriptedChat(first)
    result = rp.prefer(answers=logs, judge="scripted", model=chat)
    assert chat.log.calls == 40
    (places,) = [table for table in result.tables if table.name == "places"]
    assert places.rows[0][1:] == (40, 1.0, 20, 0.0)
    assert shares(result) == pytest.approx({"x": 0.5, "y": 0.5})
    assert not result.decision.decided


def test_the_command_shows_the_decision_and_the_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        {"query": one.query, "a": "a", "b": "b", "preferred": one.preferred, "first": one.first, "who": "human:ann"}
        for one in drawn(8, 300, 0.8)
    ]
    assert main(["prefer", written(tmp_path, "made.jsonl", rows)]) == 0
    shown = capsys.readouterr()
    assert shown.out.strip().startswith("Ship a: 0.8")
    assert "first preferred" in shown.out
    assert "the first of two equal answers is preferred" in shown.err


def test_the_output_goes_to_a_file_that_is_no_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        {"query": made.query, "a": "a", "b": "b", "preferred": made.preferred, "first": made.first, "who": "human:ann"}
        for made in drawn(8, 300, 0.8)
    ]
    made, out = written(tmp_path, "made.jsonl", rows), tmp_path / "decision.md"
    assert main(["prefer", made, "--format", "markdown", "-o", str(out)]) == 0
    assert "Ship a: 0.8" in out.read_text(encoding="utf-8")
    assert main(["prefer", made, "-o", made]) == 2
    assert "made.jsonl" in capsys.readouterr().err


def test_a_page_shows_the_ranking_with_intervals_places_and_agreement(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    people, machine = drawn(3, 200, 0.8), drawn(3, 60, 0.6, 0.3, who="llm:<b>small")
    both = [*machine, *(replace(made, first="a" if made.first == "b" else "b") for made in machine)]
    rows = [{name: getattr(made, name) for name in Preference.__slots__} for made in (*people, *both)]
    (tmp_path / "made.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    page = tmp_path / "page.html"
    assert main(["prefer", str(tmp_path / "made.jsonl"), "-o", str(page)]) == 0
    assert capsys.readouterr().out.startswith("Ship a:")
    text = page.read_text(encoding="utf-8")
    headings = re.findall(r"<h2[^>]*>(.*?)</h2>", text, re.DOTALL)
    plain = [re.sub(r"<[^>]+>|\s+", " ", heading).strip() for heading in headings]
    assert plain == ["Decision", "Places and orders", "Agreement"]
    assert all(part in text for part in ("Ship a:", "values are corrected", "&lt;b&gt;small", "<svg"))
    assert "<b>small" not in text


def test_a_known_machine_is_no_person_whatever_the_user_says(tmp_path: Path) -> None:
    rows = [
        {"query": f"q{at}", "a": "x", "b": "y", "preferred": "x" if at % 8 else "y", "judge": "llm:qwen"} for at in range(200)
    ]
    decision = rp.prefer(written(tmp_path, "made.jsonl", rows), labels_by="people").decision
    assert (decision.outcome, decision.leader) == ("judge_leads", "x")


def test_people_are_not_compared_with_themselves() -> None:
    made = [replace(preference, who=f"p{at % 3}") for at, preference in enumerate(drawn(7, 60, 0.8))]
    result = analyse_preferences(made, labels_by="people")
    assert [table.name for table in result.tables] == ["preferred", "places"]


@pytest.mark.parametrize("variant", ["how do I reset item {at} (variant {n})", "{n}. How do I reset item {at}?"])
def test_near_copies_of_questions_are_one_question(variant: str) -> None:
    made = [
        Preference(variant.format(at=7 * at, n=n), "a", "b", "ab"[at % 2], "ab"[n % 2], "human:ann")
        for at in range(8)
        for n in range(1, 13)
    ]
    result = analyse_preferences(made)
    assert (result.decision.n, result.decision.decided) == (8, False)
    assert "the 96 questions are 8 different questions: copies with other numbers count once" in result.notes


def test_the_decision_is_the_first_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "p.csv").write_text("query,a,b,preferred,who\n" + "".join(f"q{at},x,y,x,human:ann\n" for at in range(40)))
    assert main(["prefer", str(tmp_path / "p.csv")]) == 0
    assert capsys.readouterr().out.startswith("Ship x")
