"""Paired comparison of systems: tests, intervals, power and the verdict on each pair."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np

from rankproof._analysis.compare.joined_values import JoinedValues
from rankproof._analysis.compare.significance import TESTS, TestedPair, check_applies, tested_pairs
from rankproof._analysis.inputs import checked_system_name
from rankproof._analysis.options import CompareOptions
from rankproof._data.arrays import BoolArray, DrawnWeights, FloatArray
from rankproof._statistics.intervals import (
    MIN_DIFFERENT,
    Interval,
    bootstrap_interval,
    enough_differ,
    resampled_means,
    t_interval,
)
from rankproof._statistics.means import influence, weighted_mean
from rankproof._statistics.paired import (
    CORRECTIONS,
    PairedStatistics,
    detectable_difference,
    differences,
    equivalence_p,
    holm_of_two,
    pair_statistics,
    queries_needed,
    t_test_p,
)
from rankproof._statistics.permutation import fewest_queries, randomisation_p
from rankproof.errors import UsageError
from rankproof.measures._base import Measure

Verdict = Literal["better", "worse", "equivalent", "same", "not significant"]
_ROUNDING = 1e-12
_MOST_SYSTEMS = 500
_SWAPPED: dict[str, Verdict] = {
    "better": "worse",
    "worse": "better",
    "equivalent": "equivalent",
    "same": "same",
    "not significant": "not significant",
}
Pair = tuple[int, int, int]
"""A measure and two systems by index."""


@dataclass(frozen=True, slots=True)
class ObservedDifference:
    """Two systems under one measure, before correction for multiple tests.

    `p` is that of the chosen test, or of the sign-flip test if there is no t-test. `interval` is None if few queries
    differ, or all by the same amount. `corrected_p` is that of a test of all pairs. `contradicts` marks a test of ranks or signs
    that has the other system ahead of the one with the better mean.
    """

    measure: Measure
    one: str
    other: str
    value: float
    other_value: float
    differences: PairedStatistics
    interval: Interval | None
    randomisation_p: float
    p: float
    corrected_p: float | None
    contradicts: bool
    equivalence_p: float | None

    @property
    def t_p(self) -> float | None:
        """p of the paired t-test."""
        return t_test_p(self.differences)


@dataclass(frozen=True, slots=True)
class PairComparison:
    """An observed difference with corrected p-values, its power, and the verdict on the first system.

    `detectable` is the difference with 80% power at this n, `needed` the queries for 80% power at the observed difference.
    """

    observed: ObservedDifference
    p: float
    equivalence_p: float | None
    detectable: float | None
    needed: int | None
    verdict: Verdict


def swapped(verdict: str) -> Verdict:
    """The verdict from the side of the other system."""
    return _SWAPPED[verdict]


def compare_pairs(joined: JoinedValues, baseline: str | None, options: CompareOptions) -> list[PairComparison]:
    """Every pair, or every system against the baseline, under every measure; each measure is its own family of tests."""
    return _compare(joined, _pairs(joined, baseline), options)


def compare_named_pairs(joined: JoinedValues, pairs: Sequence[tuple[str, str]], options: CompareOptions) -> list[PairComparison]:
    """These pairs under every measure, without those of systems that were left out."""
    at = {name: place for place, name in enumerate(joined.systems)}
    known = [(at[system], at[other]) for system, other in pairs if system in at and other in at]
    return _compare(joined, [(place, *pair) for place in range(len(joined.measures)) for pair in known], options)


def _compare(joined: JoinedValues, pairs: Sequence[Pair], options: CompareOptions) -> list[PairComparison]:
    """The pairs of each measure, which are a family of tests of their own."""
    check_applies(joined, options.test, options.alpha)
    observed = observe_pairs(joined, pairs, options)
    families = [
        [difference for difference, pair in zip(observed, pairs, strict=True) if pair[0] == place]
        for place in range(len(joined.measures))
    ]
    return [pair for family in families for pair in judge_family(family, options)]


def judge_family(observed: Sequence[ObservedDifference], options: CompareOptions) -> list[PairComparison]:
    """The verdicts on the pairs of one measure, corrected for their number."""
    p, margins = _corrected(observed, options)
    level = options.level(len(observed), sum(corrected_p <= options.alpha for corrected_p in p))
    return [
        _with_verdict(difference, corrected_p, margin, options, level)
        for difference, corrected_p, margin in zip(observed, p, margins, strict=True)
    ]


def _corrected(observed: Sequence[ObservedDifference], options: CompareOptions) -> tuple[list[float], Sequence[float | None]]:
    """The corrected p of differences and of equivalence; at most one of the two hypotheses of a pair is true."""
    if TESTS[options.test].all_pairs is not None:
        return [difference.p if difference.corrected_p is None else difference.corrected_p for difference in observed], [
            None
        ] * len(observed)
    correct, p = CORRECTIONS[options.correction], np.array([difference.p for difference in observed])
    if options.equivalence is None:
        return correct(p).tolist(), [None] * len(observed)
    margins = np.array([difference.equivalence_p for difference in observed], np.float64)
    both = holm_of_two(p, margins) if options.correction == "holm" else (correct(p), correct(margins))
    return both[0].tolist(), both[1].tolist()


def _pairs(joined: JoinedValues, baseline: str | None) -> list[Pair]:
    """All pairs, better system first, or every system with the baseline second."""
    names, places = joined.systems, range(len(joined.measures))
    if baseline is not None:
        at = names.index(checked_system_name(names, baseline))
        return [(place, system, at) for place in places for system in range(len(names)) if system != at]
    _check_few_pairs(len(names))
    means = system_means(joined)
    return [_better_first(joined, means, place, *pair) for place in places for pair in combinations(range(len(names)), 2)]


def _check_few_pairs(systems: int) -> None:
    # Memory and time grow with the pairs, each of which gets a test, an interval and a row: 500 systems take 500 MB.
    if systems > _MOST_SYSTEMS:
        pairs = systems * (systems - 1) // 2
        raise UsageError(
            f"{systems:,} systems make {pairs:,} pairs; at most {_MOST_SYSTEMS} systems can be compared with each other",
            fix="name a baseline to compare each system with, or fewer systems",
        )


def system_means(joined: JoinedValues) -> list[list[float]]:
    """The mean of each system under each measure."""
    return [[weighted_mean(column, joined.weights) for column in values.T] for values in joined.values]


def _better_first(joined: JoinedValues, means: list[list[float]], place: int, system: int, other: int) -> Pair:
    ahead = means[place][system] - means[place][other]
    # Rounding cannot change the sign of a larger difference; summing every pair exactly takes most of the time of many systems.
    if abs(ahead) <= _ROUNDING * max(map(abs, means[place])):
        ahead = weighted_mean(joined.values[place, :, system] - joined.values[place, :, other], joined.weights)
    swap = ahead > 0 if joined.measures[place].higher_is_better is False else ahead < 0
    return (place, other, system) if swap else (place, system, other)


def _wanted(pairs: Sequence[Pair], place: int, systems: int) -> BoolArray:
    """Which two systems are a pair of the measure at this place."""
    wanted = np.zeros((systems, systems), np.bool_)
    for measure, system, other in pairs:
        if measure == place:
            wanted[system, other] = wanted[other, system] = True
    return wanted


def observe_pairs(joined: JoinedValues, pairs: Sequence[Pair], options: CompareOptions) -> list[ObservedDifference]:
    """The pairs with their tests and intervals, before correction for multiple tests."""
    # Flipping the sign of a difference flips that of its share in the weighted mean.
    shares = 1.0 if joined.weights is None else joined.weights[:, None]
    flip_p = [
        randomisation_p(values * shares, options.samples, options.seed, wanted=_wanted(pairs, place, len(joined.systems)))
        for place, values in enumerate(joined.values)
    ]
    statistics, intervals = _statistics(joined, pairs, options)
    tested = _tested_by_choice(joined, pairs, options)
    means = system_means(joined)
    return [
        _observe(joined, pair, means[pair[0]], float(flip_p[pair[0]][pair[1:]]), apart, interval, by_choice, options)
        for pair, apart, interval, by_choice in zip(pairs, statistics, intervals, tested, strict=True)
    ]


def _tested_by_choice(joined: JoinedValues, pairs: Sequence[Pair], options: CompareOptions) -> list[TestedPair | None]:
    """The chosen test of each pair; None if it is the randomisation test or the t-test."""
    tested: dict[Pair, TestedPair] = {}
    for place, measure in enumerate(joined.measures):
        own = [pair for pair in pairs if pair[0] == place]
        values, systems = joined.values[place], [(system, other) for _, system, other in own]
        tested |= dict(zip(own, tested_pairs(options.test, values, systems, measure, 1 - options.alpha) or (), strict=False))
    return [tested.get(pair) for pair in pairs]


def _statistics(
    joined: JoinedValues, pairs: Sequence[Pair], options: CompareOptions
) -> tuple[list[PairedStatistics], list[Interval | None]]:
    """The statistics of each pair, and the interval of its mean difference."""
    statistics: dict[Pair, PairedStatistics] = {}
    intervals: dict[Pair, Interval | None] = {}
    for place, values in enumerate(joined.values):
        own = [pair for pair in pairs if pair[0] == place]
        columns = [(system, other) for _, system, other in own]
        paired, varies = pair_statistics(values, columns, joined.weights)
        statistics |= zip(own, paired, strict=True)
        if options.interval == "t" and joined.weights is None:
            level, widest = 1 - options.alpha, _widest(joined.measures[place])
            enough = [vary and each.wins + each.losses >= MIN_DIFFERENT for each, vary in zip(paired, varies, strict=True)]
            ranges = [t_interval(each, level, widest) if wide else None for each, wide in zip(paired, enough, strict=True)]
            intervals |= zip(own, ranges, strict=True)
    if len(intervals) < len(statistics):
        intervals = dict(zip(pairs, _intervals(joined, pairs, statistics, options), strict=True))
    return [statistics[pair] for pair in pairs], [intervals[pair] for pair in pairs]


def _widest(measure: Measure) -> Interval:
    """The range of differences of a measure."""
    low, high = measure.range
    return low - high, high - low


def _intervals(
    joined: JoinedValues, pairs: Sequence[Pair], statistics: Mapping[Pair, PairedStatistics], options: CompareOptions
) -> list[Interval | None]:
    """The interval of each mean difference; resamples are drawn if a bootstrap interval is asked for."""
    level, method, weights = 1 - options.alpha, options.interval, joined.weights
    by_query = [differences(joined.values[place, :, system], joined.values[place, :, other]) for place, system, other in pairs]
    if method == "t":
        return [
            t_interval(statistics[pair], level, _widest(joined.measures[pair[0]])) if enough_differ(apart, weights) else None
            for apart, pair in zip(by_query, pairs, strict=True)
        ]
    centred = [_linearised(apart, weights) for apart in by_query]
    means = resampled_means(np.column_stack(centred), options.resamples, options.seed)
    return [
        bootstrap_interval(centred[at], means[:, at], method, level) if enough_differ(apart, weights) else None
        for at, apart in enumerate(by_query)
    ]


def _linearised(apart: FloatArray, weights: FloatArray | None) -> FloatArray:
    """Values whose plain mean is the weighted mean of the differences, to first order in every resample."""
    mean = weighted_mean(apart, weights)
    if weights is None:
        return apart
    pulls = influence(apart, mean, weights)
    # Queries that were certain in a sample do not vary, so what is left may not add up to 0.
    return np.asarray(mean + pulls - (pulls.mean() if isinstance(weights, DrawnWeights) else 0.0))


def _observe(
    joined: JoinedValues,
    pair: Pair,
    means: Sequence[float],
    by_flips: float,
    statistics: PairedStatistics,
    interval: Interval | None,
    tested: TestedPair | None,
    options: CompareOptions,
) -> ObservedDifference:
    place, system, other = pair
    by_t = t_test_p(statistics) if options.test == "t" and tested is None else None
    tested = tested or TestedPair(by_flips if by_t is None else by_t)
    return ObservedDifference(
        measure=joined.measures[place],
        one=joined.systems[system],
        other=joined.systems[other],
        value=means[system],
        other_value=means[other],
        differences=statistics,
        interval=interval if tested.margin is None else _around(statistics.mean, tested.margin, joined.measures[place]),
        randomisation_p=by_flips,
        p=tested.p,
        corrected_p=tested.corrected,
        contradicts=tested.ahead * statistics.mean < 0,
        equivalence_p=None if options.equivalence is None else equivalence_p(statistics, options.equivalence),
    )


def _around(mean: float, margin: float, measure: Measure) -> Interval:
    """The mean plus and minus the margin, cut to the range of differences of the measure."""
    widest = measure.range[1] - measure.range[0]
    return max(mean - margin, -widest), min(mean + margin, widest)


def _with_verdict(
    observed: ObservedDifference, p: float, margin_p: float | None, options: CompareOptions, level: float
) -> PairComparison:
    statistics = observed.differences
    fewest = fewest_queries(level) if options.test in ("randomisation", "wilcoxon", "sign") else 2
    needed = queries_needed(statistics.mean, statistics.deviation, level)
    return PairComparison(
        observed=observed,
        p=p,
        equivalence_p=margin_p,
        detectable=detectable_difference(statistics.deviation, statistics.n, level) if statistics.n >= fewest else None,
        needed=None if needed is None else max(needed, fewest),
        verdict=_verdict(observed, p, margin_p, options.alpha),
    )


def _verdict(observed: ObservedDifference, p: float, margin_p: float | None, alpha: float) -> Verdict:
    if observed.differences.ties == observed.differences.n:
        return "same"
    if margin_p is not None and margin_p <= alpha:
        return "equivalent"
    if p > alpha or observed.contradicts:
        return "not significant"
    return "better" if (observed.differences.mean > 0) != (observed.measure.higher_is_better is False) else "worse"
