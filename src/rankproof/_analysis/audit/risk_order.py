"""How much the grade of an unjudged pair is expected to change the risks of the decision.

The chance of each grade comes from judged pairs that the systems rank alike. Each grade changes the mean of each system, and the
means change the risks to first order: the draws of the decision are shifted, and their spread stays as it is. The expected
change is the mean over the systems of the expected absolute change of their risk.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from rankproof._analysis.audit.judge_next import MAX_DEPTH, UnjudgedPairs
from rankproof._analysis.audit.unjudged import UnjudgedDocuments, is_judged
from rankproof._analysis.compare.decision_data import system_costs
from rankproof._analysis.compare.joined_values import common_values
from rankproof._analysis.decision import MARGIN, DecisionData, risk_slopes
from rankproof._analysis.inputs import AnalysisInput
from rankproof._data.arrays import FloatArray, IntArray
from rankproof.measures._base import BinaryMeasure, Measure, discounts

_GROUPS, _PER_GROUP = 10, 20
"""The largest number of groups of judged pairs, and the fewest judged pairs in one."""
_PRIOR = 2.0
"""Each group counts so many further pairs with the grades of all judged pairs."""


def risk_changes(unjudged_docs: UnjudgedDocuments, found: UnjudgedPairs, measure: Measure) -> FloatArray | None:
    """The expected change of the risks by the grade of each pair; None with one system or one query, which have no risk."""
    inputs = unjudged_docs.inputs
    data = decision_data(inputs, measure)
    if len(data.systems) < 2 or len(data.values) < 2:
        return None
    slopes = risk_slopes(data, margin=inputs.decision_settings.margin or MARGIN)
    moved = np.abs(np.einsum("rs,gsp->grp", data.sign * slopes.by_mean, found.changes)).mean(axis=1)
    return np.asarray((grade_chances(unjudged_docs, found, measure) * moved).sum(axis=0))


def decision_data(inputs: AnalysisInput, measure: Measure) -> DecisionData:
    """What the decision by a measure is made of, without failed queries."""
    joined = common_values(inputs.result, [str(measure)])
    return DecisionData(measure, joined.systems, joined.values[0], joined.weights, system_costs(inputs))


def grade_chances(unjudged_docs: UnjudgedDocuments, found: UnjudgedPairs, measure: Measure) -> FloatArray:
    """The chance of each grade (row) for each unjudged pair (column).

    Judged pairs are put into up to ten groups of equal size by the mean over the systems of 1 / log2(rank + 1), which is 0 where
    a system did not retrieve the document. A pair has the shares of grades of its group. If no judged pair has a grade that
    counts as not relevant, unjudged pairs count as such: then the judgements only list what is relevant.
    """
    depth = min(getattr(measure, "cutoff", None) or MAX_DEPTH, MAX_DEPTH)
    agreed = {query: _mean_discounts(unjudged_docs, query, depth) for query in unjudged_docs.docs}
    judged = list(_judged(unjudged_docs, agreed, _grade_places(found.grades, measure)))
    wanted = np.array([agreed[query].get(doc, 0.0) for query, doc in found.pairs])
    if not any(place == 0 for _, place in judged):
        judged += [(seen, 0) for seen in wanted.tolist()]
    seen = np.array([one for one, _ in judged], dtype=np.float64)
    places = np.array([place for _, place in judged], dtype=np.int64)
    return _shares(seen, places, wanted, len(found.grades))


def _mean_discounts(unjudged_docs: UnjudgedDocuments, query: str, depth: int) -> dict[str, float]:
    """How high the systems rank each document of a query, on average."""
    by_rank, found = discounts(np.arange(1, depth + 1)).tolist(), dict[str, float]()
    for lists in unjudged_docs.lists.values():
        if query in lists:
            for doc, discount in zip(lists[query].docs[:depth], by_rank, strict=False):
                found[doc] = found.get(doc, 0.0) + discount / len(unjudged_docs.lists)
    return found


def _grade_places(grades: Sequence[int], measure: Measure) -> dict[int, int]:
    """The row of each grade of the judgements; for a binary measure, not relevant and relevant."""
    every = range(max(grades) + 1)
    if isinstance(measure, BinaryMeasure):
        return {grade: int(grade >= measure.least) for grade in every}
    return {grade: grade for grade in every}


def _judged(
    unjudged_docs: UnjudgedDocuments, agreed: dict[str, dict[str, float]], places: dict[int, int]
) -> Iterator[tuple[float, int]]:
    qrels = unjudged_docs.inputs.qrels
    for query, docs in agreed.items():
        for doc, seen in docs.items():
            if is_judged(qrels[query], doc):
                yield seen, places[qrels[query][doc]]


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
