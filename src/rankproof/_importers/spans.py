"""Traces of RAG systems as rows of a log: the spans of OpenInference, OpenTelemetry, LangSmith and Langfuse.

A trace is a question: the input of its first span, else of an agent, else the last message of a user to a language model.
Its contexts are what the last reranker gave, else what its retrievers found, else what its tools returned, in spans or messages.
Its answer is the output of the first span, else of an agent, else of the last language model. Keys are those of the public
conventions.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any, Literal

from rankproof._data.answers import SESSION_FIELD
from rankproof._data.text import pluralise
from rankproof._formats.source_table import SourceTable
from rankproof._importers.base import ImportSource
from rankproof._importers.cells import is_count, items_in, object_in
from rankproof._importers.conversations import last_turn
from rankproof._importers.messages import message_role, message_text, messages_of_events, plain_messages
from rankproof._importers.search_tools import SearchTools

Kind = Literal["retriever", "reranker", "llm", "tool", "agent", "other"]
Attributes = Mapping[str, Any]
_SAMPLED_ROWS = 20
_INTEGER = re.compile(r"-?[0-9]{1,18}")
_RESOURCES, _SCOPES = ("resourceSpans", "resource_spans"), ("scopeSpans", "scope_spans")
_TRACE = ("context.trace_id", "trace_id", "traceId", "traceID")
_SPAN = ("context.span_id", "span_id", "spanId", "id")
_PARENT = ("parent_id", "parent_span_id", "parentSpanId", "parent_run_id", "parentObservationId")
_KIND = (
    *("openinference.span.kind", "span_kind", "run_type", "gen_ai.operation.name", "langfuse.observation.type"),
    *("traceloop.span.kind", "type"),
)
_START = ("start_time", "startTime", "startTimeUnixNano", "start_time_unix_nano")
_END = ("end_time", "endTime", "endTimeUnixNano", "end_time_unix_nano")
_INPUT = (
    *("input.value", "gen_ai.input.messages", "llm.input_messages", "gen_ai.prompt", "gen_ai.retrieval.query.text"),
    *("traceloop.entity.input", "inputs", "input", "gen_ai.tool.call.arguments"),
)
_OUTPUT = (
    *("output.value", "gen_ai.output.messages", "llm.output_messages", "gen_ai.completion"),
    *("traceloop.entity.output", "outputs", "output", "gen_ai.tool.call.result"),
)
_EVENT_KEYS = (*_INPUT[:4], *_OUTPUT[:4])
_TOOL = ("gen_ai.tool.name", "tool.name", "name")
_MODELS = (
    *("gen_ai.request.model", "gen_ai.response.model", "llm.model_name", "providedModelName", "model"),
    *("extra.metadata.ls_model_name", "metadata.ls_model_name"),
)
_DOCUMENTS = ("reranker.output_documents", "retrieval.documents", "gen_ai.retrieval.documents")
_SESSION = ("session.id", "gen_ai.conversation.id", "session_id", "sessionId", "thread_id")
_SYSTEM = ("service.name", "openinference.project.name", "project_name")
_KINDS: Mapping[str, Kind] = {
    **dict.fromkeys(("retriever", "retrieval"), "retriever"),
    "reranker": "reranker",
    **dict.fromkeys(("llm", "chat_model", "generation", "chat", "text_completion", "generate_content"), "llm"),
    **dict.fromkeys(("tool", "execute_tool", "function"), "tool"),
    **dict.fromkeys(("agent", "invoke_agent", "chain", "workflow", "invoke_workflow"), "agent"),
}
_KIND_NAMES: Mapping[Kind, str] = {
    "retriever": "of retrievers",
    "reranker": "of rerankers",
    "llm": "of language models",
    "tool": "of tools",
    "agent": "of agents and chains",
}
_NUMBERS: Mapping[str, tuple[str, ...]] = {
    "tokens_in": (
        *("llm.token_count.prompt", "gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "prompt_tokens"),
        *("usageDetails.input", "usage.input", "usage.prompt_tokens", "usage.input_tokens"),
    ),
    "tokens_out": (
        *("llm.token_count.completion", "gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "completion_tokens"),
        *("usageDetails.output", "usage.output", "usage.completion_tokens", "usage.output_tokens"),
    ),
    "cost": ("llm.cost.total", "gen_ai.usage.cost", "total_cost", "calculatedTotalCost", "costDetails.total", "usage.totalCost"),
}
_QUESTION_KEYS = ("question", "query", "user_input", "input", "prompt", "text", "messages", "inputs", "kwargs")
_ANSWER_KEYS = ("answer", "response", "output", "result", "text", "content", "generations", "messages", "choices", "outputs")
_DOCUMENT_LISTS = ("documents", "results", "contexts", "chunks", "hits", "passages", "matches", "output")
_TEXT_KEYS = ("document.content", "page_content", "pageContent", "content", "text")
_ID_KEYS = ("document.id", "id", "doc_id", "_id")
_ROW = ("question", "answer", "contexts", "system", SESSION_FIELD, "searches", "latency_ms", *_NUMBERS, "model")


@dataclass(frozen=True, slots=True)
class Span:
    """One step of a trace; `line` is where it stands."""

    trace: str
    id: str
    parent: str | None
    kind: Kind
    attributes: Attributes
    line: int

    @property
    def start(self) -> float:
        """Seconds since 1970; NaN if not known."""
        return _seconds(_first(self.attributes, _START))

    @property
    def end(self) -> float:
        """Seconds since 1970; NaN if not known."""
        return _seconds(_first(self.attributes, _END))

    @property
    def input(self) -> Any:
        """What the step was given."""
        return _stated(self.attributes, _INPUT)

    @property
    def output(self) -> Any:
        """What the step gave."""
        return _stated(self.attributes, _OUTPUT)


def rows_of_traces(
    source: ImportSource, path: str, tools: SearchTools | None = None, notes: list[str] | None = None
) -> SourceTable | None:
    """A row for each trace of a file of spans; None for any other file. What was read of the spans is added to the notes."""
    spans = _otlp_spans(source, path)
    if spans is None:
        table = None if _is_object(source, path) else source.table_of(path)
        if table is None or not _are_spans(table):
            return None
        spans = list(_table_spans(table))
    traces: dict[str, list[Span]] = {}
    for span in spans:
        traces.setdefault(span.trace, []).append(span)
    if all(len(steps) == 1 and steps[0].kind == "other" for steps in traces.values()):
        return None
    if notes is not None:
        notes.append(_spans_note(path, [span.kind for span in spans], len(traces)))
    rows = [(steps[0].line, _trace_row(steps, tools or SearchTools())) for steps in traces.values()]
    return SourceTable(
        path, tuple(name for name in _ROW if any(row.get(name) is not None for _, row in rows)), lambda: iter(rows)
    )


def _spans_note(path: str, kinds: Sequence[Kind], traces: int) -> str:
    counts = [(kind, kinds.count(kind)) for kind in dict.fromkeys(_KINDS.values())]
    read = ", ".join(f"{count} {_KIND_NAMES[kind]}" for kind, count in counts if count)
    others = kinds.count("other")
    of_others = f"; of {pluralise(others, 'other')} the times, session and service" if others else ""
    return f"{path}: {pluralise(len(kinds), 'span')} of {pluralise(traces, 'trace')}: {read or 'none of a known kind'}{of_others}"


def _is_object(source: ImportSource, path: str) -> bool:
    return source.format_of(path) == "json" and isinstance(source.json_of(path).value, dict)


def _are_spans(table: SourceTable) -> bool:
    """Whether the first rows have a trace and a span; the columns of nested objects count with their keys."""
    if {*_TRACE, "context"}.isdisjoint(table.names):
        return False
    rows = [_flat(row) for _, row in islice(table.rows(), _SAMPLED_ROWS)]
    return bool(rows) and all(_first(row, _TRACE) is not None and _first(row, _SPAN) is not None for row in rows)


def _table_spans(table: SourceTable) -> Iterator[Span]:
    for line, row in table.rows():
        attributes = _flat(row)
        trace, id = _first(attributes, _TRACE), _first(attributes, _SPAN)
        if trace is not None and id is not None:
            events = items_in(attributes.pop("events", None))
            yield _span(str(trace), str(id), {**_of_events(map(_flat, _objects(events))), **attributes}, line)


def _otlp_spans(source: ImportSource, path: str) -> list[Span] | None:
    """The spans of OTLP in JSON: one object, or one on each line; None for any other file."""
    if _is_object(source, path):
        objects = iter([(1, source.json_of(path).value)])
    elif source.format_of(path) == "jsonl":
        objects = source.table_of(path).rows()
    else:
        return None
    spans = list[Span]()
    # The first line of another log, which may be large, is enough to tell.
    for line, value in objects:
        if not isinstance(value, Mapping) or {*value}.isdisjoint(_RESOURCES):
            return None
        spans += _exported_spans(value, line)
    return spans


def _exported_spans(value: Mapping[str, Any], line: int) -> Iterator[Span]:
    for resource in _objects(_first(value, _RESOURCES)):
        of_resource = _pairs((object_in(resource.get("resource")) or {}).get("attributes"))
        for span in (span for scope in _objects(_first(resource, _SCOPES)) for span in _objects(scope.get("spans"))):
            plain = {key: item for key, item in span.items() if key not in ("attributes", "events", "links")}
            events = ({**event, **_pairs(event.get("attributes"))} for event in _objects(span.get("events")))
            attributes = {**of_resource, **plain, **_of_events(events), **_pairs(span.get("attributes"))}
            trace, id = _first(attributes, _TRACE), _first(attributes, _SPAN)
            if trace is not None and id is not None:
                yield _span(str(trace), str(id), attributes, line)


def _of_events(events: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The attributes that the events of a span have in its place, and the messages of older conventions, one event each."""
    own = list(events)
    stated = {key: event[key] for event in own for key in _EVENT_KEYS if event.get(key) is not None}
    return {**messages_of_events(own), **stated}


def _objects(items: Any) -> Iterator[Mapping[str, Any]]:
    """The objects of a list; none of any other value."""
    return (item for item in items_in(items) if isinstance(item, dict))


def _pairs(items: Any) -> dict[str, Any]:
    """The attributes of OTLP, a list of keys with typed values, as a mapping."""
    return {item["key"]: _typed(item.get("value")) for item in _objects(items) if isinstance(item.get("key"), str)}


def _typed(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    kind, inside = next(iter(value.items()), ("", None))
    values = inside.get("values") if isinstance(inside, dict) else None
    if kind == "arrayValue":
        return [_typed(item) for item in values] if isinstance(values, list) else []
    if kind == "kvlistValue":
        return _pairs(values)
    return int(inside) if kind == "intValue" and isinstance(inside, str) and _INTEGER.fullmatch(inside) else inside


def _span(trace: str, id: str, attributes: Attributes, line: int) -> Span:
    parent = _first(attributes, _PARENT)
    named = (str(attributes[key]).lower() for key in _KIND if attributes.get(key) not in (None, ""))
    kind: Kind = next((_KINDS[name] for name in named if name in _KINDS), "other")
    return Span(trace, id, None if parent is None else str(parent), kind, attributes, line)


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    """The values with the keys of nested objects joined by dots; `attributes` and what contains a span add no key."""
    flat: dict[str, Any] = {}
    for name, value in row.items():
        key = name.removeprefix("attributes.")
        inside = object_in(value) if isinstance(value, dict) or key in ("attributes", "resource", "context") else None
        if inside is None or key in (*_INPUT, *_OUTPUT):
            flat[key] = value
            continue
        prefix = "" if key in ("attributes", "resource") else f"{key}."
        flat.update({f"{prefix}{inner}": item for inner, item in _flat(inside).items()})
    return flat


def _trace_row(spans: Sequence[Span], tools: SearchTools) -> dict[str, Any]:
    """The trace as the row of a log; what it does not say is None."""
    steps = sorted(spans, key=lambda span: (math.isnan(span.start), span.start))
    known = {span.id for span in steps}
    root = next((span for span in steps if span.parent is None or span.parent not in known), steps[0])
    times = [span.start for span in steps], [span.end for span in steps]
    # Of tools that are no search, the language models and the time still count.
    searching = [span for span in steps if span.kind != "tool" or tools.are_searched_by(_tool(span))]
    contexts, searches = _contexts(searching), list(_searches(searching, min(times[0])))
    if not any(span.kind in ("retriever", "reranker", "tool") for span in steps):
        contexts, searches = _of_messages(steps, tools)
    row: dict[str, Any] = {
        "question": _question(root, steps, contexts or ()),
        "answer": _answer(root, steps),
        "contexts": contexts,
        "system": _first(root.attributes, _SYSTEM),
        SESSION_FIELD: next((value for span in steps if (value := _first(span.attributes, _SESSION)) is not None), None),
        "searches": searches,
        "latency_ms": 1000 * (max(times[1]) - min(times[0])) if not any(map(math.isnan, (*times[0], *times[1]))) else None,
        "model": _model(steps),
    }
    for name, keys in _NUMBERS.items():
        row[name] = _total(steps, keys)
    return row


def _question(root: Span, steps: Sequence[Span], contexts: Iterable[Mapping[str, Any]]) -> str | None:
    """The question: if a language model was sent it together with contexts, what the first retriever searched for."""
    texts = [context.get("text") for context in contexts]
    retriever = next((step for step in steps if step.kind == "retriever"), None)
    for span in (*_speakers(root, steps), root):
        if text := _text(span.input, _QUESTION_KEYS, "user"):
            is_prompt = span.kind == "llm" and any(own and own in text for own in texts)
            return (is_prompt and retriever and _text(retriever.input, _QUESTION_KEYS, "user")) or text
    return None


def _answer(root: Span, steps: Sequence[Span]) -> str | None:
    """What the trace gave, else its agent, else what its last language model wrote."""
    models = [span for span in steps if span.kind == "llm"]
    for span in (*(span for span in _speakers(root, steps) if span not in models[:-1]), *reversed(models[:-1])):
        if text := _text(span.output, _ANSWER_KEYS, "assistant"):
            return text
    return None


def _speakers(root: Span, steps: Sequence[Span]) -> list[Span]:
    """The spans whose input may be the question: the first one, agents, language models; not a search without its trace."""
    first = [root] if root.kind in ("agent", "llm", "other") else []
    return [*first, *(span for kind in ("agent", "llm") for span in steps if span.kind == kind)]


def _model(steps: Sequence[Span]) -> str | None:
    """The language models of the trace."""
    names = (_first(span.attributes, _MODELS) for span in steps if span.kind == "llm")
    return ", ".join(dict.fromkeys(name for name in names if isinstance(name, str))) or None


def _tool(span: Span) -> str | None:
    name = _first(span.attributes, _TOOL)
    return name if isinstance(name, str) else None


def _of_messages(steps: Sequence[Span], tools: SearchTools) -> tuple[list[Any] | None, list[dict[str, Any]]]:
    """The contexts and searches that the last messages to a language model say; no spans say them."""
    for span in reversed([span for span in steps if span.kind in ("llm", "agent")]):
        value = object_in(span.input) or {}
        turn = last_turn(items_in(value.get("messages", span.input)), tools)
        if turn is not None and turn.contexts is not None:
            return turn.contexts, turn.searches
    return None, []


def _searches(steps: Sequence[Span], start: float) -> Iterator[dict[str, Any]]:
    """The calls of retrievers and tools in the order of time; a retriever inside a tool is a part of its call."""
    parents = {span.id: span.parent for span in steps}
    calls = {span.id for span in steps if span.kind in ("retriever", "tool")}
    inside = {span.id: list(_ancestors(span.id, parents)) for span in steps}
    for span in steps:
        if span.id not in calls or not calls.isdisjoint(inside[span.id]):
            continue
        before = [step for step in steps if step.kind == "llm" and step.start <= span.start]
        tokens = [total for name in ("tokens_in", "tokens_out") if (total := _total(before, _NUMBERS[name])) is not None]
        elapsed = 1000 * (span.end - start)
        yield {
            "query": _text(span.input, (*_QUESTION_KEYS, "q", "search_query"), "user") or "",
            "contexts": _contexts([span, *(step for step in steps if span.id in inside[step.id])]) or [],
            "tokens": math.fsum(tokens) if tokens else None,
            "elapsed_ms": elapsed if elapsed >= 0 else None,
        }


def _ancestors(id: str, parents: Mapping[str, str | None]) -> Iterator[str]:
    """The spans around a span, the nearest first; each once, as a broken trace may have a circle."""
    seen = {id}
    while (parent := parents.get(id)) is not None and parent not in seen:
        seen.add(parent)
        yield parent
        id = parent


def _contexts(steps: Sequence[Span]) -> list[dict[str, Any]] | None:
    """The passages that the answer was written from, each once; None if no step says what it retrieved."""
    rerankers = [span for span in steps if span.kind == "reranker"][-1:]
    for chosen in (rerankers, *([span for span in steps if span.kind == kind] for kind in ("retriever", "tool"))):
        lists = [documents for span in chosen if (documents := _documents(span)) is not None]
        if lists:
            every = {json.dumps(document, sort_keys=True): document for documents in lists for document in documents}
            return list(every.values())
    return None


def _documents(span: Span) -> list[dict[str, Any]] | None:
    """The documents of one span; None if it says nothing of documents."""
    for key in _DOCUMENTS:
        if (value := span.attributes.get(key)) is not None:
            return list(_passages(items_in(value)))
        if (numbered := _numbered(span.attributes, f"{key}.")) is not None:
            return list(_passages(numbered))
    output = span.output
    inside = object_in(output)
    if inside is not None:
        output = next((inside[key] for key in _DOCUMENT_LISTS if items_in(inside.get(key))), None)
    return list(_passages(items)) if (items := items_in(output)) else None


def _numbered(attributes: Attributes, prefix: str) -> list[dict[str, Any]] | None:
    """The documents of flat keys such as retrieval.documents.0.document.content; None if there are none."""
    documents: dict[int, dict[str, Any]] = {}
    for key, value in attributes.items():
        number, _, rest = key.removeprefix(prefix).partition(".")
        if key.startswith(prefix) and _INTEGER.fullmatch(number):
            documents.setdefault(int(number), {})[rest] = value
    return [documents[number] for number in sorted(documents)] or None


def _passages(items: Iterable[Any]) -> Iterator[dict[str, Any]]:
    """The text and the id of each document that has one of them."""
    for item in items:
        document = _flat(object_in(item) or {"text": item if isinstance(item, str) else None})
        text, id = _first(document, _TEXT_KEYS), _first(document, _ID_KEYS)
        passage = {"text": text if isinstance(text, str) else None, "id": None if id is None else str(id)}
        if any(passage.values()):
            yield {key: value for key, value in passage.items() if value is not None}


def _text(value: Any, keys: Sequence[str], role: str) -> str | None:
    """The text of a value: of an object the likeliest key, of messages the last one of the role, and of parts their texts."""
    if isinstance(value, str):
        inside = object_in(value) or items_in(value)
        if not inside:
            return value.strip() or None
        value = inside
    if isinstance(value, Mapping):
        return next((text for key in keys if (text := _text(value.get(key), keys, role)) is not None), None)
    items = items_in(value)
    if items and isinstance(items[-1], list):
        return _text(items[-1], keys, role)
    roles = [(message_role(message), message) for message in plain_messages(items)]
    if spoken := [text for own, message in roles if own == role and (text := message_text(message).strip())]:
        return spoken[-1]
    unknown = [message for own, message in roles if own is None]
    return _text(unknown[-1], ("content", *keys), role) if unknown else None


def _stated(attributes: Attributes, keys: Sequence[str]) -> Any:
    """The first value of the keys, or the list of the flat keys that a key begins."""
    for key in keys:
        value = attributes.get(key)
        if value not in (None, "") or (value := _numbered(attributes, f"{key}.")) is not None:
            return value
    return None


def _total(steps: Sequence[Span], keys: Sequence[str]) -> float | None:
    """The sum over the language models; over all spans if no model says it."""
    for chosen in ([span for span in steps if span.kind == "llm"], list(steps)):
        values = [value for span in chosen if is_count(value := _first(span.attributes, keys))]
        if values:
            return math.fsum(values)
    return None


def _seconds(value: Any) -> float:
    """Seconds since 1970 of a time in ISO 8601 or in nanoseconds; NaN for anything else."""
    try:
        if isinstance(value, datetime):
            return value.timestamp()
        text = str(value).strip()
        if text.isdigit():
            return int(text) / 1e9
        return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()
    except (ValueError, OverflowError):
        # Also NaT of pandas, a year that the system does not know, and an integer of thousands of digits.
        return math.nan


def _first(attributes: Attributes, keys: Sequence[str]) -> Any:
    return next((attributes[key] for key in keys if attributes.get(key) not in (None, "")), None)
