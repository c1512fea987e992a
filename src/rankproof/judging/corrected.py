"""Means over many machine judgements, set right by a few of people.

The prediction-powered mean (Angelopoulos et al., Science 382, 2023, with the weight of their PPI++, arXiv 2311.01453):

    people's mean + weight x (the judge's mean over the pairs that people did not see - its mean over those that they did)

It is unbiased however wrong the judge is, if the pairs that people saw are a random draw. The weight, from 0 to 1, is the one
that makes the error smallest: near 0 for a judge that knows nothing, which then does no harm. Pairs of one query are alike, so
errors come from the queries' sums, as for any mean of clusters.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..analysis.statistics.bootstrap import Interval
from ..analysis.statistics.distributions import student_quantile
from ..data.arrays import FloatArray
from .pairs import Pair

LEAST = 2
"""Pairs that people must have seen, and queries that an interval needs."""


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean and its interval of 95%, None where there is nothing to tell it by."""

    value: float
    interval: Interval | None


@dataclass(frozen=True, slots=True)
class Corrected:
    """One mean: by the judge over all pairs, by people over those that they saw, and both together with the judge's weight."""

    judge: Mean
    people: Mean
    both: Mean
    weight: float
    seen: int
    unseen: int


def corrected_mean(judge: Mapping[Pair, float], human: Mapping[Pair, float]) -> Corrected | None:
    """The mean over the pairs of `judge`, some of which people judged; None where they judged fewer than two."""
    seen = [pair for pair in judge if pair in human]
    unseen = [pair for pair in judge if pair not in human]
    if len(seen) < LEAST:
        return None
    places = {query: at for at, query in enumerate(dict.fromkeys(pair.query for pair in judge))}
    all_of_it = _pulls(list(judge), list(judge.values()), places)
    people = _pulls(seen, [human[pair] for pair in seen], places)
    apart = _minus(_pulls(unseen, [judge[pair] for pair in unseen], places), _pulls(seen, [judge[pair] for pair in seen], places))
    weight = _weight(people.pulls, apart.pulls) if unseen else 0.0
    queries = people.queries | apart.queries if weight else people.queries
    both = _Part(people.mean + weight * apart.mean, people.pulls + weight * apart.pulls, queries)
    return Corrected(all_of_it.whole(), people.whole(), both.whole(), weight, len(seen), len(unseen))


@dataclass(frozen=True, eq=False, slots=True)
class _Part:
    """A mean, how far each query pulls at it, and which queries have a part in it."""

    mean: float
    pulls: FloatArray
    queries: frozenset[str]

    def whole(self) -> Mean:
        """The mean, give or take Student's t times its error; no interval for one query, or values without spread."""
        queries = len(self.queries)
        if queries < LEAST or not self.pulls.any():
            return Mean(self.mean, None)
        error = math.sqrt(float((self.pulls**2).sum()) * queries / (queries - 1))
        reach = student_quantile(0.975, queries - 1) * error
        return Mean(self.mean, (self.mean - reach, self.mean + reach))


def _pulls(pairs: Sequence[Pair], values: Sequence[float], places: Mapping[str, int]) -> _Part:
    pulls: FloatArray = np.zeros(len(places))
    mean = float(np.mean(values)) if pairs else 0.0
    for pair, value in zip(pairs, values, strict=True):
        pulls[places[pair.query]] += (value - mean) / len(values)
    return _Part(mean, pulls, frozenset(pair.query for pair in pairs))


def _minus(left: _Part, right: _Part) -> _Part:
    return _Part(left.mean - right.mean, left.pulls - right.pulls, left.queries | right.queries)


def _weight(people: FloatArray, apart: FloatArray) -> float:
    """The weight of least error."""
    spread = float((apart**2).sum())
    return min(max(-float((people * apart).sum()) / spread, 0.0), 1.0) if spread else 0.0
