"""Every pair of systems under every measure: what was seen, what chance does, and the verdict."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np

from ...data.arrays import FloatArray
from ...measures import Measure
from ..evidence import known_name
from ..statistics.bootstrap import Interval, interval_of, resampled_means
from ..statistics.correction import CORRECTIONS
from ..statistics.flips import randomisation_p
from ..statistics.limits import fewest_queries
from ..statistics.paired import Paired, differences, equivalence_p, paired, t_test_p
from ..statistics.power import detectable, needed
from .join import Joined
from .settings import ComparisonSettings

Verdict = Literal["better", "worse", "equivalent", "same", "cannot tell"]
Pair = tuple[int, int, int]
"""A measure and two systems, by their places."""


@dataclass(frozen=True, slots=True)
class Seen:
    """Two systems under one measure, before it is known how many tests there are; `p` is by the test that decides."""

    measure: Measure
    one: str
    other: str
    value: float
    other_value: float
    differences: Paired
    interval: Interval
    t_p: float
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


def comparisons(joined: Joined, baseline: str | None, settings: ComparisonSettings) -> list[Comparison]:
    """Each pair, or each system against the baseline, under each measure."""
    seen = _all_seen(joined, _pairs(joined, baseline), settings)
    correct = CORRECTIONS[settings.correction]
    p = correct(np.array([one.p for one in seen])).tolist()
    margins: Sequence[float | None] = [None] * len(seen)
    if settings.margin is not None:
        margins = correct(np.array([one.equivalence_p for one in seen], np.float64)).tolist()
    return [_judged(one, each, margin, settings, len(seen)) for one, each, margin in zip(seen, p, margins, strict=True)]


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
    p = {"t": t_test_p(short), "randomisation": float(chances[one, other])}
    return Seen(
        measure=joined.measures[place],
        one=joined.systems[one],
        other=joined.systems[other],
        value=math.fsum(values[:, one].tolist()) / len(values),
        other_value=math.fsum(values[:, other].tolist()) / len(values),
        differences=short,
        interval=interval_of(apart, means[:, place, one] - means[:, place, other], settings.interval, 1 - settings.alpha),
        t_p=p["t"],
        randomisation_p=p["randomisation"],
        p=p[settings.test],
        equivalence_p=None if settings.margin is None else equivalence_p(short, settings.margin),
    )


def _judged(seen: Seen, p: float, margin_p: float | None, settings: ComparisonSettings, tests: int) -> Comparison:
    level, short = settings.level(tests), seen.differences
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
