"""The mean of a judge, bias-corrected by human labels of a random sample (prediction-powered inference).

Several judges become one with weights that people's labels teach; no label has a part in the weights for its own question.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rankproof._data.arrays import FloatArray, IntArray
from rankproof._statistics.intervals import Interval, clip, effective_share_interval
from rankproof._statistics.means import effective_size, weighted_mean

FOLDS = 5
PRIOR_QUESTIONS = 1.0
"""Further questions on which all judges are alike: few labels give weights near equal ones."""
MIN_LABELS = 2
"""Items with a human value that a corrected mean needs."""
FEW_QUERIES, FEW_LABELS = 20, 50
"""With fewer queries or labels the interval may be too narrow (`python -m benchmarks.label_coverage`)."""
INTERVAL_METHOD = "Wilson's interval with Student's t over the queries with human labels"
WEIGHT_PRIOR, ERROR_PRIOR = 4.0, 1.0
"""Further items that count in the judge's weight, and in the error: the judge is wrong on them by the whole range of values.

Without them the weight fits the labelled items, and the interval is too narrow where people and judge rarely differ.
"""


@dataclass(frozen=True, slots=True)
class JudgedItem:
    """One item with the judge's value and, if people labelled it, the human value.

    `skipped` says that people found nothing to judge: the item belongs to the sample, and has no human value. Items with one
    `query` depend on each other.
    """

    query: str
    judge: float
    human: float | None = None
    weight: float = 1.0
    skipped: bool = False


@dataclass(frozen=True, slots=True)
class KnownValue:
    """A value that no judge decides, such as 0 for an answer without contexts."""

    query: str
    value: float
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class MeanEstimate:
    """A mean and its 95% interval, None where it cannot be computed."""

    value: float
    interval: Interval | None


@dataclass(frozen=True, slots=True)
class PredictionPoweredMean:
    """One mean: of the judge over all items, of people over theirs, and bias-corrected with the judge's weight.

    `seen` and `unseen` count the items with and without a human label, `queries` the queries with one.
    """

    judge: MeanEstimate
    human: MeanEstimate
    corrected: MeanEstimate
    weight: float
    seen: int
    unseen: int
    queries: int

    @property
    def has_few_labels(self) -> bool:
        """Whether the interval may be too narrow for lack of human labels."""
        return self.queries < FEW_QUERIES or self.seen < FEW_LABELS


def corrected_mean(
    items: Sequence[JudgedItem], within: Interval, known: Sequence[KnownValue] = ()
) -> PredictionPoweredMean | None:
    """The weighted mean over all items and known values; None where fewer than two items have a human value.

    The labelled items must be a random sample of the items, whatever their weights. Values, means and intervals lie in `within`.
    """
    seen = [item for item in items if item.human is not None or item.skipped]
    unseen = [item for item in items if item.human is None and not item.skipped]
    valued = [item for item in seen if item.human is not None]
    if len(valued) < MIN_LABELS:
        return None
    frame = _Frame(items, known, within)
    everything = frame.part(items, [item.judge for item in items])
    people = frame.part(valued, [item.human or 0.0 for item in valued])
    rest, same = (frame.part(part, [item.judge for item in part]) for part in (unseen, seen))
    apart = rest.influences - same.influences
    further = (frame.width / effective_size(len(valued), _weights(valued))) ** 2
    weight = _optimal_weight(people.influences, apart, WEIGHT_PRIOR * further) if unseen else 0.0
    both = _WeightedMean(people.mean + weight * (rest.mean - same.mean), people.influences + weight * apart)
    queries = len({item.query for item in valued})
    by_people = frame.total(people)
    return PredictionPoweredMean(
        frame.estimate(frame.total(everything), len(frame.places)),
        frame.estimate(by_people, queries),
        frame.estimate(frame.total(both), queries, weight, weight**2 * ERROR_PRIOR * further, by_people.mean),
        weight,
        len(seen),
        len(unseen),
        queries,
    )


@dataclass(frozen=True, eq=False, slots=True)
class _WeightedMean:
    """A mean, and the influence of each query on it: the sum of their squares estimates its variance."""

    mean: float
    influences: FloatArray


class _Frame:
    """All items and known values: the place of each query, and the weights of both."""

    def __init__(self, items: Sequence[JudgedItem], known: Sequence[KnownValue], within: Interval) -> None:
        self.within, self.width = within, within[1] - within[0]
        queries = dict.fromkeys([*(item.query for item in items), *(known_value.query for known_value in known)])
        self.places = {query: at for at, query in enumerate(queries)}
        self._known = known
        self._judged = self._by_query(items, _weights(items))
        self._all = float(self._judged.sum()) + sum(known_value.weight for known_value in known)

    def part(self, items: Sequence[JudgedItem], values: Sequence[float]) -> _WeightedMean:
        """The weighted mean of some items (Hájek 1971), linearised as a ratio of sums."""
        if not items:
            return _WeightedMean(0.0, np.zeros(len(self.places)))
        weights, numbers = _weights(items), np.array(values, dtype=np.float64)
        mean = weighted_mean(numbers, weights)
        return _WeightedMean(mean, self._by_query(items, weights / weights.sum() * (numbers - mean)))

    def _by_query(self, items: Sequence[JudgedItem], amounts: FloatArray) -> FloatArray:
        totals = np.zeros(len(self.places))
        np.add.at(totals, [self.places[item.query] for item in items], amounts)
        return totals

    def total(self, judged: _WeightedMean) -> _WeightedMean:
        """The mean over items and known values from the mean over items."""
        if not self._known:
            return judged
        share = float(self._judged.sum()) / self._all
        mean = share * judged.mean + sum(known_value.weight * known_value.value for known_value in self._known) / self._all
        influences = share * judged.influences + self._judged / self._all * (judged.mean - mean)
        for known_value in self._known:
            influences[self.places[known_value.query]] += known_value.weight / self._all * (known_value.value - mean)
        return _WeightedMean(mean, influences)

    def estimate(
        self, weighted: _WeightedMean, queries: int, weight: float = 0.0, further: float = 0.0, spread_at: float | None = None
    ) -> MeanEstimate:
        """The mean with its interval; a weight that was fitted takes a degree of freedom."""
        freedom = queries - (2 if weight else 1)
        mean = clip(weighted.mean, self.within)
        if freedom < 1:
            return MeanEstimate(mean, None)
        variance = (float((weighted.influences**2).sum()) + further) * queries / freedom
        at = mean if spread_at is None else spread_at
        return MeanEstimate(mean, effective_share_interval(mean, variance, freedom, self.within, queries, at))


def _weights(items: Sequence[JudgedItem]) -> FloatArray:
    return np.array([item.weight for item in items], dtype=np.float64)


def _optimal_weight(human: FloatArray, apart: FloatArray, further: float) -> float:
    """The weight with the smallest standard error; none for a judge whose values do not vary."""
    spread = float((apart**2).sum())
    return clip(-float((human * apart).sum()) / (spread + further), (0.0, 1.0)) if spread > 1e-24 else 0.0


def combined_judges(
    judges: Sequence[FloatArray], human: FloatArray, labelled: IntArray, groups: IntArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """The weighted mean of judges' values by question and system, and the mean weights.

    `human` has people's values of the `labelled` rows. They are split in folds in their order, which must be a random one; the
    questions of one conversation (`groups`) are in one fold. A labelled question has the weights of the other folds, any other
    question the mean of all weights (Zrnic and Candès 2024).
    """
    stacked = np.array(judges)
    values = stacked.mean(axis=0)
    own_groups = np.arange(len(labelled)) if groups is None else groups[labelled]
    _, first, number = np.unique(own_groups, return_index=True, return_inverse=True)
    folds = np.argsort(np.argsort(first))[number] % FOLDS
    every = []
    for fold in range(FOLDS):
        rest = folds != fold
        weights = _judge_weights(stacked[:, labelled[rest]], human[rest])
        own = labelled[~rest]
        values[own] = np.tensordot(weights, stacked[:, own], axes=1)
        every.append(weights)
    mean = np.mean(every, axis=0)
    others = np.setdiff1d(np.arange(len(values)), labelled)
    values[others] = np.tensordot(mean, stacked[:, others], axes=1)
    return values, mean


def _judge_weights(judges: FloatArray, human: FloatArray) -> FloatArray:
    """Least squares on the differences between systems, shrunk to equal weights; none is below 0, and their sum is 1."""
    count = len(judges)
    equal = np.full(count, 1 / count)
    columns, wanted = np.array([_contrasts(values).ravel() for values in judges]), _contrasts(human).ravel()
    spread = columns @ columns.T
    together = equal @ columns
    if not together @ together:
        return equal
    slope = max(0.0, float(together @ wanted) / float(together @ together))
    prior = PRIOR_QUESTIONS / len(human) * float(np.trace(spread)) / count
    # A judge that sees no difference has no weight; one with a weight below 0 is left out, and the others are fitted again.
    kept = np.diag(spread) > 0
    while kept.any():
        inner = spread[np.ix_(kept, kept)] + prior * np.eye(int(kept.sum()))
        found = np.linalg.solve(inner, columns[kept] @ wanted + prior * slope * equal[kept])
        if (found >= 0).all():
            break
        kept[np.flatnonzero(kept)[found < 0]] = False
    weights = np.zeros(count)
    if not kept.any() or not found.sum():
        return equal
    weights[kept] = found / found.sum()
    return weights


def _contrasts(values: FloatArray) -> FloatArray:
    """Values around their mean; of several systems around the mean of the question too, as in `labelled_means`."""
    rows: FloatArray = values - values.mean(axis=0)
    return rows - rows.mean(axis=1, keepdims=True) if rows.shape[1] > 1 else rows
