"""Conversations of several tools as rows of questions: sessions, turns, contexts, searches and references."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from rankproof._importers.base import Imported, ImportOptions
from rankproof._importers.registry import import_source
from rankproof.errors import InputError

FOUNDED = "Oslo was founded in 1040 by Harald Hardrada."
CAPITAL = "Oslo is the capital of Norway."
SEARCH = {"id": "1", "type": "function", "function": {"name": "search", "arguments": '{"query": "Oslo founding year"}'}}
OPENAI: dict[str, Any] = {
    "session_id": "s1",
    "messages": [
        {"role": "system", "content": "Answer briefly."},
        {"role": "user", "content": "When was Oslo founded?"},
        {"role": "assistant", "content": None, "tool_calls": [SEARCH]},
        {"role": "tool", "tool_call_id": "1", "content": json.dumps([FOUNDED])},
        {"role": "assistant", "content": "In 1040."},
        {"role": "user", "content": "And by whom?"},
        {"role": "tool", "tool_call_id": "2", "content": json.dumps({"results": [{"id": "d1", "text": FOUNDED}]})},
        {"role": "assistant", "content": "By Harald Hardrada."},
    ],
}
RAGAS: dict[str, Any] = {
    "id": "s1",
    "user_input": [
        {"type": "human", "content": "When was Oslo founded?"},
        {"type": "ai", "content": "", "tool_calls": [{"name": "search", "args": {"query": "Oslo founding year"}}]},
        {"type": "tool", "content": FOUNDED},
        {"type": "ai", "content": "In 1040."},
        {"type": "human", "content": "And by whom?"},
        {"type": "tool", "content": FOUNDED},
        {"type": "ai", "content": "By Harald Hardrada."},
    ],
}
DEEPEVAL: dict[str, Any] = {
    "name": "x",
    "thread_id": "s1",
    "turns": [
        {"role": "user", "content": "When was Oslo founded?"},
        {"role": "assistant", "content": "In 1040.", "retrieval_context": [FOUNDED]},
        {"role": "user", "content": "And by whom?"},
        {"role": "assistant", "content": "By Harald Hardrada.", "retrieval_context": [FOUNDED]},
    ],
}


def imported(path: Path, *rows: Any) -> Imported:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return import_source(path)


def retrieved(result: Imported) -> dict[str, int]:
    """How many passages each question retrieved."""
    return dict(Counter(row.query for row in result.runs["a"].rows()))


def turns(result: Imported) -> list[tuple[str, str, str, int]]:
    """The id, text, session and turn of each question."""
    queries = result.dataset.queries.values()
    return [(query.id, query.text, query.fields["session"], query.fields["turn"]) for query in queries]


@pytest.mark.parametrize("row", [OPENAI, RAGAS, DEEPEVAL], ids=["openai", "ragas", "deepeval"])
def test_each_turn_that_retrieved_something_is_a_question_of_its_session(tmp_path: Path, row: dict[str, Any]) -> None:
    result = imported(tmp_path / "a.jsonl", row)
    assert turns(result) == [("s1/1", "When was Oslo founded?", "s1", 1), ("s1/2", "And by whom?", "s1", 2)]
    assert [answer.text for answer in result.answers["a"].values()] == ["In 1040.", "By Harald Hardrada."]
    assert retrieved(result) == {"s1/1": 1, "s1/2": 1}


def test_a_question_keeps_what_was_said_before_it_and_what_was_searched_for(tmp_path: Path) -> None:
    result = imported(tmp_path / "a.jsonl", OPENAI)
    first, second = result.dataset.queries.values()
    searches = result.answers["a"][first.id].searches or ()
    assert (first.fields["history"], [search.query for search in searches]) == ([], ["Oslo founding year"])
    assert second.fields["history"] == ["user: When was Oslo founded?", "assistant: In 1040."]


def test_turns_that_retrieved_nothing_are_counted(tmp_path: Path) -> None:
    greeting = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello."}]
    result = imported(tmp_path / "a.jsonl", {"session_id": "s1", "messages": [*greeting, *OPENAI["messages"]]})
    assert [query for query, *_ in turns(result)] == ["s1/2", "s1/3"]
    (rows,) = [count for count in result.report.counts if count.part == "rows of a"]
    assert [str(dropped) for dropped in rows.dropped] == ["1 of turns that retrieved nothing (first at line 1)"]


def test_contexts_of_a_whole_conversation_belong_to_each_turn_and_its_reference_to_the_last(tmp_path: Path) -> None:
    messages = [message for message in OPENAI["messages"] if message["role"] in ("user", "assistant") and message["content"]]
    row = {"session_id": "s1", "messages": messages, "contexts": [FOUNDED, CAPITAL], "reference": "Harald Hardrada"}
    result = imported(tmp_path / "a.jsonl", row)
    assert retrieved(result) == {"s1/1": 2, "s1/2": 2}
    assert [query.fields.get("answers") for query in result.dataset.queries.values()] == [None, ["Harald Hardrada"]]


def test_a_passage_that_two_searches_of_a_turn_retrieved_counts_once(tmp_path: Path) -> None:
    tools = [{"role": "tool", "content": json.dumps([CAPITAL, FOUNDED])}, {"role": "tool", "content": json.dumps([FOUNDED])}]
    row = {"messages": [{"role": "user", "content": "q"}, *tools, {"role": "assistant", "content": "a"}]}
    result = imported(tmp_path / "a.jsonl", row)
    assert list(retrieved(result).values()) == [2]


def test_two_systems_with_the_same_sessions_have_the_same_questions(tmp_path: Path) -> None:
    paths = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    for path, row in zip(paths, (OPENAI, DEEPEVAL), strict=True):
        path.write_text(json.dumps(row) + "\n", encoding="utf-8")
    result = import_source(paths)
    assert len(result.dataset.queries) == 2
    assert [list(answers) for answers in result.answers.values()] == [["s1/1", "s1/2"]] * 2


def test_sessions_without_ids_are_named_by_their_questions_and_repeated_ids_get_a_number(tmp_path: Path) -> None:
    unnamed = {"messages": OPENAI["messages"]}
    sessions = [session for *_, session, _ in turns(imported(tmp_path / "a.jsonl", unnamed, unnamed))]
    assert sessions[0] == sessions[1]
    assert sessions[2] == sessions[3] == f"{sessions[0]}-2"


def test_a_conversation_with_an_unknown_role_is_counted_with_its_line(tmp_path: Path) -> None:
    odd = {"messages": [{"role": "user", "content": "q"}, {"role": "narrator", "content": "x"}]}
    result = imported(tmp_path / "a.jsonl", OPENAI, odd)
    (rows,) = [count for count in result.report.counts if count.part == "rows of a"]
    assert [str(dropped) for dropped in rows.dropped] == ["1 without a question (first at line 2)"]


def test_columns_that_no_message_has_are_not_listed(tmp_path: Path) -> None:
    notes = imported(tmp_path / "a.jsonl", OPENAI).report.notes
    assert not [note for note in notes if "tokens" in note]


def test_results_of_tools_in_typed_parts_are_contexts(tmp_path: Path) -> None:
    use = {"type": "tool_use", "id": "c1", "name": "search", "input": {"query": "Oslo founding year"}}
    result = {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": FOUNDED}]}
    said = {"type": "text", "text": "I search."}
    row = {
        "messages": [
            {"role": "user", "content": "When was Oslo founded?"},
            {"role": "assistant", "content": [said, use]},
            {"role": "user", "content": [result]},
            {"role": "assistant", "content": [{"type": "text", "text": "In 1040."}]},
        ]
    }
    read = imported(tmp_path / "a.jsonl", row)
    (query,), (answer,) = read.dataset.queries.values(), read.answers["a"].values()
    assert (query.text, answer.text) == ("When was Oslo founded?", "In 1040.")
    assert [(search.query, len(search.returned)) for search in answer.searches or ()] == [("Oslo founding year", 1)]


def test_tools_that_do_not_search_give_no_contexts(tmp_path: Path) -> None:
    calls = [{"id": str(at), "function": {"name": name, "arguments": "{}"}} for at, name in enumerate(("search", "clock"))]
    row = {
        "messages": [
            {"role": "user", "content": "When was Oslo founded?"},
            {"role": "assistant", "content": None, "tool_calls": calls},
            {"role": "tool", "tool_call_id": "1", "content": "12:00"},
            {"role": "tool", "tool_call_id": "0", "content": FOUNDED},
            {"role": "assistant", "content": "In 1040."},
        ]
    }
    (tmp_path / "a.jsonl").write_text(json.dumps(row), encoding="utf-8")
    read = import_source(tmp_path / "a.jsonl", ImportOptions(settings={"search-tools": "search"}))
    (answer,) = read.answers["a"].values()
    assert [read.contexts[doc] for doc in answer.given or ()] == [FOUNDED]
    assert len(answer.searches or ()) == 1


def test_turns_share_the_costs_of_their_conversation(tmp_path: Path) -> None:
    read = imported(
        tmp_path / "a.jsonl", *({**OPENAI, "session_id": f"s{at}", "latency_ms": 3000, "cost": 0.5} for at in range(3))
    )
    usages = [answer.usage for answer in read.answers["a"].values()]
    assert [(usage.latency_ms, usage.cost) for usage in usages if usage] == [(1500.0, 0.25)] * 6


def plain_log(**columns: Any) -> list[dict[str, Any]]:
    """Four questions, whose row has of each column the value at its place."""
    rows = [{"question": f"what about {at}?", "answer": f"text {at}"} for at in range(4)]
    return [{**row, **{name: values[at] for name, values in columns.items()}} for at, row in enumerate(rows)]


@pytest.mark.parametrize("name", ["thread", "thread_id", "threadId", "chat_id", "Chat-ID", "conversationId", "dialog_id"])
def test_the_usual_names_of_sessions_are_recognised(tmp_path: Path, name: str) -> None:
    result = imported(tmp_path / "log.jsonl", *plain_log(**{name: ["a", "a", "b", "b"]}))
    assert [query.fields["session"] for query in result.dataset.queries.values()] == ["a", "a", "b", "b"]


@pytest.mark.parametrize(
    "histories",
    [
        [[], ["what about 0?", "text 0"], [], ["what about 2?", "text 2"]],
        ["[]", '["what about 0?"]', "", "user: what about 2?\nassistant: text 2"],
        [
            None,
            [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "what about 0?"}],
            [],
            [["what about 2?", "text 2"]],
        ],
    ],
)
def test_questions_whose_histories_start_with_the_same_message_are_a_session(tmp_path: Path, histories: list[Any]) -> None:
    result = imported(tmp_path / "log.jsonl", *plain_log(chat_history=histories))
    sessions = [query.fields["session"] for query in result.dataset.queries.values()]
    assert sessions[0] == sessions[1] != sessions[2] == sessions[3]


def logs_and_references(folder: Path, references: str) -> list[str]:
    messages = [{"role": role, "content": f"{role} {at}"} for at in range(2) for role in ("user", "assistant")]
    rows = [{"conversation_id": name, "messages": messages} for name in ("a", "b")]
    for name in ("old", "new"):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (folder / "gold.csv").write_text(references, encoding="utf-8")
    return [str(folder / name) for name in ("old.jsonl", "new.jsonl", "gold.csv")]


@pytest.mark.parametrize("references", ["conversation_id,turn,reference\na,2,yes\nb,1,no\n", "id,reference\na/2,yes\nb/1,no\n"])
def test_references_are_joined_by_conversation_and_turn_or_by_id(tmp_path: Path, references: str) -> None:
    result = import_source(logs_and_references(tmp_path, references))
    answers = {query.id: (query.text, query.fields.get("answers")) for query in result.dataset.queries.values()}
    assert answers == {
        **{"a/1": ("user 0", None), "a/2": ("user 1", ["yes"])},
        **{"b/1": ("user 0", ["no"]), "b/2": ("user 1", None)},
    }
    assert list(result.answers) == ["old", "new"]


def test_references_of_questions_that_no_log_asks_are_counted(tmp_path: Path) -> None:
    result = import_source(logs_and_references(tmp_path, "conversation_id,turn,reference\na,2,yes\nc,1,no\n"))
    assert any("gold.csv: 1 reference of questions that no log asks" in note for note in result.report.notes)


@pytest.mark.parametrize("references", ["conversation_id,turn,reference\na,0,yes\na,1,no\n", "id,reference\nx,yes\n"])
def test_references_that_name_no_question_of_the_logs_are_an_error(tmp_path: Path, references: str) -> None:
    with pytest.raises(InputError, match=r"gold\.csv: no log has the question (a/0|x); name questions by the ids of the logs"):
        import_source(logs_and_references(tmp_path, references), importer="rag")


def test_a_column_of_turns_never_replaces_the_questions(tmp_path: Path) -> None:
    files = logs_and_references(tmp_path, "conversation_id,turn,reference\na,2,yes\n")
    with pytest.raises(InputError, match="turn says where a question was asked, and is none"):
        import_source(files, ImportOptions(settings={"question": "turn"}), importer="rag")
