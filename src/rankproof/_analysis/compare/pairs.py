"""Paired comparison of systems: tests, intervals, power and the verdict on each pair."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

import numpy as np

from rankproof._analysis.inputs import checked_system_name
from rankproof._data.arrays import FloatArray, IntArray
from rankproof._data.text import pluralise
from rankproof._evaluation.result import Result
from rankproof._statistics.correction import (
    CORRECTION_NAMES,
    CORRECTIONS,
    Correction,
    SamplingOptions,
    check_choice,
    check_samples,
    holm_of_two,
    is_number,
    level_of,
    setting_error,
)
from rankproof._statistics.intervals import (
    Interval,
    IntervalMethod,
    bootstrap_interval,
    describe_interval_method,
    enough_differ,
    mean_interval,
    resampled_means,
)
from rankproof._statistics.means import effective_size, influence, weighted_mean
from rankproof._statistics.paired import (
    PairedStatistics,
    detectable_difference,
    differences,
    equivalence_p,
    paired_statistics,
    queries_needed,
    t_test_p,
)
from rankproof._statistics.permutation import MAX_EXACT_QUERIES, MAX_SAMPLED_QUERIES, fewest_queries, randomisation_p
from rankproof.errors import UsageError, for_message
from rankproof.measures._base import Measure
from rankproof.measures._parse import MeasureLike, parse_measures

MeasuresLike = MeasureLike | Sequence[MeasureLike] | None
_SUMMARY_TEXTS = {"sum": "is a sum over queries", "geometric": "is a geometric mean"}


@dataclass(frozen=True, eq=False, slots=True)
class JoinedValues:
    """Values by measure, query and system; queries are sorted by id, so that the input order does not matter."""

    queries: tuple[str, ...]
    systems: tuple[str, ...]
    measures: tuple[Measure, ...]
    values: FloatArray
    notes: tuple[str, ...]
    weights: FloatArray | None = None


def join_systems(result: Result, measures: MeasuresLike = None) -> JoinedValues:
    """The common values of systems that can be tested; fewer than two systems or two common queries are an error."""
    joined = common_values(result, measures)
    if len(joined.systems) < 2:
        raise UsageError("there is only one system", fix="compare two or more")
    if len(joined.queries) < 2:
        raise UsageError(
            f"the systems have {pluralise(len(joined.queries), 'query', 'queries')} in common",
            fix="compare them on at least two common queries",
        )
    return joined


def common_values(result: Result, measures: MeasuresLike = None) -> JoinedValues:
    """The systems on their common queries, under the given measures or all whose means can be compared."""
    names = tuple(system.name for system in result.systems)
    chosen, left_out = _selected_measures(result, measures)
    columns = [[system.measures[name] for system in result.systems] for name in chosen]
    queries, places = _common(one.query_ids for row in columns for one in row)
    values = np.array([[one.values[places[id(one.query_ids)]] for one in row] for row in columns])
    kinds = tuple(result.systems[0].measures[name].measure for name in chosen)
    known = result.weights
    weights = None if known is None else np.array([known[query] for query in queries])
    notes = (*_missing(result, len(queries)), *_weighted(weights), *left_out)
    return JoinedValues(queries, names, kinds, values.transpose(0, 2, 1), notes, weights)


def _weighted(weights: FloatArray | None) -> list[str]:
    if weights is None:
        return []
    size = effective_size(len(weights), weights)
    return [f"queries are weighted: n = {len(weights):,} is worth {pluralise(round(size), 'query', 'queries')} of equal weight"]


def _selected_measures(result: Result, measures: MeasuresLike) -> tuple[list[str], list[str]]:
    """The measures to compare by name, and a note for each that cannot be compared."""
    shared = [name for name in result.systems[0].measures if all(name in system.measures for system in result.systems)]
    kinds = {name: result.systems[0].measures[name].summary for name in shared}
    if measures is not None:
        return [_checked(str(measure), kinds) for measure in parse_measures(measures)], []
    able = [name for name in shared if kinds[name] == "mean"]
    if not able:
        raise UsageError("only means can be compared, and no evaluated measure is a mean", fix="evaluate one, such as nDCG@10")
    return able, [f"{name} {_SUMMARY_TEXTS[kinds[name]]} and is not compared" for name in shared if kinds[name] != "mean"]


def _checked(name: str, kinds: Mapping[str, str]) -> str:
    if name not in kinds:
        raise UsageError(f"{for_message(name)} was not evaluated for every system", fix=f"choose from: {', '.join(kinds)}")
    if kinds[name] != "mean":
        raise UsageError(f"{name} {_SUMMARY_TEXTS[kinds[name]]} and has no paired differences", fix="compare a mean, such as AP")
    return name


def _common(every: Iterable[tuple[str, ...]]) -> tuple[tuple[str, ...], dict[int, IntArray]]:
    """The queries that all have, sorted, and where each of these tuples, by its id(), has them."""
    own = {id(ids): ids for ids in every}
    queries = tuple(sorted(set.intersection(*map(set, own.values()))))
    places = {}
    for key, ids in own.items():
        at = {query: place for place, query in enumerate(ids)}
        places[key] = np.fromiter((at[query] for query in queries), np.int64, len(queries))
    return queries, places


def _missing(result: Result, n: int) -> list[str]:
    absent = len(result.queries) - n
    if not absent:
        notes = [(system.name, note) for system in result.systems for note in system.notes]
        return [f"{for_message(name)}: {note.text}" for name, note in notes if note.code == "missing-queries"]
    of_answers = any(one.measure.kind == "answer" for one in result.systems[0].measures.values())
    what, lacks = ("questions", "has no value for them") if of_answers else ("judged queries", "lacks them")
    return [f"{absent:,} of {len(result.queries):,} {what} are left out because a system {lacks}: n = {n:,}"]


def check_margin(name: str, value: Any) -> float:
    """The margin, or a UsageError if it is not a number above 0."""
    if not is_number(value) or not 0 < value < math.inf:
        raise setting_error(name, value, "pass a difference above 0, such as 0.01 for one percentage point")
    return float(value)


def check_fraction_margin(margin: float, measure: Measure) -> None:
    """Refuses a margin that no difference of the measure can exceed, such as 2 for 2 percentage points."""
    if measure.is_fraction and margin >= 1:
        raise setting_error("margin", margin, "pass a difference below 1, such as 0.02 for two percentage points")


Test = Literal["randomisation", "t"]


@dataclass(frozen=True, slots=True)
class CompareOptions(SamplingOptions):
    """Options of a comparison; `equivalence` is the margin of the equivalence tests, `resamples` is for bootstrap intervals."""

    test: Test = "randomisation"
    correction: Correction = "holm"
    interval: IntervalMethod = "t"
    equivalence: float | None = None
    resamples: int = 10_000

    def __post_init__(self) -> None:
        for name, choices in (("test", Test), ("correction", Correction), ("interval", IntervalMethod)):
            check_choice(name, getattr(self, name), choices)
        SamplingOptions.__post_init__(self)
        if self.equivalence is not None:
            check_margin("equivalence", self.equivalence)
        check_samples("resamples", self.resamples)

    def level(self, tests: int, succeeded: int = 0) -> float:
        """The p that is significant for one of so many tests; with `bh`, if so many tests succeed."""
        return level_of(self.alpha, tests, self.correction, succeeded)

    def is_exact(self, n: int) -> bool:
        """Whether the test enumerates all sign flips."""
        return n <= MAX_EXACT_QUERIES

    def describe(self, n: int, tests: int) -> str:
        """The method in one sentence."""
        flips = f"exact, all {2**n:,} flips" if self.is_exact(n) else f"{self.samples:,} flips"
        flips = flips if n <= MAX_SAMPLED_QUERIES else f"all flips by Edgeworth expansion, as n > {MAX_SAMPLED_QUERIES:,}"
        test = "paired t-test" if self.test == "t" else f"sign-flip randomisation test ({flips})"
        method = describe_interval_method(self.interval, self.resamples)
        interval = f"{self.percent} intervals per pair, not corrected ({method})"
        corrected, queries = self._corrected(tests), pluralise(n, "query", "queries")
        return f"Method: {test}, two-sided, alpha {self.alpha:g}, {corrected}; {interval}; seed {self.seed}; n = {queries}."

    def _corrected(self, tests: int) -> str:
        name, over = CORRECTION_NAMES[self.correction], pluralise(tests, "test")
        if self.correction == "none":
            return name
        if self.equivalence is None:
            return f"{name} over {over}"
        if self.correction == "holm":
            return f"{name} over {over} of differences and {tests} of equivalence, as one family"
        return f"{name} over {over} of differences and, separately, over {tests} of equivalence"


Verdict = Literal["better", "worse", "equivalent", "same", "not significant"]
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
    differ, or all by the same amount.
    """

    measure: Measure
    one: str
    other: str
    value: float
    other_value: float
    differences: PairedStatistics
    interval: Interval | None
    t_p: float | None
    randomisation_p: float
    p: float
    equivalence_p: float | None


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
    known = [(at[one], at[other]) for one, other in pairs if one in at and other in at]
    return _compare(joined, [(place, *pair) for place in range(len(joined.measures)) for pair in known], options)


def _compare(joined: JoinedValues, pairs: Sequence[Pair], options: CompareOptions) -> list[PairComparison]:
    """The pairs of each measure, which are a family of tests of their own."""
    observed = _observe_all(joined, pairs, options)
    families = [[one for one in observed if one.measure == measure] for measure in joined.measures]
    return [found for family in families for found in _judge_family(family, options)]


def _judge_family(observed: Sequence[ObservedDifference], options: CompareOptions) -> list[PairComparison]:
    """The verdicts on the pairs of one measure, corrected for their number."""
    p, margins = _corrected(observed, options)
    level = options.level(len(observed), sum(each <= options.alpha for each in p))
    return [_with_verdict(one, each, margin, options, level) for one, each, margin in zip(observed, p, margins, strict=True)]


def _corrected(observed: Sequence[ObservedDifference], options: CompareOptions) -> tuple[list[float], Sequence[float | None]]:
    """The corrected p of differences and of equivalence; at most one of the two hypotheses of a pair is true."""
    correct, p = CORRECTIONS[options.correction], np.array([one.p for one in observed])
    if options.equivalence is None:
        return correct(p).tolist(), [None] * len(observed)
    margins = np.array([one.equivalence_p for one in observed], np.float64)
    both = holm_of_two(p, margins) if options.correction == "holm" else (correct(p), correct(margins))
    return both[0].tolist(), both[1].tolist()


def _pairs(joined: JoinedValues, baseline: str | None) -> list[Pair]:
    """All pairs, better system first, or every system with the baseline second."""
    names, places = joined.systems, range(len(joined.measures))
    if baseline is not None:
        at = names.index(checked_system_name(names, baseline))
        return [(place, one, at) for place in places for one in range(len(names)) if one != at]
    return [_better_first(joined, place, *pair) for place in places for pair in combinations(range(len(names)), 2)]


def _better_first(joined: JoinedValues, place: int, one: int, other: int) -> Pair:
    ahead = weighted_mean(joined.values[place, :, one] - joined.values[place, :, other], joined.weights)
    swap = ahead > 0 if joined.measures[place].higher_is_better is False else ahead < 0
    return (place, other, one) if swap else (place, one, other)


def _observe_all(joined: JoinedValues, pairs: Sequence[Pair], options: CompareOptions) -> list[ObservedDifference]:
    # Flipping the sign of a difference flips that of its share in the weighted mean.
    shares = 1.0 if joined.weights is None else (joined.weights / joined.weights.mean())[:, None]
    flip_p = [randomisation_p(values * shares, options.samples, options.seed) for values in joined.values]
    by_query = [differences(joined.values[place, :, one], joined.values[place, :, other]) for place, one, other in pairs]
    intervals = _intervals(by_query, [joined.measures[place].range for place, *_ in pairs], joined.weights, options)
    return [
        _observe(joined, pair, float(flip_p[pair[0]][pair[1:]]), apart, interval, options)
        for pair, apart, interval in zip(pairs, by_query, intervals, strict=True)
    ]


def _intervals(
    by_query: Sequence[FloatArray], ranges: Sequence[Interval], weights: FloatArray | None, options: CompareOptions
) -> list[Interval | None]:
    """The interval of each mean difference; resamples are drawn if a bootstrap interval is asked for."""
    level, method = 1 - options.alpha, options.interval
    if method == "t":
        within = [(low - high, high - low) for low, high in ranges]
        each = zip(by_query, within, strict=True)
        found = (
            mean_interval(apart, level=level, within=one, weights=weights) if enough_differ(apart, weights) else None
            for apart, one in each
        )
        return list(found)
    centred = [_linearised(apart, weights) for apart in by_query]
    means = resampled_means(np.column_stack(centred), options.resamples, options.seed)
    return [
        bootstrap_interval(centred[at], means[:, at], method, level) if enough_differ(apart, weights) else None
        for at, apart in enumerate(by_query)
    ]


def _linearised(apart: FloatArray, weights: FloatArray | None) -> FloatArray:
    """Values whose plain mean is the weighted mean of the differences, to first order in every resample."""
    mean = weighted_mean(apart, weights)
    return apart if weights is None else mean + influence(apart, mean, weights)


def _observe(
    joined: JoinedValues, pair: Pair, by_flips: float, by_query: FloatArray, interval: Interval | None, options: CompareOptions
) -> ObservedDifference:
    place, one, other = pair
    values, statistics = joined.values[place], paired_statistics(by_query, joined.weights)
    by_t = t_test_p(statistics)
    return ObservedDifference(
        measure=joined.measures[place],
        one=joined.systems[one],
        other=joined.systems[other],
        value=weighted_mean(values[:, one], joined.weights),
        other_value=weighted_mean(values[:, other], joined.weights),
        differences=statistics,
        interval=interval,
        t_p=by_t,
        randomisation_p=by_flips,
        p=by_t if options.test == "t" and by_t is not None else by_flips,
        equivalence_p=None if options.equivalence is None else equivalence_p(statistics, options.equivalence),
    )


def _with_verdict(
    observed: ObservedDifference, p: float, margin_p: float | None, options: CompareOptions, level: float
) -> PairComparison:
    statistics = observed.differences
    fewest = fewest_queries(level) if options.test == "randomisation" else 2
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
    if p > alpha:
        return "not significant"
    return "better" if (observed.differences.mean > 0) != (observed.measure.higher_is_better is False) else "worse"
