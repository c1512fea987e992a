"""Means over many machine judgements, set right by a few of people.

The prediction-powered mean (Angelopoulos et al., Science 382, 2023, with the weight of their PPI++, arXiv 2311.01453):

    people's mean + weight x (the judge's mean over the pairs that people did not see - its mean over those that they did)

It is unbiased however wrong the judge is, if the pairs that people saw are a random draw. The weight, from 0 to 1, is the one
that makes the error smallest: near 0 for a judge that knows nothing, which then does no harm. Pairs of one query are alike, so
errors come from the queries' sums, as for any mean of clusters. What is known of the error is known from the queries that people
saw pairs of: their number, less one for the mean and one for the weight, is the degrees of freedom.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..analysis.statistics.bootstrap import Interval
from ..analysis.statistics.distributions import student_quantile
from ..analysis.statistics.intervals import EVERYTHING
from ..data.arrays import FloatArray
from .pairs import Pair

LEAST = 2
"""Pairs that people must have seen."""
FEW_QUERIES, FEW_PAIRS = 20, 50
"""With fewer that people saw, the interval may hold the truth less often than it says; a note says so."""


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean and its interval of 95%, None where there is nothing to tell it by."""

    value: float
    interval: Interval | None


@dataclass(frozen=True, slots=True)
class Corrected:
    """One mean: by the judge over all pairs, by people over those that they saw, and both together with the judge's weight.

    `queries` is of how many queries people saw pairs: the corrected mean is no surer than these make it.
    """

    judge: Mean
    people: Mean
    both: Mean
    weight: float
    seen: int
    unseen: int
    queries: int

    @property
    def is_of_few(self) -> bool:
        """Whether people saw too little for its interval to be wide enough for sure."""
        return self.queries < FEW_QUERIES or self.seen < FEW_PAIRS


def corrected_mean(judge: Mapping[Pair, float], human: Mapping[Pair, float], within: Interval = EVERYTHING) -> Corrected | None:
    """The mean over the pairs of `judge`, some of which people judged; None where they judged fewer than two.

    `within` is what a mean can be: none, nor the end of an interval, is outside.
    """
    seen = [pair for pair in judge if pair in human]
    unseen = [pair for pair in judge if pair not in human]
    if len(seen) < LEAST:
        return None
    places = {query: at for at, query in enumerate(dict.fromkeys(pair.query for pair in judge))}
    all_of_it = _pulls(list(judge), list(judge.values()), places)
    people = _pulls(seen, [human[pair] for pair in seen], places)
    rest, same = (_pulls(pairs, [judge[pair] for pair in pairs], places) for pairs in (unseen, seen))
    apart = rest.pulls - same.pulls
    weight = _weight(people.pulls, apart) if unseen else 0.0
    pulls = people.pulls + weight * apart
    both = _Part(people.mean + weight * (rest.mean - same.mean), pulls, people.queries, fitted=2 if weight else 1)
    by_judge, by_people, by_both = (part.whole(within) for part in (all_of_it, people, both))
    return Corrected(by_judge, by_people, by_both, weight, len(seen), len(unseen), people.queries)


@dataclass(frozen=True, eq=False, slots=True)
class _Part:
    """A mean, how far each query pulls at it, how many queries tell its error, and how many numbers were fitted to them."""

    mean: float
    pulls: FloatArray
    queries: int
    fitted: int = 1

    def whole(self, within: Interval) -> Mean:
        """The mean, give or take Student's t times its error; no interval for too few queries, or values without spread."""
        mean = clipped(self.mean, within)
        freedom = self.queries - self.fitted
        if freedom < 1 or not self.pulls.any():
            return Mean(mean, None)
        error = math.sqrt(float((self.pulls**2).sum()) * self.queries / freedom)
        reach = student_quantile(0.975, freedom) * error
        return Mean(mean, (clipped(self.mean - reach, within), clipped(self.mean + reach, within)))


def _pulls(pairs: Sequence[Pair], values: Sequence[float], places: Mapping[str, int]) -> _Part:
    pulls: FloatArray = np.zeros(len(places))
    mean = float(np.mean(values)) if pairs else 0.0
    for pair, value in zip(pairs, values, strict=True):
        pulls[places[pair.query]] += (value - mean) / len(values)
    return _Part(mean, pulls, len({pair.query for pair in pairs}))


def _weight(people: FloatArray, apart: FloatArray) -> float:
    """The weight of least error."""
    spread = float((apart**2).sum())
    return clipped(-float((people * apart).sum()) / spread, (0.0, 1.0)) if spread else 0.0


def clipped(value: float, within: Interval) -> float:
    """The value, or the end that it is beyond; 0 is never negative."""
    return max(within[0], min(value, within[1])) + 0.0
