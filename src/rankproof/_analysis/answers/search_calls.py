"""The calls of search tools behind answers: the evidence that they found together, and what they took to find it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from rankproof._analysis.answers.answer_input import AnswerInput
from rankproof._analysis.compare.sessions import sessions_of
from rankproof._data.answers import SearchCall
from rankproof._data.table import CellValue, Column, Table
from rankproof._statistics.decision_rule import group_means
from rankproof._statistics.intervals import Interval, mean_interval

SEARCH_CALLS_TABLE = "search_calls"


@dataclass(frozen=True, slots=True)
class Trajectory:
    """The counts of one answer; those of evidence are None if no relevant document of its question is known.

    `wasted` calls returned no relevant document that an earlier call had not returned. `until`, `tokens` and
    `elapsed_ms` are the calls, tokens and time until all relevant documents were found, None where they were not, or not known.
    """

    calls: int
    repeated: int
    nothing_new: int
    evidence: float | None = None
    wasted: int | None = None
    until: int | None = None
    tokens: float | None = None
    elapsed_ms: float | None = None


def trajectory(searches: Sequence[SearchCall], relevant: frozenset[str], documents: Mapping[str, str]) -> Trajectory:
    """The counts of the calls for one answer; `documents` has the judged document of a passage with another id."""
    returned = [{documents.get(doc, doc) for doc in search.returned} for search in searches]
    seen: list[set[str]] = [set()]
    for docs in returned:
        seen.append(seen[-1] | docs)
    queries = [" ".join(search.query.casefold().split()) for search in searches]
    repeated = sum(bool(query) and query in queries[:at] for at, query in enumerate(queries))
    nothing_new = sum(before == after for before, after in pairwise(seen))
    if not relevant:
        return Trajectory(len(searches), repeated, nothing_new)
    wasted = sum(before & relevant == after & relevant for before, after in pairwise(seen))
    until = next((at for at, docs in enumerate(seen) if at and relevant <= docs), None)
    tokens, elapsed_ms = (searches[until - 1].tokens, searches[until - 1].elapsed_ms) if until else (None, None)
    evidence = len(seen[-1] & relevant) / len(relevant)
    return Trajectory(len(searches), repeated, nothing_new, evidence, wasted, until, tokens, elapsed_ms)


def search_calls_table(answer_input: AnswerInput, baseline: str | None, level: float = 0.95) -> Table | None:
    """A row for each system whose calls are known; None if no answer has more or less than one call.

    The difference of the evidence from the baseline is that of the questions of both systems; sessions are the unit.
    """
    by_system = {system: _trajectories(answer_input, system) for system in answer_input.answers}
    if all(made.calls == 1 for own in by_system.values() for repeats in own.values() for made in repeats):
        return None
    against = _evidence(by_system.get(baseline or "", {}))
    rows = []
    for system, own in by_system.items():
        difference = None if system == baseline else _difference(answer_input, _evidence(own), against, level)
        if own:
            rows.append((system, *_row([made for repeats in own.values() for made in repeats], difference)))
    columns = (
        *(Column("system"), Column("answers", "count", "answers of which the calls are known", 3)),
        Column("calls", "number", "mean calls for an answer"),
        Column("repeated", "share", "share of the calls whose query an earlier call for the answer had", 1),
        Column("nothing new", "share", "share of the calls that returned only passages of earlier calls, or none", 2),
        Column("evidence", "value", "mean share of the relevant documents that the calls for an answer found together"),
        Column(f"vs {baseline} ({level:.0%} CI)", "interval", f"evidence minus that of {baseline}, of the questions of both"),
        Column("wasted", "share", "share of the calls that returned no further relevant document"),
        Column("all found", "share", "share of the answers for which all relevant documents were found"),
        Column("calls until", "number", "mean calls until then"),
        Column("tokens until", "number", "mean tokens of the language model until then"),
        Column("ms until", "number", "mean milliseconds from the question until then"),
    )
    known = [at for at in range(len(columns)) if any(row[at] is not None for row in rows)]
    return Table(SEARCH_CALLS_TABLE, "Calls of search tools for an answer", columns, tuple(rows)).with_columns(known)


def _trajectories(answer_input: AnswerInput, system: str) -> dict[str, list[Trajectory]]:
    """Those of each question of which the calls are known, repeats after the first."""
    inputs, documents = answer_input.inputs, answer_input.judged_documents
    made: dict[str, list[Trajectory]] = {}
    for query, _, answer in answer_input.answers[system].with_repeats():
        if answer.searches is not None:
            relevant = frozenset(doc for doc, grade in inputs.qrels.get(query, {}).items() if grade >= inputs.rel)
            made.setdefault(query, []).append(trajectory(answer.searches, relevant, documents))
    return made


def _row(made: Sequence[Trajectory], difference: Interval | None) -> tuple[CellValue, ...]:
    calls, judged = sum(item.calls for item in made), [item for item in made if item.evidence is not None]
    judged_calls, complete = sum(item.calls for item in judged), [item for item in judged if item.until is not None]
    until = ([getattr(item, name) for item in complete] for name in ("until", "tokens", "elapsed_ms"))
    return (
        *(len(made), calls / len(made)),
        *(_ratio(sum(item.repeated for item in made), calls), _ratio(sum(item.nothing_new for item in made), calls)),
        *(_ratio(math.fsum(item.evidence or 0.0 for item in judged), len(judged)), difference),
        _ratio(sum(item.wasted or 0 for item in judged), judged_calls),
        _ratio(len(complete), len(judged)),
        *(None if None in values else _ratio(math.fsum(values), len(values)) for values in until),
    )


def _ratio(part: float, whole: int) -> float | None:
    return part / whole if whole else None


def _evidence(own: Mapping[str, Sequence[Trajectory]]) -> dict[str, float]:
    """The mean evidence of each question with a relevant document."""
    known = {query: [made.evidence for made in repeats if made.evidence is not None] for query, repeats in own.items()}
    return {query: math.fsum(values) / len(values) for query, values in known.items() if values}


def _difference(
    answer_input: AnswerInput, own: Mapping[str, float], against: Mapping[str, float], level: float
) -> Interval | None:
    both = [query for query in own if query in against]
    apart, weights = np.array([own[query] - against[query] for query in both]), None
    sessions = sessions_of(both, answer_input.inputs.texts)
    if sessions is not None:
        apart, weights = group_means(apart, None, np.unique(np.array(sessions), return_inverse=True)[1])
    return mean_interval(apart, level=level, weights=weights, within=(-1.0, 1.0)) if both else None
