"""Groups of queries: by a field, by length, by complexity, by the number of relevant documents, or by a list."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby
from typing import Literal, NamedTuple, Protocol

from rankproof._analysis.inputs import AnalysisInput
from rankproof._data.corpus import TextRecord
from rankproof._data.text import first_ids, pluralise
from rankproof._statistics.intervals import SMALL_SAMPLE
from rankproof.errors import UsageError, for_message

SHORT, LONG = 8, 15
LENGTH_SEGMENTS = (f"short (under {SHORT} words)", f"medium ({SHORT}-{LONG} words)", f"long (over {LONG} words)")
RELEVANT_SEGMENTS = ((0, "none"), (1, "1"), (5, "2-5"), (10, "6-10"))
MANY_RELEVANT = "more than 10"
MIN_QUERIES = 10
"""Segments with fewer queries are not tested."""


@dataclass(frozen=True, slots=True)
class Grouping:
    """Every query in exactly one segment; queries without a value share one. `notes` say how far the segments can be trusted."""

    by: str
    segments: Mapping[str, tuple[str, ...]]
    notes: tuple[str, ...] = ()


class SegmentSize(Protocol):
    """A segment with its number of queries, and of conversations where queries are turns of some."""

    @property
    def segment(self) -> str:
        """The name of the segment."""

    @property
    def n(self) -> int:
        """The number of its queries."""

    @property
    def units(self) -> int:
        """The number of its conversations; of its queries if no two are of one."""


def units_name(rows: Sequence[SegmentSize]) -> str:
    """What a test counts: queries, or conversations."""
    return "queries" if all(row.units == row.n for row in rows) else "conversations"


def small_segment_warnings(rows: Sequence[SegmentSize]) -> tuple[str, ...]:
    """The segments with too few queries for a test, or for a precise interval."""
    units = units_name(rows)
    small = sorted(row.segment for row in rows if row.units < MIN_QUERIES)
    rough = sorted(row.segment for row in rows if MIN_QUERIES <= row.units < SMALL_SAMPLE)
    warnings = []
    if small:
        warnings.append(f"segments with fewer than {MIN_QUERIES} {units} are not tested: {len(small)} ({first_ids(small)})")
    if rough:
        warnings.append(
            f"intervals of segments with fewer than {SMALL_SAMPLE} {units} are approximate: {len(rough)} ({first_ids(rough)})"
        )
    return tuple(warnings)


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
        raise UsageError(f"no query has a field {for_message(field)}", fix=_other_ways(inputs, known))
    values = {query: _field_value(texts[query], field) if query in texts else None for query in inputs.result.queries}
    return _grouping(field, values, f"no {field}")


def _other_ways(inputs: AnalysisInput, known: Sequence[str]) -> str:
    """What to group by instead: fields without lists, and what is counted in texts or judgements."""
    if inputs.texts is None:
        return _ADD_TEXTS
    lists = {name for text in inputs.texts.values() for name, value in text.fields.items() if isinstance(value, list | dict)}
    fields = [for_message(name) for name in known if name not in lists]
    ways = ", ".join([*fields, *(name for name in _GROUPINGS if name not in known)])
    return f"choose from: {ways}; or pass segments with --by-file (compare, gate, segments)"


def by_length(inputs: AnalysisInput) -> Grouping:
    """By the number of words separated by white space."""
    lengths = {query: None if text is None else _length(text) for query, text in _query_texts(inputs).items()}
    return _grouping("length", lengths, "no text")


def by_counted_complexity(inputs: AnalysisInput) -> Grouping:
    """By the number of constraints counted in the text, with notes that it is a heuristic for English."""
    texts = _query_texts(inputs)
    classes = {query: None if text is None else complexity_of(text) for query, text in texts.items()}
    notes = ["complexity is counted in the texts, a heuristic for English; a field complexity of the queries replaces it"]
    uncounted = sum(classes[query] is None for query, text in texts.items() if text is not None)
    if uncounted:
        n = pluralise(len(texts), "query", "queries")
        notes.append(f"{uncounted} of {n} are not counted: they are not in Latin script, or have no words")
    if not seems_english(text for query, text in texts.items() if text is not None and classes[query] is not None):
        notes.append(
            "most longer queries do not look English: the rule does not apply to them, and their counted complexity is too low"
        )
    return replace(_grouping(f"{COMPLEXITY} (counted)", classes, "not counted"), notes=tuple(notes))


def _query_texts(inputs: AnalysisInput) -> dict[str, str | None]:
    """The text of each query, None if it is not known."""
    texts = inputs.texts
    if texts is None:
        raise UsageError("run files have no query text", fix=_ADD_TEXTS)
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
    segments = {query: listed.get(query) or None for query in inputs.result.queries}
    return _grouping(name, segments, f"not in {name}")


COMPLEXITY = "complexity"
_ADD_TEXTS = "add the queries with --dataset, pass a results folder, or segments with --by-file"
_GROUPINGS: Mapping[str, Callable[[AnalysisInput], Grouping]] = {
    "length": by_length,
    "relevant": by_relevant,
    COMPLEXITY: by_counted_complexity,
}


def _grouping(by: str, segment_of: Mapping[str, str | None], missing: str) -> Grouping:
    """The queries of each segment; the segment of queries without a value gets a unique name."""
    names = set(segment_of.values())
    label = f"({missing})"
    while label in names:
        label = f"({label})"
    segments: dict[str, list[str]] = {}
    for query, name in segment_of.items():
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


MODERATE, COMPLEX = 3, 5
COMPLEXITY_SEGMENTS = (
    f"simple (under {MODERATE} constraints)",
    f"moderate ({MODERATE}-{COMPLEX - 1} constraints)",
    f"complex ({COMPLEX} or more constraints)",
)

MarkerKind = Literal["joining word", "comparison", "negation", "number", "quoted phrase", "filter", "comma"]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


JOINING_WORDS = _words(
    "about across after against along although and around at because before behind below beside besides between beyond but by"
    " during for from if in inside into like near on onto or outside per plus since than that though through throughout"
    " under unless until upon via when where whereas which while who whom whose with within"
)
"""Prepositions, conjunctions and relative words that add a condition; `of` and `to` rarely do."""
COMPARISONS = _words("above compared exactly fewer least less max maximum min minimum more most only over same similar versus vs")
NEGATIONS = _words("cannot except excluding instead neither never no nor not without")

_QUOTES = re.compile(r'(?<![\w"])"[^\s"](?:[^"]*[^\s"])?"(?!\w)')
_SPACED_QUOTES = re.compile(r"« ([^«»]*[^«»\s]) »")
_TOKEN = re.compile(r"(?:[^\s,;]|(?<=\d),(?=\d))+|[,;]")
_FILTER = re.compile(r"[^\W\d][\w.-]*[:=](?!/)[^\s:=].*")
_ENGLISH = _words(
    "and because between does from how make many much should that the their these this used using what when where which who why"
    " with without you your"
)
"""Frequent English words that are rare in other languages: no `a`, `do`, `for`, `is` or `of`."""
_LONG_ENOUGH = 5


class Marker(NamedTuple):
    """A sign of a constraint: the token and its kind."""

    text: str
    kind: MarkerKind


def constraint_markers(text: str) -> list[tuple[Marker, ...]]:
    """The markers of each constraint after the topic; markers next to each other are one constraint."""
    plain = _plain(text)
    quoted = [(Marker(match.group(), "quoted phrase"),) for match in _QUOTES.finditer(plain)]
    unquoted = _QUOTES.sub(" _ ", plain).replace('"', " ")
    marked = [_marker(token) for token in _TOKEN.findall(unquoted)]
    runs = [[marker for marker in run if marker is not None] for _, run in groupby(marked, key=lambda marker: marker is not None)]
    kept = [tuple(run) for at, run in enumerate(runs) if run and (0 < at < len(runs) - 1 or _stands_alone(run))]
    return quoted + kept


def _stands_alone(run: Sequence[Marker]) -> bool:
    """Whether the first or last words of a query are a constraint: joining words and commas alone have nothing to join there."""
    return any(marker.kind not in ("joining word", "comma") for marker in run)


def count_constraints(text: str) -> int | None:
    """The topic and the constraints after it, 0 for a text without words; None if most letters are not Latin."""
    plain = _plain(text)
    letters = [char for char in plain if char.isalpha()]
    latin = sum(char.isascii() or unicodedata.name(char, "").startswith("LATIN ") for char in letters)
    # The markers are English words, and scripts without spaces have no words to match.
    if 2 * latin < len(letters):
        return None
    return 1 + len(constraint_markers(text)) if any(char.isalnum() for char in plain) else 0


@lru_cache(maxsize=1 << 15)
def complexity_of(text: str) -> str | None:
    """The class of the query: simple, moderate or complex; None if it has no words or its constraints cannot be counted."""
    count = count_constraints(text)
    if not count:
        return None
    return COMPLEXITY_SEGMENTS[(count >= MODERATE) + (count >= COMPLEX)]


def seems_english(texts: Iterable[str]) -> bool:
    """Whether at least a quarter of the longer queries contain a frequent English word; True without longer queries."""
    words = [set(_plain(text).split()) for text in texts]
    longer = [word for word in words if len(word) >= _LONG_ENOUGH]
    return 4 * sum(bool(query_words & _ENGLISH) for query_words in longer) >= len(longer)


def _plain(text: str) -> str:
    """The text in one form of Unicode and in lower case, with one kind of quotes and apostrophes and single spaces."""
    same = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    same = _SPACED_QUOTES.sub(r'"\1"', " ".join(same.split()))
    return same.translate({ord("’"): "'", ord("“"): '"', ord("”"): '"', ord("„"): '"', ord("«"): '"', ord("»"): '"'})


def _marker(token: str) -> Marker | None:
    if token in (",", ";"):
        return Marker(token, "comma")
    word = token.strip("()[]{}?!.'*")
    if _FILTER.fullmatch(word):
        return Marker(token, "filter")
    if any(char.isdigit() for char in word):
        return Marker(token, "number")
    if word in NEGATIONS or word.endswith(("n't", "-free")) or re.match(r"(?:non)?-[^\W\d_]", word):
        return Marker(token, "negation")
    if word in COMPARISONS:
        return Marker(token, "comparison")
    return Marker(token, "joining word") if word.removesuffix(":") in JOINING_WORDS else None
