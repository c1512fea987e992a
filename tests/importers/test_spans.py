"""Traces in the shapes of OTLP, OpenInference (Phoenix), LangSmith and Langfuse become rows of one log."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rankproof._formats.source_table import SourceTable
from rankproof._importers.base import Imported, ImportOptions, ImportSource
from rankproof._importers.registry import import_source
from rankproof._importers.spans import rows_of_traces
from rankproof.errors import RankproofError, UsageError

QUESTION, ANSWER = "When was Oslo founded?", "In 1040."
FOUNDED, CAPITAL = "Oslo was founded in 1040.", "Oslo is the capital of Norway."


def attributes(values: dict[str, Any]) -> list[dict[str, Any]]:
    """The attributes of a span in OTLP."""
    kinds = {str: "stringValue", int: "intValue", float: "doubleValue"}
    return [{"key": key, "value": {kinds[type(value)]: value}} for key, value in values.items()]


def otlp_span(id: str, parent: str | None, start: int, end: int, values: dict[str, Any]) -> dict[str, Any]:
    times = {"startTimeUnixNano": f"{start}000000", "endTimeUnixNano": f"{end}000000"}
    return {
        "traceId": "t1",
        "spanId": id,
        **({"parentSpanId": parent} if parent else {}),
        **times,
        "attributes": attributes(values),
    }


CHAIN = {"openinference.span.kind": "CHAIN", "input.value": QUESTION, "output.value": ANSWER, "session.id": "s1"}
RETRIEVER = {
    "openinference.span.kind": "RETRIEVER",
    "input.value": "Oslo founding",
    "retrieval.documents.0.document.id": "d1",
    "retrieval.documents.0.document.content": CAPITAL,
    "retrieval.documents.1.document.id": "d2",
    "retrieval.documents.1.document.content": FOUNDED,
}
LLM = {"openinference.span.kind": "LLM", "output.value": ANSWER, "llm.token_count.prompt": 120, "llm.token_count.completion": 8}
OTLP: dict[str, Any] = {
    "resourceSpans": [
        {
            "resource": {"attributes": attributes({"service.name": "bot"})},
            "scopeSpans": [
                {
                    "spans": [
                        otlp_span("3", "1", 1300, 1900, LLM),
                        otlp_span("1", None, 1000, 2000, CHAIN),
                        otlp_span("2", "1", 1100, 1200, RETRIEVER),
                    ]
                }
            ],
        }
    ]
}
SEMCONV: dict[str, Any] = {
    **OTLP["resourceSpans"][0],
    "scopeSpans": [
        {
            "spans": [
                otlp_span("1", None, 1000, 2000, {"gen_ai.operation.name": "invoke_agent", "gen_ai.conversation.id": "s1"}),
                otlp_span(
                    "2",
                    "1",
                    1100,
                    1200,
                    {
                        "gen_ai.operation.name": "retrieval",
                        "gen_ai.retrieval.documents": json.dumps(
                            [{"id": "d1", "content": CAPITAL}, {"id": "d2", "content": FOUNDED}]
                        ),
                        "input.value": "Oslo founding",
                    },
                ),
                otlp_span(
                    "3",
                    "1",
                    1300,
                    1900,
                    {
                        "gen_ai.operation.name": "chat",
                        "gen_ai.output.messages": json.dumps(
                            [{"role": "assistant", "parts": [{"type": "text", "content": ANSWER}]}]
                        ),
                        "gen_ai.usage.input_tokens": 120,
                        "gen_ai.usage.output_tokens": 8,
                    },
                ),
            ]
        }
    ],
}
SEMCONV["scopeSpans"][0]["spans"][0]["attributes"] += attributes(
    {"gen_ai.input.messages": json.dumps([{"role": "user", "parts": [{"type": "text", "content": QUESTION}]}])}
)
DOCUMENTS = [{"document.id": "d1", "document.content": CAPITAL}, {"document.id": "d2", "document.content": FOUNDED}]
PHOENIX = [
    {
        "context.trace_id": "t1",
        "context.span_id": id,
        "parent_id": parent,
        "span_kind": kind,
        "start_time": f"2026-01-01T00:00:0{start}Z",
        "end_time": f"2026-01-01T00:00:0{end}Z",
        **{f"attributes.{key}": value for key, value in values.items()},
    }
    for id, parent, kind, start, end, values in (
        ("1", None, "CHAIN", "1.0", "2.0", {"input.value": QUESTION, "output.value": ANSWER, "session.id": "s1"}),
        ("2", "1", "RETRIEVER", "1.1", "1.2", {"input.value": "Oslo founding", "retrieval.documents": DOCUMENTS}),
        ("3", "1", "LLM", "1.3", "1.9", {"output.value": ANSWER, "llm.token_count.prompt": 120, "llm.token_count.completion": 8}),
    )
]
LANGSMITH = [
    {
        "trace_id": "t1",
        "id": id,
        "parent_run_id": parent,
        "run_type": kind,
        "start_time": f"2026-01-01T00:00:0{start}",
        "end_time": f"2026-01-01T00:00:0{end}",
        "inputs": inputs,
        "outputs": outputs,
        **more,
    }
    for id, parent, kind, start, end, inputs, outputs, more in (
        ("1", None, "chain", "1.0", "2.0", {"question": QUESTION}, {"answer": ANSWER}, {"session_id": "s1"}),
        (
            "2",
            "1",
            "retriever",
            "1.1",
            "1.2",
            {"query": "Oslo founding"},
            {"documents": [{"page_content": CAPITAL, "id": "d1"}, {"page_content": FOUNDED, "id": "d2"}]},
            {},
        ),
        ("3", "1", "llm", "1.3", "1.9", {}, {"output": ANSWER}, {"prompt_tokens": 120, "completion_tokens": 8}),
    )
]
LANGFUSE = [
    {
        "traceId": "t1",
        "id": id,
        "parentObservationId": parent,
        "type": kind,
        "startTime": f"2026-01-01T00:00:0{start}Z",
        "endTime": f"2026-01-01T00:00:0{end}Z",
        "input": inputs,
        "output": outputs,
        **more,
    }
    for id, parent, kind, start, end, inputs, outputs, more in (
        ("1", None, "SPAN", "1.0", "2.0", {"question": QUESTION}, ANSWER, {"sessionId": "s1"}),
        (
            "2",
            "1",
            "RETRIEVER",
            "1.1",
            "1.2",
            "Oslo founding",
            [{"pageContent": CAPITAL, "id": "d1"}, {"pageContent": FOUNDED, "id": "d2"}],
            {},
        ),
        ("3", "1", "GENERATION", "1.3", "1.9", [], ANSWER, {"usageDetails": {"input": 120, "output": 8}}),
    )
]
SHAPES: dict[str, list[Any]] = {
    "OTLP in one object": [OTLP],
    "semantic conventions": [{"resourceSpans": [SEMCONV]}],
    "Phoenix": PHOENIX,
    "LangSmith": LANGSMITH,
    "Langfuse": LANGFUSE,
}


def imported(path: Path, lines: list[Any]) -> Imported:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return import_source(path)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_trace_is_a_question_with_its_contexts_and_its_answer(tmp_path: Path, shape: str) -> None:
    result = imported(tmp_path / "bot.jsonl", SHAPES[shape])
    (query,) = result.dataset.queries.values()
    assert (query.text, query.fields["session"]) == (QUESTION, "s1")
    assert [answer.text for answer in result.answers["bot"].values()] == [ANSWER]
    assert sorted(result.runs["bot"].docs) == ["d1", "d2"]
    assert [result.dataset.corpus[doc].text for doc in ("d1", "d2")] == [CAPITAL, FOUNDED]


def test_the_documents_of_a_reranker_replace_those_of_the_retriever(tmp_path: Path) -> None:
    reranker = {"openinference.span.kind": "RERANKER", "reranker.output_documents.0.document.content": FOUNDED}
    spans = [*OTLP["resourceSpans"][0]["scopeSpans"][0]["spans"], otlp_span("4", "1", 1210, 1290, reranker)]
    result = imported(tmp_path / "a.jsonl", [{"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}])
    assert [result.dataset.corpus[row.doc].text for row in result.runs["a"].rows()] == [FOUNDED]


def test_passages_of_several_searches_count_once_in_the_order_of_time(tmp_path: Path) -> None:
    again = {**RETRIEVER, "retrieval.documents.2.document.id": "d3", "retrieval.documents.2.document.content": "Bergen rains."}
    spans = [
        otlp_span("1", None, 1000, 2000, CHAIN),
        otlp_span("3", "1", 1300, 1400, again),
        otlp_span("2", "1", 1100, 1200, RETRIEVER),
    ]
    result = imported(tmp_path / "a.jsonl", [{"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}])
    assert [row.doc for row in result.runs["a"].rows()] == ["d1", "d2", "d3"]


def test_one_object_of_otlp_in_a_json_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps(OTLP, indent=1), encoding="utf-8")
    assert [query.text for query in import_source(path).dataset.queries.values()] == [QUESTION]


def test_traces_without_a_question_are_counted(tmp_path: Path) -> None:
    silent = [{**span, "context.trace_id": "t2", "attributes.input.value": None} for span in PHOENIX]
    result = imported(tmp_path / "a.jsonl", [*PHOENIX, *silent])
    (rows,) = [count for count in result.report.counts if count.part == "rows of a"]
    assert (rows.read, rows.kept) == (2, 1)


@pytest.mark.parametrize(
    "values",
    [
        {"llm.token_count.prompt": 10**400, "llm.token_count.completion": -5},
        {"retrieval.documents.²": "x", "retrieval.documents." + "9" * 5000 + ".document.content": "x"},
        {"start_time": 10**400, "end_time": "²"},
        {"attributes": 5, "resource": [], "context": "x"},
    ],
)
def test_values_that_cannot_be_are_left_out_of_a_trace(tmp_path: Path, values: dict[str, Any]) -> None:
    span = {
        "trace_id": "t1",
        "span_id": "1",
        "parent_id": "1",
        "span_kind": "LLM",
        "input.value": QUESTION,
        "output.value": ANSWER,
    }
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({**span, "retrieval.documents": [CAPITAL], **values}) + "\n", encoding="utf-8")
    (query,) = import_source(path).dataset.queries.values()
    assert query.text == QUESTION


@pytest.mark.parametrize(
    "wrong", [5, "x", [5], {"a": 1}, [{"resource": 5, "scopeSpans": 5}], [{"scopeSpans": [5, {"spans": [5, {"attributes": 5}]}]}]]
)
def test_an_export_of_another_shape_is_an_error_of_rankproof(tmp_path: Path, wrong: object) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"resourceSpans": wrong}), encoding="utf-8")
    with pytest.raises(RankproofError):
        import_source(path)


def test_the_first_line_tells_a_large_log_from_traces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(
        "".join(json.dumps({"query_id": str(at), "user_query": "cats"}) + "\n" for at in range(500)), encoding="utf-8"
    )
    lines, rows = list[int](), SourceTable.rows

    def counted(table: SourceTable) -> Iterator[tuple[int, dict[str, Any]]]:
        for line, row in rows(table):
            lines.append(line)
            yield line, row

    monkeypatch.setattr(SourceTable, "rows", counted)
    assert rows_of_traces(ImportSource((str(path),)), str(path)) is None
    assert lines == [1]


def messages(role: str, *parts: dict[str, Any]) -> list[dict[str, Any]]:
    """One message in the parts of the GenAI conventions."""
    return [{"role": role, "parts": list(parts)}]


def part(text: str) -> dict[str, Any]:
    return {"type": "text", "content": text}


ASKED = messages("user", part("Hello."), part(QUESTION))
REASONED = messages("assistant", {"type": "reasoning", "content": "It is 1040."}, part(ANSWER))
CALL = {"type": "tool_call", "id": "c1", "name": "search", "arguments": {"query": "Oslo founding"}}
RETURNED = {"type": "tool_call_response", "id": "c1", "response": {"results": [{"id": "d1", "text": FOUNDED}]}}
CHAT = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "small-1"}
TOOL_SPAN = {
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": "search",
    "gen_ai.tool.call.arguments": json.dumps({"query": "Oslo founding"}),
    "gen_ai.tool.call.result": json.dumps({"results": [{"id": "d1", "text": FOUNDED}]}),
}


def traced(path: Path, *spans: dict[str, Any], settings: dict[str, str] | None = None) -> Imported:
    path.write_text(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]}), encoding="utf-8")
    return import_source(path, ImportOptions(settings=settings or {}))


def chat(id: str, start: int, sent: Any = None, written: Any = None) -> dict[str, Any]:
    stated = {"gen_ai.input.messages": sent, "gen_ai.output.messages": written}
    return otlp_span(
        id, "1", start, start + 100, {**CHAT, **{key: json.dumps(value) for key, value in stated.items() if value is not None}}
    )


def contexts_of(result: Imported) -> list[str]:
    return [result.contexts[doc] for answer in result.answers["a"].values() for doc in answer.given or ()]


def asked_and_answered(result: Imported) -> tuple[str, str]:
    (query,), (answer,) = result.dataset.queries.values(), result.answers["a"].values()
    return query.text, answer.text


def test_a_trace_without_an_input_of_its_own_asks_what_the_user_wrote_to_the_language_model(tmp_path: Path) -> None:
    request = otlp_span("1", None, 1000, 2000, {"http.method": "POST"})
    result = traced(tmp_path / "a.json", request, chat("3", 1300, ASKED, REASONED), otlp_span("2", "1", 1100, 1200, TOOL_SPAN))
    assert asked_and_answered(result) == (f"Hello.\n{QUESTION}", ANSWER)
    assert contexts_of(result) == [FOUNDED]
    (answer,) = result.answers["a"].values()
    assert (answer.usage and answer.usage.model) == "small-1"
    (search,) = answer.searches or ()
    assert (search.query, round(search.elapsed_ms or 0, 3)) == ("Oslo founding", 200.0)


def test_results_of_tools_in_the_messages_of_a_language_model_are_contexts_if_no_span_has_them(tmp_path: Path) -> None:
    sent = [*messages("user", part(QUESTION)), *messages("assistant", CALL), *messages("tool", RETURNED)]
    result = traced(tmp_path / "a.json", chat("2", 1100, sent[:1], sent[1:2]), chat("3", 1300, sent, REASONED))
    assert asked_and_answered(result) == (QUESTION, ANSWER)
    assert contexts_of(result) == [FOUNDED]


def test_a_prompt_with_the_contexts_inside_is_not_the_question_of_a_trace(tmp_path: Path) -> None:
    retrieval = {
        "gen_ai.operation.name": "retrieval",
        "gen_ai.retrieval.query.text": QUESTION,
        "gen_ai.retrieval.documents": json.dumps([{"id": "d1", "content": FOUNDED}]),
    }
    prompt = messages("user", part(f"Answer by these contexts.\n{FOUNDED}\n{QUESTION}"))
    result = traced(tmp_path / "a.json", otlp_span("2", "1", 1000, 1100, retrieval), chat("3", 1300, prompt, REASONED))
    assert asked_and_answered(result) == (QUESTION, ANSWER)


def event(name: str, **values: str) -> dict[str, Any]:
    return {"name": name, "attributes": attributes({key.replace("__", "."): value for key, value in values.items()})}


@pytest.mark.parametrize(
    "events",
    [
        [
            event("gen_ai.system.message", content="Be brief."),
            event("gen_ai.user.message", content=QUESTION),
            event("gen_ai.choice", message=json.dumps({"role": "assistant", "content": ANSWER})),
        ],
        [
            event("gen_ai.user.message", gen_ai__event__content=json.dumps({"role": "user", "content": QUESTION})),
            event("gen_ai.choice", gen_ai__event__content=json.dumps({"index": 0, "message": {"content": ANSWER}})),
        ],
        [
            event("gen_ai.content.prompt", gen_ai__prompt=json.dumps([{"role": "user", "content": QUESTION}])),
            event("gen_ai.content.completion", gen_ai__completion=json.dumps([{"role": "assistant", "content": ANSWER}])),
        ],
        [
            event(
                "gen_ai.client.inference.operation.details",
                gen_ai__input__messages=json.dumps(messages("user", part(QUESTION))),
                gen_ai__output__messages=json.dumps(REASONED),
            )
        ],
    ],
    ids=["one event each", "content in an attribute", "prompt and completion", "details"],
)
def test_messages_in_the_events_of_a_span_are_those_of_the_span(tmp_path: Path, events: list[dict[str, Any]]) -> None:
    result = traced(tmp_path / "a.json", otlp_span("2", None, 1000, 1100, TOOL_SPAN), {**chat("3", 1300), "events": events})
    assert asked_and_answered(result) == (QUESTION, ANSWER)


def test_messages_under_numbered_keys_are_read(tmp_path: Path) -> None:
    numbered = {
        "gen_ai.prompt.0.role": "system",
        "gen_ai.prompt.0.content": "Be brief.",
        "gen_ai.prompt.1.role": "user",
        "gen_ai.prompt.1.content": QUESTION,
        "gen_ai.completion.0.content": ANSWER,
    }
    model = otlp_span("3", "1", 1300, 1400, {**CHAT, **numbered})
    assert asked_and_answered(traced(tmp_path / "a.json", otlp_span("2", "1", 1000, 1100, TOOL_SPAN), model)) == (
        QUESTION,
        ANSWER,
    )


def test_only_the_named_tools_search(tmp_path: Path) -> None:
    other = {
        **TOOL_SPAN,
        "gen_ai.tool.name": "calendar",
        "gen_ai.tool.call.result": json.dumps([{"id": "d9", "text": "Monday."}]),
    }
    spans = [
        otlp_span("2", "1", 1000, 1100, TOOL_SPAN),
        otlp_span("4", "1", 1110, 1120, other),
        chat("3", 1300, ASKED, REASONED),
    ]
    every = traced(tmp_path / "a.json", *spans)
    assert contexts_of(every) == [FOUNDED, "Monday."]
    assert any("--set search-tools=NAME" in note for note in every.report.notes)
    assert contexts_of(traced(tmp_path / "a.json", *spans, settings={"search-tools": "search"})) == [FOUNDED]
    with pytest.raises(UsageError, match="no tool is called lookup; tools: search, calendar"):
        traced(tmp_path / "a.json", *spans, settings={"search-tools": "lookup"})


def test_the_spans_that_were_read_are_counted_by_kind(tmp_path: Path) -> None:
    request = otlp_span("1", None, 1000, 2000, {"http.method": "POST"})
    result = traced(tmp_path / "a.json", request, otlp_span("2", "1", 1000, 1100, TOOL_SPAN), chat("3", 1300, ASKED, REASONED))
    (note,) = [note for note in result.report.notes if "spans" in note]
    assert note.endswith("3 spans of 1 trace: 1 of language models, 1 of tools; of 1 other the times, session and service")
