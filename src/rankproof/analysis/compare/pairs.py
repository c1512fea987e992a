"""Every pair of systems under every measure: what was seen, what chance does, and the verdict."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np

from ...data.arrays import FloatArray
from ...measures import Measure
from ..evidence import known_name
from ..statistics.bootstrap import Interval, resampled_means
from ..statistics.correction import CORRECTIONS, holm_of_two
from ..statistics.flips import randomisation_p
from ..statistics.intervals import interval_of
from ..statistics.limits import fewest_queries
from ..statistics.paired import Paired, differences, equivalence_p, paired, t_test_p
from ..statistics.power import detectable, needed
from .join import Joined
from .settings import ComparisonSettings

Verdict = Literal["better", "worse", "equivalent", "same", "cannot tell"]
_TURNED = {"better": "worse", "worse": "better"}
Pair = tuple[int, int, int]
"""A measure and two systems, by their places."""


@dataclass(frozen=True, slots=True)
class Seen:
    """Two systems under one measure, before it is known how many tests there are.

    `p` is by the test that decides; by flips where the t-test has none. `interval` is None where all differences are one number.
    """

    measure: Measure
    one: str
    other: str
    value: float
    other_value: float
    differences: Paired
    interval: Interval | None
    t_p: float | None
    randomisation_p: float
    p: float
    equivalence_p: float | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """The same with p-values corrected for the family, what could have been found, and the verdict on the first system."""

    seen: Seen
    p: float
    equivalence_p: float | None
    detectable: float | None
    needed: int | None
    verdict: Verdict


def turned(verdict: str) -> str:
    """The same verdict, told of the other system."""
    return _TURNED.get(verdict, verdict)


def comparisons(joined: Joined, baseline: str | None, settings: ComparisonSettings) -> list[Comparison]:
    """Each pair, or each system against the baseline, under each measure."""
    return _compared(joined, _pairs(joined, baseline), settings)


def comparisons_across(joined: Joined, side: Collection[str], settings: ComparisonSettings) -> list[Comparison]:
    """Each system of one side with each of the others, under each measure: no other pair counts as a test."""
    pairs = [pair for pair in _pairs(joined, None) if sum(joined.systems[at] in side for at in pair[1:]) == 1]
    return _compared(joined, pairs, settings)


def _compared(joined: Joined, pairs: Sequence[Pair], settings: ComparisonSettings) -> list[Comparison]:
    seen = _all_seen(joined, pairs, settings)
    p, margins = _corrected(seen, settings)
    level = settings.level(len(seen), sum(each <= settings.alpha for each in p))
    return [_judged(one, each, margin, settings, level) for one, each, margin in zip(seen, p, margins, strict=True)]


def _corrected(seen: Sequence[Seen], settings: ComparisonSettings) -> tuple[list[float], Sequence[float | None]]:
    """The p of differences and of equivalence; no pair can truly be equal and truly differ by the margin."""
    correct, p = CORRECTIONS[settings.correction], np.array([one.p for one in seen])
    if settings.margin is None:
        return correct(p).tolist(), [None] * len(seen)
    margins = np.array([one.equivalence_p for one in seen], np.float64)
    both = holm_of_two(p, margins) if settings.correction == "holm" else (correct(p), correct(margins))
    return both[0].tolist(), both[1].tolist()


def _pairs(joined: Joined, baseline: str | None) -> list[Pair]:
    """All pairs with the better system first, or each system with the baseline second."""
    names, places = joined.systems, range(len(joined.measures))
    if baseline is not None:
        at = names.index(known_name(names, baseline))
        return [(place, one, at) for place in places for one in range(len(names)) if one != at]
    return [_better_first(joined, place, *pair) for place in places for pair in combinations(range(len(names)), 2)]


def _better_first(joined: Joined, place: int, one: int, other: int) -> Pair:
    ahead = joined.values[place, :, one].mean() - joined.values[place, :, other].mean()
    swap = ahead > 0 if joined.measures[place].higher_is_better is False else ahead < 0
    return (place, other, one) if swap else (place, one, other)


def _all_seen(joined: Joined, pairs: Sequence[Pair], settings: ComparisonSettings) -> list[Seen]:
    measures, n, systems = joined.values.shape
    columns = joined.values.transpose(1, 0, 2).reshape(n, measures * systems)
    means = resampled_means(columns, settings.resamples, settings.seed).reshape(-1, measures, systems)
    chances = [randomisation_p(values, settings.samples, settings.seed) for values in joined.values]
    return [_seen(joined, pair, chances[pair[0]], means, settings) for pair in pairs]


def _seen(joined: Joined, pair: Pair, chances: FloatArray, means: FloatArray, settings: ComparisonSettings) -> Seen:
    place, one, other = pair
    values = joined.values[place]
    apart = differences(values[:, one], values[:, other])
    short = paired(apart)
    by_t, by_flips = t_test_p(short), float(chances[one, other])
    low, high = joined.measures[place].range
    resampled = means[:, place, one] - means[:, place, other]
    return Seen(
        measure=joined.measures[place],
        one=joined.systems[one],
        other=joined.systems[other],
        value=math.fsum(values[:, one].tolist()) / len(values),
        other_value=math.fsum(values[:, other].tolist()) / len(values),
        differences=short,
        interval=interval_of(apart, resampled, settings.interval, 1 - settings.alpha, (low - high, high - low)),
        t_p=by_t,
        randomisation_p=by_flips,
        p=by_t if settings.test == "t" and by_t is not None else by_flips,
        equivalence_p=None if settings.margin is None else equivalence_p(short, settings.margin),
    )


def _judged(seen: Seen, p: float, margin_p: float | None, settings: ComparisonSettings, level: float) -> Comparison:
    short = seen.differences
    least = fewest_queries(level) if settings.test == "randomisation" else 2
    takes = needed(short.mean, short.deviation, level)
    return Comparison(
        seen=seen,
        p=p,
        equivalence_p=margin_p,
        detectable=detectable(short.deviation, short.n, level) if short.n >= least else None,
        needed=None if takes is None else max(takes, least),
        verdict=_verdict(seen, p, margin_p, settings.alpha),
    )


def _verdict(seen: Seen, p: float, margin_p: float | None, alpha: float) -> Verdict:
    if seen.differences.ties == seen.differences.n:
        return "same"
    if margin_p is not None and margin_p <= alpha:
        return "equivalent"
    if p > alpha:
        return "cannot tell"
    return "better" if (seen.differences.mean > 0) != (seen.measure.higher_is_better is False) else "worse"
