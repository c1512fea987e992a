"""The data of the table of queries, as JSON for the script of the page."""

from __future__ import annotations

import json
import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from rankproof._analysis.inputs import input_from_results
from rankproof._analysis.query_groups import COMPLEXITY, by_length, group_queries
from rankproof._data.answers import NO_SEGMENT_FIELDS, Answer, References, references_from_queries
from rankproof._data.ordering import ranked_documents
from rankproof._data.qrels import highest_grade
from rankproof._data.run import Run
from rankproof._evaluation.claim_verdicts import matching_label
from rankproof._evaluation.result import MeasureResult, Result
from rankproof._report.claims import MAX_ANSWER_LENGTH, ClaimColumns, round_column, text_size, truncate, utf16_length
from rankproof._results.experiment_result import ExperimentResult, SystemRun
from rankproof.errors import InputError, UsageError
from rankproof.measures._base import Measure
from rankproof.measures._claim_base import judge_of_measure

SNIPPET_LENGTHS = (300, 240, 180, 120, 80, 50, 25, 0)
MAX_TEXT_SIZE = 6_000_000
MAX_FIELD_SIZE = 300_000


class DocumentList:
    """Documents in the order of their first use, by index."""

    def __init__(self) -> None:
        self._indices: dict[str, int] = {}

    def index_of(self, doc: str) -> int:
        """The index of the document, new or known."""
        return self._indices.setdefault(doc, len(self._indices))

    def indices_of(self, docs: Iterable[str]) -> list[int]:
        """The indices of several documents."""
        known = self._indices
        return [known.setdefault(doc, len(known)) for doc in docs]

    def columns(
        self,
        snippets: Mapping[str, str],
        titles: Mapping[str, int],
        urls: Mapping[str, str],
        fields: Mapping[str, Mapping[str, str]],
    ) -> dict[str, list[str] | list[int] | dict[str, list[str]]]:
        """The ids, the snippets, the UTF-16 lengths of the titles at their start, the URLs and the other fields by name.

        Snippets are cut and large fields left out so that the page stays small. There are no URLs if no document has one.
        """
        texts = [snippets.get(doc, "") for doc in self._indices]
        at = bisect_left(SNIPPET_LENGTHS, -MAX_TEXT_SIZE, key=lambda length: -text_size(texts, length))
        length = SNIPPET_LENGTHS[min(at, len(SNIPPET_LENGTHS) - 1)]
        title_lengths = [utf16_length(snippets.get(doc, "")[: titles.get(doc, 0)]) for doc in self._indices]
        addresses = [urls.get(doc, "") for doc in self._indices] if any(doc in urls for doc in self._indices) else []
        return {
            "ids": list(self._indices),
            "texts": [truncate(text, length) for text in texts],
            "titles": title_lengths,
            "urls": addresses,
            "fields": self._field_columns(fields),
        }

    def _field_columns(self, fields: Mapping[str, Mapping[str, str]]) -> dict[str, list[str]]:
        """The values of the most frequent fields that fit; an empty text where a document has none."""
        names = Counter(name for doc in self._indices for name in fields.get(doc, ()))
        columns, left = dict[str, list[str]](), MAX_FIELD_SIZE
        for name, _ in names.most_common():
            column = [fields.get(doc, {}).get(name, "") for doc in self._indices]
            if (size := text_size([name, *column], SNIPPET_LENGTHS[0])) <= left:
                columns[name] = column
                left -= size
        return columns


def answers_by_query(
    system_run: SystemRun, queries: tuple[str, ...], documents: DocumentList, claims: ClaimColumns
) -> list[dict[str, Any] | None] | None:
    """The answers of a system by query, with the checks of their claims; None for a system that does not answer."""
    answers = system_run.answers
    if answers is None:
        return None
    return [
        {**_answer_json(answers[query], documents), "checks": claims.of_answer(system_run.name, query, answers[query])}
        if query in answers
        else None
        for query in queries
    ]


def references_by_query(results: ExperimentResult, references: References) -> list[list[str] | None]:
    """The reference answers by query: empty if the query has no answer, None if there is no reference."""
    return [
        [truncate(text, MAX_ANSWER_LENGTH) for text in references[query].answers] if query in references else None
        for query in results.queries
    ]


def _answer_json(answer: Answer, documents: DocumentList) -> dict[str, Any]:
    return {
        "text": truncate(answer.text, MAX_ANSWER_LENGTH),
        "state": answer.state,
        "cited": documents.indices_of(answer.cited),
        "given": documents.indices_of(answer.given or ()),
    }


def _references(results: ExperimentResult) -> References:
    """The reference answers in the query fields; empty if the fields are malformed."""
    try:
        return references_from_queries(results.texts)
    except InputError:
        return References({})


ValueColumn = list[float | int | None]
EXPLAINED_MEASURES = frozenset(("nDCG", "DCG", "RR", "P", "R", "AP", "Success"))
"""The measures that the page explains; explorer-measures.js has a formula for each."""


def all_measures(results: ExperimentResult) -> dict[str, Measure]:
    """The measures of the rankings, then those of the answers."""
    return {
        name: measure.measure
        for result in (results.result, results.answers)
        if result is not None
        for system in result.systems
        for name, measure in system.measures.items()
    }


def measure_facts(measure: Measure, judges: Collection[str]) -> dict[str, Any]:
    """The properties of a measure that the script needs to name, sort and compute it; `judges` are the labels of all judges."""
    gain = measure.parameters().get("gain")
    judge = judge_of_measure(measure)
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
        "tables": list(getattr(measure, "tables", ())) if judge else [],
        "judge": None if judge is None else matching_label(judge, judges),
        "unit": getattr(measure, "unit", "sentence"),
    }


def measure_values(results: ExperimentResult, measures: list[str]) -> list[list[ValueColumn | None]]:
    """The values by system, measure and query; None if a system has no value of the measure."""
    return [[_value_column(results, system_run.name, name) for name in measures] for system_run in results.system_runs]


def _value_column(results: ExperimentResult, system: str, measure: str) -> ValueColumn | None:
    measured = _measure_result(results.result, system, measure) or _measure_result(results.answers, system, measure)
    if measured is None:
        return None
    values = measured.per_query
    return round_column(values.get(query) for query in results.queries)


def _measure_result(result: Result | None, system: str, measure: str) -> MeasureResult | None:
    systems = () if result is None else result.systems
    return next(
        (
            system_result.measures[measure]
            for system_result in systems
            if system_result.name == system and measure in system_result.measures
        ),
        None,
    )


def _has_unusable_gains(gain: object) -> bool:
    """Whether custom gains are negative or of grades below 1, which the page does not contain."""
    return isinstance(gain, tuple) and any(grade < 1 or value < 0 for grade, value in gain)


TOP_DEPTH = 10
Grades = Mapping[str, Mapping[str, int]]


@dataclass(frozen=True, slots=True)
class RankedSystem:
    """The top documents, the ranks of some documents and the number of retrieved ones of a system, by query, and its run."""

    tops: tuple[tuple[str, ...], ...]
    ranks: tuple[Mapping[str, int], ...]
    retrieved: tuple[int, ...]
    run: Run | None


Compared = Mapping[str, str]  # System to the system that its rankings are compared with.


def compared_systems(results: ExperimentResult, pairs: Mapping[str, tuple[str, str]]) -> Compared:
    """The systems of the pairs; without pairs, each system with the one that it builds on, else the baseline."""
    if pairs:
        return dict(pairs.values())
    return {run.name: other for run in results.system_runs if (other := results.compared_with(run)) is not None}


def ranked_systems(results: ExperimentResult, grades: Grades, compared: Compared) -> dict[str, RankedSystem]:
    """The rankings of every system, with ranks of judged documents and of the top of the systems that it is compared with."""
    orders = {system_run.name: _ranked_documents(results, system_run.stored_run) for system_run in results.system_runs}
    tops = {name: tuple(docs[:TOP_DEPTH] for docs in order) for name, order in orders.items()}
    compared_tops = {name: [tops[other] for other in _both_ways(compared, name)] for name in orders}
    return {
        name: RankedSystem(
            tops[name],
            tuple(map(_ranks, orders[name], _ranked_subset(results, grades, compared_tops[name]))),
            tuple(map(len, orders[name])),
            results.system_run(name).stored_run,
        )
        for name in orders
    }


def _both_ways(compared: Compared, name: str) -> list[str]:
    """The system that a system is compared with, and those that are compared with it."""
    return [other for pair in compared.items() if name in pair for other in pair if other != name]


def _ranked_subset(
    results: ExperimentResult, grades: Grades, compared_tops: list[tuple[tuple[str, ...], ...]]
) -> Iterator[set[str]]:
    for at, query in enumerate(results.queries):
        yield set(grades[query]).union(*(tops[at] for tops in compared_tops))


def _ranks(docs: tuple[str, ...], wanted: set[str]) -> dict[str, int]:
    return {doc: rank for rank, doc in enumerate(docs, 1) if doc in wanted}


def _ranked_documents(results: ExperimentResult, run: Run | None) -> list[tuple[str, ...]]:
    """The measured documents of the run for each query, best first; empty for a query that the run lacks."""
    rankings = {} if run is None else ranked_documents(run)
    measured = {query: tuple(results.measured_docs(query, docs)) for query, docs in rankings.items()}
    return [measured.get(query, ()) for query in results.queries]


MAX_SEGMENT_VALUES = 40


def segment_columns(results: ExperimentResult) -> list[dict[str, Any]]:
    """Each field, the length and the groups of judged queries, with values and the index of that of every query, -1 for none."""
    inputs = input_from_results(results, needs_judgements=False)
    groups = by_length(replace(inputs, result=replace(inputs.result, queries=results.queries))).segments
    columns: dict[str, Mapping[str, str]] = {name: _segment_values(results, name) for name in _segment_fields(results)}
    columns["length"] = {query: name for name, queries in groups.items() for query in queries}
    for by in ("relevant", COMPLEXITY) if results.is_judged else ():
        with suppress(UsageError):
            columns[by] = {query: name for name, queries in group_queries(inputs, by).segments.items() for query in queries}
    return [
        _encode_segments(results, name, column)
        for name, column in columns.items()
        if 1 < len(set(column.values())) <= MAX_SEGMENT_VALUES
    ]


def _segment_fields(results: ExperimentResult) -> list[str]:
    names = {name for query in results.queries if query in results.texts for name in results.texts[query].fields}
    return sorted(names - NO_SEGMENT_FIELDS, key=lambda name: (name != "category", name))


def _segment_values(results: ExperimentResult, name: str) -> dict[str, str]:
    words = ((query, _segment_name(results.texts[query].fields.get(name))) for query in results.queries if query in results.texts)
    return {query: word for query, word in words if word is not None}


def _segment_name(value: object) -> str | None:
    if isinstance(value, str):
        return value if value.strip() else None
    return json.dumps(value) if isinstance(value, bool | int | float) else None


def _encode_segments(results: ExperimentResult, name: str, column: Mapping[str, str]) -> dict[str, Any]:
    values = sorted(set(column.values()))
    indices = {value: at for at, value in enumerate(values)}
    return {
        "name": name,
        "values": values,
        "of": [indices[column[query]] if query in column else -1 for query in results.queries],
    }


_MAX_QUERY_LENGTH = 1_000
_MAX_SCORED, _SCORE_DIGITS = 2_000, 4
"""With more rankings than this, the page has no scores; else they have so many digits."""
_TIME_DIGITS = 3


def explorer_blocks(
    results: ExperimentResult,
    pairs: Mapping[str, tuple[str, str]] | None = None,
    shown: tuple[str, str] | None = None,
) -> dict[str, dict[str, Any]]:
    """`data` for the table, and `details` for an open query; docs/report.md describes their format.

    `pairs` are systems after and before a change, by name; the first is shown first, the largest difference on top. `shown` are
    the systems A and B of the first view.
    """
    grades = {
        query: {doc: grade for doc, grade in results.qrels.get(query, {}).items() if grade >= 0} for query in results.queries
    }
    compared = compared_systems(results, pairs or {})
    ranked = ranked_systems(results, grades, compared)
    return {
        "data": {**_table(results, grades, ranked, compared), **_start(results, shown), **_paired(results, pairs or {})},
        "details": _details(results, grades, ranked, compared, with_left=bool(pairs)),
    }


def _start(results: ExperimentResult, shown: tuple[str, str] | None) -> dict[str, Any]:
    """The first view of the table: A and B alone, the other systems on demand; nothing without them."""
    if shown is None:
        return {}
    a, b = ([run.name for run in results.system_runs].index(name) for name in shown)
    return {"start": {"a": a, "b": b, "systems": sorted({a, b})}}


def _paired(results: ExperimentResult, pairs: Mapping[str, tuple[str, str]]) -> dict[str, Any]:
    """The pairs of systems by index, and the first view of the table; nothing without pairs."""
    at = {system_run.name: place for place, system_run in enumerate(results.system_runs)}
    indexed = [{"name": name, "a": at[after], "b": at[before]} for name, (after, before) in pairs.items()]
    if not indexed:
        return {}
    a, b = indexed[0]["a"], indexed[0]["b"]
    return {"pairs": indexed, "start": {"a": a, "b": b, "systems": sorted([a, b]), "sort": "gap", "down": True}}


def _table(results: ExperimentResult, grades: Grades, ranked: dict[str, RankedSystem], compared: Compared) -> dict[str, Any]:
    measures, judges = all_measures(results), dict.fromkeys(claim.judge for claim in results.claims)
    indices = {system_run.name: at for at, system_run in enumerate(results.system_runs)}
    texts = [
        truncate(results.texts[query].text, _MAX_QUERY_LENGTH) if query in results.texts else "" for query in results.queries
    ]
    is_ranked = any(run.stored_run is not None and len(run.stored_run.docs) for run in results.system_runs)
    return {
        "top": TOP_DEPTH,
        "judged": results.is_judged or (is_ranked and bool(results.qrels)),
        "ranked": is_ranked,
        "rel": results.rel,
        "highest": highest_grade(grades) or 0,
        "systems": [{"name": name, "compared": indices[compared[name]] if name in compared else None} for name in indices],
        "measures": [measure_facts(measure, judges) for measure in measures.values()],
        "queries": {"ids": list(results.queries), "texts": texts},
        "segments": segment_columns(results),
        "values": measure_values(results, list(measures)),
        "first": [_first_relevant_ranks(results, grades, system) for system in ranked.values()],
        "unjudged": [_unjudged_counts(results, grades, system) for system in ranked.values()],
    }


def _first_relevant_ranks(results: ExperimentResult, grades: Grades, ranked: RankedSystem) -> list[int]:
    """The rank of the first relevant document of each query, 0 if none was retrieved."""
    return [
        min((rank for doc, rank in ranks.items() if grades[query].get(doc, -1) >= results.rel), default=0)
        for query, ranks in zip(results.queries, ranked.ranks, strict=True)
    ]


def _unjudged_counts(results: ExperimentResult, grades: Grades, ranked: RankedSystem) -> list[int]:
    return [len(top) - len(grades[query].keys() & top) for query, top in zip(results.queries, ranked.tops, strict=True)]


def _details(
    results: ExperimentResult, grades: Grades, ranked: dict[str, RankedSystem], compared: Compared, *, with_left: bool
) -> dict[str, Any]:
    documents = DocumentList()
    tops = {name: [documents.indices_of(top) for top in ranked_system.tops] for name, ranked_system in ranked.items()}
    least = _least_counted(results)
    judgements = _needed_judgements(results, grades, ranked, least)
    others = [ranked[compared[run.name]] if run.name in compared else None for run in results.system_runs]
    counted = [{doc: grade for doc, grade in docs.items() if grade >= least} for docs in judgements]
    scored = results.queries if len(results.queries) * len(ranked) <= _MAX_SCORED else ()
    systems = [
        _system_json(run, ranked[run.name], other, tops[run.name], counted, scored)
        for run, other in zip(results.system_runs, others, strict=True)
    ]
    references = _references(results)
    claims = ClaimColumns(results, references)
    for system, system_run, other in zip(systems, results.system_runs, others, strict=True):
        if with_left:
            system["left_ranks"] = None if other is None else _other_ranks(other, ranked[system_run.name])
        system["answers"] = answers_by_query(system_run, results.queries, documents, claims)
    judged = {
        "counts": [len(docs) for docs in judgements],
        "ranked": [sum(grade >= least for grade in docs.values()) for docs in judgements],
        "docs": [documents.index_of(doc) for docs in judgements for doc in docs],
        "grades": [grade for docs in judgements for grade in docs.values()],
    }
    return {
        "documents": documents.columns(
            {**results.contexts, **results.snippets}, results.titles, results.urls, results.document_fields
        ),
        "judged": judged,
        "systems": systems,
        "references": references_by_query(results, references),
        "claims": claims.shared(),
    }


def _least_counted(results: ExperimentResult) -> int:
    """The lowest grade that a measure can count."""
    return min((1, results.rel, *(getattr(measure, "least", 1) for measure in all_measures(results).values())))


def _needed_judgements(
    results: ExperimentResult, grades: Grades, ranked: dict[str, RankedSystem], least: int
) -> list[dict[str, int]]:
    """The judgements that the page needs, highest grade first: documents with the least grade, and the documents it shows."""
    needed = []
    for at, query in enumerate(results.queries):
        shown = {doc for system in ranked.values() for doc in system.tops[at]}
        ordered = sorted(grades[query].items(), key=lambda pair: (-pair[1], pair[0]))
        needed.append({doc: grade for doc, grade in ordered if grade >= least or doc in shown})
    return needed


def _system_json(
    system_run: SystemRun,
    own: RankedSystem,
    other: RankedSystem | None,
    tops: list[list[int]],
    judgements: list[dict[str, int]],
    queries: tuple[str, ...],
) -> dict[str, Any]:
    """The rankings of a system: `ranks` of the judged documents that a measure can count; 0 if not retrieved.

    `compared_ranks` are those of its top documents in the system that it is compared with. `scores` are those of its top
    documents, None with many queries, which would make the page too large; then `queries` is empty.
    """
    return {
        "counts": [len(top) for top in tops],
        "docs": [doc for top in tops for doc in top],
        "scores": _top_scores(own, queries),
        "retrieved": list(own.retrieved),
        "ranks": [ranks.get(doc, 0) for ranks, docs in zip(own.ranks, judgements, strict=True) for doc in docs],
        "compared_ranks": None if other is None else _other_ranks(own, other),
        "times": round_column(_query_times(system_run), _TIME_DIGITS),
    }


def _top_scores(ranked: RankedSystem, queries: tuple[str, ...]) -> list[float] | None:
    """The scores of the top documents, query by query."""
    if ranked.run is None or not queries:
        return None
    run, spans = ranked.run, dict(zip(ranked.run.queries, pairwise(ranked.run.offsets.tolist()), strict=True))
    scores: list[float] = []
    for query, top in zip(queries, ranked.tops, strict=True):
        start, end = spans.get(query, (0, 0))
        known = dict(zip(run.docs[start:end], run.scores[start:end].tolist(), strict=True))
        scores += [float(f"{known[doc]:.{_SCORE_DIGITS}g}") for doc in top]
    return scores


def _query_times(system_run: SystemRun) -> list[float | None]:
    """The total time of each query, None for one that was not timed; empty for a system without times."""
    times = system_run.times["total"].tolist() if system_run.times else []
    return [None if math.isnan(time) else time for time in times]


def _other_ranks(own: RankedSystem, other: RankedSystem) -> list[int]:
    """The ranks of the top documents of a system in the ranking of another."""
    return [ranks.get(doc, 0) for top, ranks in zip(own.tops, other.ranks, strict=True) for doc in top]
