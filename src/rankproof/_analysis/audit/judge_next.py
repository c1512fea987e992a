"""Unjudged pairs to judge next: those whose grade is expected to change the risks of the decision most.

The chance of each grade comes from judged pairs that the systems rank alike. Each grade changes the mean of each system, and the
means change the risks to first order: the differences are shifted, and their errors stay as they are. The expected
change is the mean over the systems of the expected absolute change of their risk. Another order is the largest possible effect.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter
from typing import Literal

import numpy as np

from rankproof._align.hits import Hits
from rankproof._analysis.audit.rearranged import Rearrangement, judged_query_hits, rearranged_values, values_with_document
from rankproof._analysis.audit.unjudged import UnjudgedDocuments, is_judged, top_grade
from rankproof._analysis.compare.decision_data import system_costs
from rankproof._analysis.compare.joined_values import common_values
from rankproof._analysis.decision.decide import DecisionData, margin_amount
from rankproof._analysis.inputs import AnalysisInput
from rankproof._analysis.values import EMPTY_LIST, TIE_TOLERANCE, RankedList, measure_result, query_counts
from rankproof._data.arrays import FloatArray, IntArray
from rankproof._data.table import CellValue, Column, Table, TableSummary
from rankproof._data.text import format_difference, pluralise
from rankproof._statistics.decision_rule import Margin, pair_estimates, parse_margin, risks
from rankproof.errors import UsageError, for_message
from rankproof.measures._base import BinaryMeasure, Measure, discounts

MAX_DEPTH = 100
_LEAST_CHANGE = 1e-6
"""A smaller expected change of a risk counts as none."""
PairOrder = Literal["risk", "effect"]
"""By the expected change of the decision's risk, or by the largest possible change of a difference of two means."""


@dataclass(frozen=True, eq=False, slots=True)
class UnjudgedPairs:
    """Unjudged pairs, their possible grades, and the change of each system's mean (grade x system x pair)."""

    pairs: tuple[tuple[str, str], ...]
    grades: tuple[int, ...]
    changes: FloatArray

    @property
    def spreads(self) -> FloatArray:
        """The largest change of a difference of two means (or of the one mean) by each grade of each pair."""
        if self.changes.shape[1] == 1:
            return np.asarray(np.abs(self.changes[:, 0]))
        return np.asarray(self.changes.max(axis=1) - self.changes.min(axis=1))

    @property
    def spread(self) -> FloatArray:
        """The largest change by any grade of each pair."""
        return np.asarray(self.spreads.max(axis=0))

    @property
    def strongest(self) -> IntArray:
        """The index of each pair's grade with the largest change, the lowest of equal ones."""
        return np.asarray(np.argmax(self.spreads, axis=0))


def grades_for(unjudged_docs: UnjudgedDocuments, measure: Measure) -> tuple[int, ...]:
    """The possible grades of a pair up to the highest in use; two for a binary measure."""
    highest = max(hits.judged.highest for hits in unjudged_docs.hits.values())
    if isinstance(measure, BinaryMeasure):
        return (0, top_grade(measure, highest))
    return tuple(range(max(highest, 1) + 1))


def unjudged_pairs(unjudged_docs: UnjudgedDocuments, measure: Measure) -> UnjudgedPairs:
    """Every unjudged pair within the cutoff of a system, sorted by query and id."""
    depth = min(getattr(measure, "cutoff", None) or MAX_DEPTH, MAX_DEPTH)
    pairs = [
        (query, doc)
        for query, unjudged in unjudged_docs.docs.items()
        for doc in sorted(
            unjudged & {doc for list_ in unjudged_docs.lists.values() if query in list_ for doc in list_[query].docs[:depth]}
        )
    ]
    grades, systems = grades_for(unjudged_docs, measure), unjudged_docs.inputs.systems
    changes = np.array([_changes(unjudged_docs, measure, system, pairs, grades) for system in systems])
    return UnjudgedPairs(tuple(pairs), grades, changes.reshape(len(systems), len(grades), len(pairs)).transpose(1, 0, 2))


def _ranks(lists: Mapping[str, RankedList], pairs: Iterable[tuple[str, str]]) -> list[int]:
    """The rank of each pair, 0 where the system did not retrieve it; pairs of one query are faster side by side."""
    ranks: list[int] = []
    for query, same in groupby(pairs, key=itemgetter(0)):
        docs = lists.get(query, EMPTY_LIST).docs
        places = dict(zip(docs, range(1, len(docs) + 1), strict=True))
        ranks += (places.get(doc, 0) for _, doc in same)
    return ranks


def _changes(
    unjudged_docs: UnjudgedDocuments, measure: Measure, system: str, pairs: Sequence[tuple[str, str]], grades: Sequence[int]
) -> FloatArray:
    """The change of the system's mean by each grade of each pair; a query missing from the run stays 0."""
    hits = unjudged_docs.hits[system]
    index = {query: at for at, query in enumerate(hits.queries)}
    queries = np.fromiter((index[query] for query, _ in pairs), np.int64, len(pairs))
    ranks = np.array(_ranks(unjudged_docs.lists[system], pairs), dtype=np.int64)
    # A document changes the value by its rank alone: those of a query that the system did not retrieve change it alike.
    width = int(ranks.max(initial=0)) + 1
    places, rows = np.unique(queries * width + ranks, return_inverse=True)
    before = measure.values(hits)[queries]
    weights = unjudged_docs.inputs.result.weights
    by_query = np.array([1.0 if weights is None else weights.get(query, 0.0) for query in hits.queries])
    share = by_query[queries] / (by_query[unjudged_docs.in_summary(system)].sum() or 1.0)
    if not len(pairs):
        return np.zeros((len(grades), 0))
    after = (values_with_document(measure, hits, places // width, places % width, grade)[rows] for grade in grades)
    return np.array([(values - before) * share for values in after])


def hits_with_grades(hits: Hits, query: int, documents: Sequence[tuple[int | None, int]]) -> Rearrangement:
    """The query's hits if documents had these grades, given their ranks; None for a document that was not retrieved."""
    ranks, grades = judged_query_hits(hits, query)
    places = [(rank, grade) for rank, grade in documents if rank is not None]
    new = np.array(places, dtype=np.int64).reshape(-1, 2)
    more = np.array([grade for _, grade in documents], dtype=np.int64)
    return Rearrangement(query, np.concatenate((ranks, new[:, 0])), np.concatenate((grades, new[:, 1])), more)


@dataclass(frozen=True, eq=False, slots=True)
class _PossibleChanges:
    """Means and possible changes (grade x system x pair), with signs such that higher is better."""

    unjudged_docs: UnjudgedDocuments
    measure: Measure
    found: UnjudgedPairs
    means: FloatArray
    gains: FloatArray
    risks: FloatArray | None = None


def has_pair_changes(measure: Measure) -> bool:
    """Whether the effect of one pair on the summary is known, which holds for means without subtopics."""
    return measure.summary == "mean" and not measure.needs_subtopics


def judge_next(unjudged_docs: UnjudgedDocuments, name: str, count: int, order: PairOrder = "risk") -> Table:
    """The first `count` unjudged pairs by an order under one measure; without a risk, by effect."""
    inputs = unjudged_docs.inputs
    measure = inputs.result.systems[0].measures[name].measure
    if not has_pair_changes(measure):
        what = "needs grades for subtopics" if measure.needs_subtopics else "is not a mean over queries"
        raise UsageError(f"{name} {what}", fix="choose a mean as the first measure, such as -m nDCG@10")
    unjudged, sign = unjudged_pairs(unjudged_docs, measure), -1.0 if measure.higher_is_better is False else 1.0
    means = np.array([measure_result(inputs, system, name).value for system in inputs.systems])
    risks = risk_changes(unjudged_docs, unjudged, measure)
    changes = _PossibleChanges(unjudged_docs, measure, unjudged, sign * means, sign * unjudged.changes, risks)
    first = ordered_pairs(unjudged, None if order == "effect" else risks)[:count].tolist()
    counts = query_counts(inputs)
    return Table(
        name="audit-judge-next",
        title=f"{len(first)} pairs to judge next ({name}, {counts})",
        columns=_COLUMNS,
        rows=tuple(_row(changes, at) for at in first),
        sentences=(*_sentences(changes, first), *_risk_sentence(changes, order), *counts.describe),
        facts={
            **counts.facts,
            **{"measure": name, "grades": list(unjudged.grades), "unjudged_pairs": len(unjudged.pairs)},
            "order": "effect" if risks is None else order,
        },
        summary=TableSummary(
            ("query", "document", "risk change", "could change", "with grade", "for", "against"), tuple(range(len(first)))
        ),
        verdict_first=True,
    )


def ordered_pairs(unjudged: UnjudgedPairs, risks: FloatArray | None) -> IntArray:
    """The indexes of the pairs by the expected change of risks, equal and negligible ones by the largest effect."""
    by_risk = np.zeros(len(unjudged.pairs)) if risks is None else np.where(risks >= _LEAST_CHANGE, risks, 0.0)
    return np.asarray(np.lexsort((-unjudged.spread, -by_risk)))


_COLUMNS = (
    Column("query"),
    Column("document"),
    Column("risk change", "value", "expected change of a system's risk, mean over the systems"),
    Column("could change", "value", "largest possible change of a difference between two systems' means"),
    Column("with grade", "count", "the grade that causes the largest change"),
    Column("for", about="the system that gains most"),
    Column("against", about="the system that gains least"),
    Column("new winner", "flag", "whether a grade of this pair alone makes another system the best"),
    Column("ranks", about="rank in each system"),
)


def _row(possible: _PossibleChanges, at: int) -> tuple[CellValue, ...]:
    systems, unjudged = possible.unjudged_docs.inputs.systems, possible.found
    strongest = int(unjudged.strongest[at])
    gains = possible.gains[strongest, :, at]
    query, doc = unjudged.pairs[at]
    where = ", ".join(f"{for_message(system)} {rank}" for system, rank in _places(possible.unjudged_docs, query, doc))
    up, down = systems[int(np.argmax(gains))], systems[int(np.argmin(gains))]
    risk = None if possible.risks is None else float(possible.risks[at])
    return (query, doc, risk, float(unjudged.spread[at]), unjudged.grades[strongest], up, down, _new_winner(possible, at), where)


def _risk_sentence(possible: _PossibleChanges, order: PairOrder) -> Iterator[str]:
    if order == "risk" and possible.risks is not None and len(possible.found.pairs):
        yield "The pairs are ordered by how much a grade is expected to change the risks of the systems."


def _new_winner(possible: _PossibleChanges, at: int) -> bool:
    """Whether a grade of the pair makes another system the best."""
    means = possible.means
    leads = means >= means.max() - TIE_TOLERANCE
    after = means + possible.gains[:, :, at]
    return bool(not leads.all() and (after[:, ~leads].max(axis=1) > after[:, leads].max(axis=1) + TIE_TOLERANCE).any())


def _places(unjudged_docs: UnjudgedDocuments, query: str, doc: str) -> list[tuple[str, int]]:
    lists = ((system, list_[query].docs) for system, list_ in unjudged_docs.lists.items() if query in list_)
    return [(system, docs.index(doc) + 1) for system, docs in lists if doc in docs]


def _sentences(possible: _PossibleChanges, order: list[int]) -> tuple[str, ...]:
    unjudged, means = possible.found, possible.means
    if not len(unjudged.pairs):
        return ("All documents within the cutoff are judged.",)
    what = f"{len(unjudged.pairs)} pairs within the cutoff are unjudged; each could have any grade up to {unjudged.grades[-1]}."
    if len(means) < 2:
        return (what,)
    first, second = np.argsort(-means, kind="stable")[:2].tolist()
    best, next_one = (for_message(possible.unjudged_docs.inputs.systems[at]) for at in (first, second))
    lead = float(means[first] - means[second])
    now = f"{best} and {next_one} tie" if lead <= TIE_TOLERANCE else f"{best} leads {next_one} by {format_difference(lead)}"
    favour = possible.gains[:, second] - possible.gains[:, first]
    helpful = {
        unjudged.pairs[at]: unjudged.grades[int(np.argmax(favour[:, at]))] for at in order if favour[:, at].max() > TIE_TOLERANCE
    }
    if not helpful:
        return (what, f"{now}; no listed pair favours {next_one}.")
    lead = _lead_after(possible, (first, second), helpful)
    after = (
        f"{next_one} would lead by {format_difference(-lead)}"
        if lead < -TIE_TOLERANCE
        else f"{best} would still lead by {format_difference(lead)}"
    )
    after = "they would tie" if abs(lead) <= TIE_TOLERANCE else after
    return (what, f"{now}; if {pluralise(len(helpful), 'listed pair')} had the grade that favours {next_one} most, {after}.")


def _lead_after(possible: _PossibleChanges, systems: tuple[int, int], grades: dict[tuple[str, str], int]) -> float:
    """The lead of the first system over the second if all these pairs had these grades."""
    unjudged_docs, measure = possible.unjudged_docs, possible.measure
    by_query: dict[str, dict[str, int]] = {}
    for (query, doc), grade in grades.items():
        by_query.setdefault(query, {})[doc] = grade
    summaries = []
    for place in systems:
        system = unjudged_docs.inputs.systems[place]
        hits = unjudged_docs.hits[system]
        ranks = dict(zip(grades, _ranks(unjudged_docs.lists[system], grades), strict=True))
        graded = [
            hits_with_grades(hits, at, [(ranks[name, doc] or None, grade) for doc, grade in by_query.get(name, {}).items()])
            for at, name in enumerate(hits.queries)
        ]
        values = rearranged_values(measure, hits, graded)[unjudged_docs.in_summary(system)]
        summaries.append(
            measure.summarise(values, next(iter(unjudged_docs.inputs.result.systems[place].measures.values())).weights)
        )
    lead = summaries[0] - summaries[1]
    return -lead if measure.higher_is_better is False else lead


_LEAST_STEP = 1e-6
_GROUPS, _PER_GROUP = 10, 20
"""The largest number of groups of judged pairs, and the fewest judged pairs in one."""
_PRIOR = 2.0
"""Each group counts so many further pairs with the grades of all judged pairs."""


def risk_changes(unjudged_docs: UnjudgedDocuments, unjudged: UnjudgedPairs, measure: Measure) -> FloatArray | None:
    """The expected change of the risks by the grade of each pair; None with one system or one query, which have no risk."""
    inputs = unjudged_docs.inputs
    data = decision_data(inputs, measure)
    if len(data.systems) < 2 or len(data.values) < 2:
        return None
    margin = inputs.decision_settings.margin
    slopes = risk_slopes(data, None if margin is None else parse_margin(margin, is_fraction=measure.is_fraction))
    sign = -1.0 if data.is_lower_better else 1.0
    moved = np.abs(np.einsum("rs,gsp->grp", sign * slopes.by_mean, unjudged.changes)).mean(axis=1)
    return np.asarray((grade_chances(unjudged_docs, unjudged, measure) * moved).sum(axis=0))


def decision_data(inputs: AnalysisInput, measure: Measure) -> DecisionData:
    """What the decision by a measure is made of, without failed queries."""
    joined = common_values(inputs.result, [str(measure)])
    return DecisionData(measure, joined.systems, joined.values[0], joined.weights, system_costs(inputs))


def grade_chances(unjudged_docs: UnjudgedDocuments, unjudged: UnjudgedPairs, measure: Measure) -> FloatArray:
    """The chance of each grade (row) for each unjudged pair (column).

    Judged pairs are put into up to ten groups of equal size by the mean over the systems of 1 / log2(rank + 1), which is 0 where
    a system did not retrieve the document. A pair has the shares of grades of its group. If no judged pair has a grade that
    counts as not relevant, unjudged pairs count as such: then the judgements only list what is relevant.
    """
    depth = min(getattr(measure, "cutoff", None) or MAX_DEPTH, MAX_DEPTH)
    qrels, place_of = unjudged_docs.inputs.qrels, _grade_places(unjudged.grades, measure)
    asked = {query: [doc for _, doc in pairs] for query, pairs in groupby(unjudged.pairs, key=itemgetter(0))}
    # Arrays of numbers: the documents of all queries would take more memory than the runs.
    judged_discounts, judged_places, wanted = array("d"), array("q"), array("d")
    for query in (*asked, *(query for query in unjudged_docs.docs if query not in asked)):
        grades, mean_discounts = qrels[query], _mean_discounts(unjudged_docs, query, depth)
        wanted.extend(mean_discounts.get(doc, 0.0) for doc in asked.get(query, ()))
        for doc, discount in mean_discounts.items():
            if is_judged(grades, doc):
                judged_discounts.append(discount)
                judged_places.append(place_of[grades[doc]])
    # Judgements that list only relevant documents say nothing about the chance of a document that is not.
    if 0 not in judged_places:
        judged_discounts.extend(wanted)
        judged_places.extend([0] * len(wanted))
    seen, places = np.array(judged_discounts, np.float64), np.array(judged_places, np.int64)
    return _shares(seen, places, np.array(wanted, np.float64), len(unjudged.grades))


def _mean_discounts(unjudged_docs: UnjudgedDocuments, query: str, depth: int) -> dict[str, float]:
    """How high the systems rank each document of a query, on average."""
    by_rank, mean_discounts = discounts(np.arange(1, depth + 1)).tolist(), dict[str, float]()
    for lists in unjudged_docs.lists.values():
        if query in lists:
            for doc, discount in zip(lists[query].docs[:depth], by_rank, strict=False):
                mean_discounts[doc] = mean_discounts.get(doc, 0.0) + discount / len(unjudged_docs.lists)
    return mean_discounts


def _grade_places(grades: Sequence[int], measure: Measure) -> dict[int, int]:
    """The row of each grade of the judgements; for a binary measure, not relevant and relevant."""
    every = range(max(grades) + 1)
    if isinstance(measure, BinaryMeasure):
        return {grade: int(grade >= measure.least) for grade in every}
    return {grade: grade for grade in every}


def _shares(seen: FloatArray, places: IntArray, wanted: FloatArray, grades: int) -> FloatArray:
    """The smoothed shares of grades in the group of each wanted value."""
    overall = np.bincount(places, minlength=grades) / max(len(places), 1)
    groups = min(_GROUPS, max(1, len(seen) // _PER_GROUP))
    edges = np.quantile(seen, np.linspace(0, 1, groups + 1)[1:-1]) if groups > 1 else np.zeros(0)
    own, asked = np.searchsorted(edges, seen), np.searchsorted(edges, wanted)
    shares = np.empty((groups, grades))
    for group in range(groups):
        inside = places[own == group]
        shares[group] = (np.bincount(inside, minlength=grades) + _PRIOR * overall) / (len(inside) + _PRIOR)
    return np.asarray(shares[asked].T)


@dataclass(frozen=True, eq=False, slots=True)
class RiskSlopes:
    """The risk of each system, and how fast it (row) changes with the mean of each system (column)."""

    risks: FloatArray
    by_mean: FloatArray


def risk_slopes(data: DecisionData, margin: Margin | None = None) -> RiskSlopes:
    """How the risks depend on the means, which are oriented so that higher is better.

    A slope is the difference of the risk when a mean is half a standard error higher and lower.
    """
    values = data.oriented(data.values)
    estimates = pair_estimates(values, data.weights)
    amount = max(margin_amount(margin, float(values.mean(axis=0).max()), data.measure), _LEAST_STEP)
    apart = ~np.eye(len(data.systems), dtype=bool)
    step = max(float(np.median(estimates.errors[apart])) / 2, _LEAST_STEP)

    def shifted(by: FloatArray) -> FloatArray:
        return risks(replace(estimates, differences=estimates.differences + by[:, None] - by), amount).risk

    steps = step * np.eye(len(data.systems))
    by_mean = np.column_stack([(shifted(up) - shifted(-up)) / (2 * step) for up in steps])
    return RiskSlopes(shifted(np.zeros(len(data.systems))), by_mean)
