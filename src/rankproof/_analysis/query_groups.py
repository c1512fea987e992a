"""Groups of queries: by a field, by length, by complexity, by the number of relevant documents, or by a list."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from rankproof._analysis.inputs import AnalysisInput
from rankproof._analysis.query_complexity import complexity_of, seems_english
from rankproof._data.corpus import TextRecord
from rankproof._data.text import pluralise
from rankproof.errors import UsageError, for_message

SHORT, LONG = 8, 15
LENGTH_SEGMENTS = (f"short (under {SHORT} words)", f"medium ({SHORT}-{LONG} words)", f"long (over {LONG} words)")
RELEVANT_SEGMENTS = ((0, "none"), (1, "1"), (5, "2-5"), (10, "6-10"))
MANY_RELEVANT = "more than 10"


@dataclass(frozen=True, slots=True)
class Grouping:
    """Every query in exactly one segment; queries without a value share one. `notes` say how far the segments can be trusted."""

    by: str
    segments: Mapping[str, tuple[str, ...]]
    notes: tuple[str, ...] = ()


def group_queries(inputs: AnalysisInput, by: str) -> Grouping:
    """The queries by `length`, by `relevant` (number of relevant documents), or by a field of that name.

    `complexity` is counted in the texts if no query has such a field.
    """
    if by == COMPLEXITY and has_field(inputs, by):
        return by_field(inputs, by)
    return _GROUPINGS[by](inputs) if by in _GROUPINGS else by_field(inputs, by)


def has_field(inputs: AnalysisInput, field: str) -> bool:
    """Whether any query has a value of the field."""
    texts: Mapping[str, TextRecord] = inputs.texts or {}
    return any(texts[query].fields.get(field) not in (None, "") for query in inputs.result.queries if query in texts)


def by_field(inputs: AnalysisInput, field: str) -> Grouping:
    """By the value of a field of each query."""
    texts: Mapping[str, TextRecord] = inputs.texts or {}
    known = sorted({name for query in inputs.result.queries if query in texts for name in texts[query].fields})
    if field not in known:
        ways = ", ".join([*map(for_message, known), *(name for name in _GROUPINGS if name not in known)])
        raise UsageError(
            f"no query has a field {for_message(field)}", fix=f"choose from: {ways}; or pass segments with --by-file"
        )
    found = {query: _field_value(texts[query], field) if query in texts else None for query in inputs.result.queries}
    return _grouping(field, found, f"no {field}")


def by_length(inputs: AnalysisInput) -> Grouping:
    """By the number of words separated by white space."""
    found = {query: None if text is None else _length(text) for query, text in _query_texts(inputs).items()}
    return _grouping("length", found, "no text")


def by_counted_complexity(inputs: AnalysisInput) -> Grouping:
    """By the number of constraints counted in the text, with notes that it is a heuristic for English."""
    texts = _query_texts(inputs)
    found = {query: None if text is None else complexity_of(text) for query, text in texts.items()}
    notes = ["complexity is counted in the texts, a heuristic for English; a field complexity of the queries replaces it"]
    uncounted = sum(found[query] is None for query, text in texts.items() if text is not None)
    if uncounted:
        notes.append(f"{uncounted} of {pluralise(len(texts), 'query', 'queries')} are not in Latin script and are not counted")
    if not seems_english(text for query, text in texts.items() if text is not None and found[query] is not None):
        notes.append("most longer queries do not look English, so their counted complexity is too low")
    return replace(_grouping(f"{COMPLEXITY} (counted)", found, "not counted"), notes=tuple(notes))


def _query_texts(inputs: AnalysisInput) -> dict[str, str | None]:
    """The text of each query, None if it is not known."""
    texts = inputs.texts
    if texts is None:
        raise UsageError("run files have no query text", fix="pass a results folder, or segments with --by-file")
    return {query: texts[query].text if query in texts else None for query in inputs.result.queries}


def by_relevant(inputs: AnalysisInput) -> Grouping:
    """By the number of relevant documents."""
    counts = {query: sum(grade >= inputs.rel for grade in inputs.qrels[query].values()) for query in inputs.result.queries}
    return _grouping("relevant", {query: _relevant(count) for query, count in counts.items()}, "")


def by_list(inputs: AnalysisInput, listed: Mapping[str, str], name: str) -> Grouping:
    """By a list of query and segment; queries that it lacks share one segment."""
    if not any(query in listed for query in inputs.result.queries):
        first, judged = (for_message(next(iter(ids), "")) for ids in (listed, inputs.result.queries))
        ids = f"its first id is {first}, the first judged query is {judged}" if listed else "it is empty"
        raise UsageError(f"{name} contains no judged query: {ids}", fix="write one judged query id and its segment per line")
    found = {query: listed.get(query) or None for query in inputs.result.queries}
    return _grouping(name, found, f"not in {name}")


COMPLEXITY = "complexity"
_GROUPINGS: Mapping[str, Callable[[AnalysisInput], Grouping]] = {
    "length": by_length,
    "relevant": by_relevant,
    COMPLEXITY: by_counted_complexity,
}


def _grouping(by: str, found: Mapping[str, str | None], missing: str) -> Grouping:
    """The queries of each segment; the segment of queries without a value gets a unique name."""
    names = set(found.values())
    label = f"({missing})"
    while label in names:
        label = f"({label})"
    segments: dict[str, list[str]] = {}
    for query, name in found.items():
        segments.setdefault(label if name is None else name, []).append(query)
    return Grouping(by, {name: tuple(queries) for name, queries in segments.items()})


def _field_value(query: TextRecord, field: str) -> str | None:
    value = query.fields.get(field)
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    if isinstance(value, list | dict):
        what = f"the field {for_message(field)} of query {for_message(query.id)} is a list or an object, not a single value"
        raise UsageError(what, fix="choose a field with a single string, number or boolean per query")
    return value if isinstance(value, str) else json.dumps(value)


def _length(text: str) -> str:
    count = len(text.split())
    return LENGTH_SEGMENTS[0] if count < SHORT else LENGTH_SEGMENTS[1] if count <= LONG else LENGTH_SEGMENTS[2]


def _relevant(count: int) -> str:
    return next((name for most, name in RELEVANT_SEGMENTS if count <= most), MANY_RELEVANT)


def default_grouping(inputs: AnalysisInput) -> str:
    """The default grouping: the field category if any query has it, else length, else relevant documents."""
    texts = inputs.texts
    if texts is None:
        return "relevant"
    return (
        "category" if any(texts[query].fields.get("category") for query in inputs.result.queries if query in texts) else "length"
    )
