"""Data of every query."""

from __future__ import annotations

import json
import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from rankproof._analysis.inputs import input_from_results
from rankproof._analysis.query_groups import by_length
from rankproof._data.answers import ANSWER_FIELDS, ANSWERABLE_FIELD, URL_FIELDS, Answer, References, references_from_queries
from rankproof._data.ordering import best_first_order
from rankproof._data.run import Run
from rankproof._evaluation.result import MeasureResult, Result
from rankproof._results.experiment_result import ExperimentResult, SystemRun
from rankproof.errors import InputError
from rankproof.measures._base import Measure

SNIPPET_LENGTHS = (300, 240, 180, 120, 80, 50, 25, 0)
MAX_TEXT_SIZE = 14_000_000


class DocumentList:
    """Documents in the order in which they are first asked for."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}

    def index_of(self, doc: str) -> int:
        """Where the document stands in the list."""
        return self._places.setdefault(doc, len(self._places))

    def indices_of(self, docs: Iterable[str]) -> list[int]:
        """The same for many."""
        return [self.index_of(doc) for doc in docs]

    def columns(self, snippets: Mapping[str, str], titles: Mapping[str, int]) -> dict[str, list[str] | list[int]]:
        """Ids, beginnings of texts, all cut at the same length, the longest that leaves the page small enough, and titles.

        A title is told by how much of its text it is, in the units in which JavaScript counts.
        """
        texts = [snippets.get(doc, "") for doc in self._places]
        place = bisect_left(SNIPPET_LENGTHS, -MAX_TEXT_SIZE, key=lambda length: -_text_size(texts, length))
        length = SNIPPET_LENGTHS[min(place, len(SNIPPET_LENGTHS) - 1)]
        heads = [_utf16_length(snippets.get(doc, "")[: titles.get(doc, 0)]) for doc in self._places]
        return {"ids": list(self._places), "texts": [truncate(text, length) for text in texts], "titles": heads}


def truncate(text: str, length: int) -> str:
    """The beginning of a text; a cut is marked."""
    return text if len(text) <= length + 1 else f"{text[:length]}…"


def _utf16_length(text: str) -> int:
    """How long the text is in UTF-16."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _text_size(texts: Iterable[str], length: int) -> int:
    return len(json.dumps([truncate(text, length) for text in texts]))


MAX_ANSWER_LENGTH = 4_000


def answers_by_query(
    system_run: SystemRun, queries: tuple[str, ...], documents: DocumentList
) -> list[dict[str, Any] | None] | None:
    """By query what the system said; None for a system that only ranks."""
    answers = system_run.answers
    if answers is None:
        return None
    return [_answer_json(answers[query], documents) if query in answers else None for query in queries]


def references_by_query(results: ExperimentResult) -> list[list[str] | None]:
    """By query the texts of which any is right: none where the right thing is to abstain, None where nothing is known."""
    known = _references(results)
    return [
        [truncate(text, MAX_ANSWER_LENGTH) for text in known[query].answers] if query in known else None
        for query in results.queries
    ]


def _answer_json(answer: Answer, documents: DocumentList) -> dict[str, Any]:
    return {"text": truncate(answer.text, MAX_ANSWER_LENGTH), "state": answer.state, "cited": documents.indices_of(answer.cited)}


def _references(results: ExperimentResult) -> References:
    """Fields of queries that are no references, whatever their name, hinder nobody from reading the page."""
    try:
        return references_from_queries(results.texts)
    except InputError:
        return References({})


VALUE_DIGITS = 5


def round_number(value: float, digits: int = VALUE_DIGITS) -> float | int | None:
    """The number to that many digits after the point, whole ones without a point; None where it is none."""
    if not math.isfinite(value):
        return None
    near = round(value, digits)
    return int(near) if near == int(near) else near


def round_column(values: Iterable[float | None], digits: int = VALUE_DIGITS) -> list[float | int | None]:
    """The same for a column, None where there is no value."""
    return [None if value is None else round_number(value, digits) for value in values]


ValueColumn = list[float | int | None]
EXPLAINED_MEASURES = frozenset(("nDCG", "DCG", "RR", "P", "R", "AP", "Success"))
"""Those that the page's script counts again; explorer-measures.js has one function for each."""


def all_measures(results: ExperimentResult) -> dict[str, Measure]:
    """Every measure of the rankings, then those of answers."""
    return {
        name: one.measure
        for result in (results.result, results.answers)
        if result is not None
        for system in result.systems
        for name, one in system.measures.items()
    }


def measure_facts(measure: Measure) -> dict[str, Any]:
    """What the script must know to name a measure, to sort by it and to count it again."""
    gain = getattr(measure, "gain", None)
    return {
        "name": str(measure),
        "kind": measure.name,
        "title": measure.title,
        "definition": measure.definition,
        "higher": measure.higher_is_better,
        "share": measure.range == (0.0, 1.0),
        "cutoff": getattr(measure, "cutoff", None),
        "rel": max(getattr(measure, "least", 1), 0),
        "gain": gain if gain is None or isinstance(gain, str) else [list(pair) for pair in gain],
        "explained": measure.name in EXPLAINED_MEASURES and not _has_unusable_gains(gain),
    }


def measure_values(results: ExperimentResult, measures: list[str]) -> list[list[ValueColumn | None]]:
    """By system and measure, a value for each query of the climb; None where a system has nothing of that measure."""
    return [[_value_column(results, system_run.name, name) for name in measures] for system_run in results.system_runs]


def _value_column(results: ExperimentResult, system: str, measure: str) -> ValueColumn | None:
    found = _measure_result(results.result, system, measure) or _measure_result(results.answers, system, measure)
    if found is None:
        return None
    known = found.per_query
    return round_column(known.get(query) for query in results.queries)


def _measure_result(result: Result | None, system: str, measure: str) -> MeasureResult | None:
    systems = () if result is None else result.systems
    return next((one.measures[measure] for one in systems if one.name == system and measure in one.measures), None)


def _has_unusable_gains(gain: object) -> bool:
    """Whether gains by hand give a worth to grades that the page does not hold, or less than none."""
    return isinstance(gain, tuple) and any(grade < 1 or worth < 0 for grade, worth in gain)


TOP_DEPTH = 10
Grades = Mapping[str, Mapping[str, int]]


@dataclass(frozen=True, slots=True)
class RankedSystem:
    """One system, by query of the climb: its first documents, the ranks of those that are looked up, how many it retrieved."""

    tops: tuple[tuple[str, ...], ...]
    ranks: tuple[Mapping[str, int], ...]
    retrieved: tuple[int, ...]


def ranked_systems(results: ExperimentResult, grades: Grades) -> dict[str, RankedSystem]:
    """Every system; looked up are judged documents, and those at the top of the systems that stand over it."""
    orders = {system_run.name: _ranked_documents(system_run.run, results.queries) for system_run in results.system_runs}
    tops = {name: tuple(docs[:TOP_DEPTH] for docs in each) for name, each in orders.items()}
    above = {
        name: [tops[system_run.name] for system_run in results.system_runs if system_run.baseline == name] for name in orders
    }
    return {
        name: RankedSystem(
            tops[name],
            tuple(map(_ranks, orders[name], _looked_up_documents(results, grades, above[name]))),
            tuple(map(len, orders[name])),
        )
        for name in orders
    }


def _looked_up_documents(
    results: ExperimentResult, grades: Grades, above: list[tuple[tuple[str, ...], ...]]
) -> Iterator[set[str]]:
    for at, query in enumerate(results.queries):
        yield set(grades[query]).union(*(tops[at] for tops in above))


def _ranks(docs: tuple[str, ...], wanted: set[str]) -> dict[str, int]:
    return {doc: rank for rank, doc in enumerate(docs, 1) if doc in wanted}


def _ranked_documents(run: Run, queries: Sequence[str]) -> list[tuple[str, ...]]:
    """The run's documents for each of the queries, best first; none for a query that it lacks."""
    found = {}
    for query, (start, end) in zip(run.queries, pairwise(run.offsets.tolist()), strict=True):
        docs = run.docs[start:end]
        found[query] = tuple(docs[at] for at in best_first_order(docs, run.scores[start:end]).tolist())
    return [found.get(query, ()) for query in queries]


MAX_SEGMENT_VALUES = 40
_NO_SEGMENT_FIELDS = frozenset((*ANSWER_FIELDS, *URL_FIELDS, ANSWERABLE_FIELD, "length"))


def segment_columns(results: ExperimentResult) -> list[dict[str, Any]]:
    """Each field with its values and, for every query, which of them it has (-1 for none)."""
    groups = by_length(input_from_results(results)).segments
    ways: dict[str, Mapping[str, str]] = {name: _segment_values(results, name) for name in _segment_fields(results)}
    ways["length"] = {query: name for name, queries in groups.items() for query in queries}
    return [
        _encode_segments(results, name, found)
        for name, found in ways.items()
        if 1 < len(set(found.values())) <= MAX_SEGMENT_VALUES
    ]


def _segment_fields(results: ExperimentResult) -> list[str]:
    names = {name for query in results.queries if query in results.texts for name in results.texts[query].fields}
    return sorted(names - _NO_SEGMENT_FIELDS, key=lambda name: (name != "category", name))


def _segment_values(results: ExperimentResult, name: str) -> dict[str, str]:
    words = ((query, _segment_name(results.texts[query].fields.get(name))) for query in results.queries if query in results.texts)
    return {query: word for query, word in words if word is not None}


def _segment_name(value: object) -> str | None:
    if isinstance(value, str):
        return value if value.strip() else None
    return json.dumps(value) if isinstance(value, bool | int | float) else None


def _encode_segments(results: ExperimentResult, name: str, found: Mapping[str, str]) -> dict[str, Any]:
    values = sorted(set(found.values()))
    places = {value: at for at, value in enumerate(values)}
    return {"name": name, "values": values, "of": [places[found[query]] if query in found else -1 for query in results.queries]}


_MAX_QUERY_LENGTH = 1_000
_TIME_DIGITS = 3


def explorer_blocks(results: ExperimentResult) -> dict[str, dict[str, Any]]:
    """`data`, which the table needs at once, and `details`, read when a query is opened; docs/report.md has their shape."""
    grades = {
        query: {doc: grade for doc, grade in results.qrels.get(query, {}).items() if grade >= 0} for query in results.queries
    }
    ranked = ranked_systems(results, grades)
    return {"data": _table(results, grades, ranked), "details": _details(results, grades, ranked)}


def _table(results: ExperimentResult, grades: Grades, ranked: dict[str, RankedSystem]) -> dict[str, Any]:
    measures = all_measures(results)
    places = {system_run.name: at for at, system_run in enumerate(results.system_runs)}
    texts = [
        truncate(results.texts[query].text, _MAX_QUERY_LENGTH) if query in results.texts else "" for query in results.queries
    ]
    return {
        "top": TOP_DEPTH,
        "rel": results.rel,
        "highest": max((grade for docs in grades.values() for grade in docs.values()), default=0),
        "systems": [
            {"name": system_run.name, "baseline": None if system_run.baseline is None else places.get(system_run.baseline)}
            for system_run in results.system_runs
        ],
        "measures": [measure_facts(measure) for measure in measures.values()],
        "queries": {"ids": list(results.queries), "texts": texts},
        "segments": segment_columns(results),
        "values": measure_values(results, list(measures)),
        "first": [_first_relevant_ranks(results, grades, one) for one in ranked.values()],
        "unjudged": [_unjudged_counts(results, grades, one) for one in ranked.values()],
    }


def _first_relevant_ranks(results: ExperimentResult, grades: Grades, ranked: RankedSystem) -> list[int]:
    """The rank of each query's first relevant document, 0 where none was retrieved."""
    return [
        min((rank for doc, rank in ranks.items() if grades[query].get(doc, -1) >= results.rel), default=0)
        for query, ranks in zip(results.queries, ranked.ranks, strict=True)
    ]


def _unjudged_counts(results: ExperimentResult, grades: Grades, ranked: RankedSystem) -> list[int]:
    return [sum(doc not in grades[query] for doc in top) for query, top in zip(results.queries, ranked.tops, strict=True)]


def _details(results: ExperimentResult, grades: Grades, ranked: dict[str, RankedSystem]) -> dict[str, Any]:
    documents = DocumentList()
    tops = {name: [documents.indices_of(top) for top in one.tops] for name, one in ranked.items()}
    kept = _needed_judgements(results, grades, ranked)
    systems = [_system_json(system_run, ranked, tops[system_run.name], kept) for system_run in results.system_runs]
    for system, system_run in zip(systems, results.system_runs, strict=True):
        system["answers"] = answers_by_query(system_run, results.queries, documents)
    judged = {
        "counts": [len(docs) for docs in kept],
        "docs": [documents.index_of(doc) for docs in kept for doc in docs],
        "grades": [grade for docs in kept for grade in docs.values()],
    }
    return {
        "documents": documents.columns(results.snippets, results.titles),
        "judged": judged,
        "systems": systems,
        "references": references_by_query(results),
    }


def _needed_judgements(results: ExperimentResult, grades: Grades, ranked: dict[str, RankedSystem]) -> list[dict[str, int]]:
    """The judgements that the page needs, highest grade first: those worth something, and those of documents it shows."""
    least = min((1, results.rel, *(getattr(one, "least", 1) for one in all_measures(results).values())))
    kept = []
    for at, query in enumerate(results.queries):
        shown = {doc for one in ranked.values() for doc in one.tops[at]}
        ordered = sorted(grades[query].items(), key=lambda pair: (-pair[1], pair[0]))
        kept.append({doc: grade for doc, grade in ordered if grade >= least or doc in shown})
    return kept


def _system_json(
    system_run: SystemRun, ranked: dict[str, RankedSystem], tops: list[list[int]], kept: list[dict[str, int]]
) -> dict[str, Any]:
    """One system's rankings; `ranks` follow the judgements, `below` the tops: ranks in the system below; 0 for not retrieved."""
    own, below = ranked[system_run.name], ranked.get(system_run.baseline or "")
    return {
        "counts": [len(top) for top in tops],
        "docs": [doc for top in tops for doc in top],
        "retrieved": list(own.retrieved),
        "ranks": [ranks.get(doc, 0) for ranks, docs in zip(own.ranks, kept, strict=True) for doc in docs],
        "baseline_ranks": None if below is None else _baseline_ranks(own, below),
        "times": round_column(system_run.times["total"].tolist(), _TIME_DIGITS),
    }


def _baseline_ranks(own: RankedSystem, below: RankedSystem) -> list[int]:
    return [ranks.get(doc, 0) for top, ranks in zip(own.tops, below.ranks, strict=True) for doc in top]
