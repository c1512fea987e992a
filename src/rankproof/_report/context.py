"""ReportContext: the values that several sections of the report share, each computed once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from rankproof._analysis.audit.unjudged import UnjudgedDocuments, find_unjudged
from rankproof._analysis.compare.pairs import CompareOptions, JoinedValues, PairComparison, Verdict, compare_pairs, join_systems
from rankproof._analysis.inputs import AnalysisInput, input_from_results
from rankproof._analysis.pareto import ranking_systems
from rankproof._analysis.segments import SegmentOptions
from rankproof._analysis.values import (
    best_systems,
    has_winner,
    in_summary,
    mean_intervals,
    oriented_value,
)
from rankproof._evaluation.result import MeasureResult
from rankproof._results.experiment_result import ExperimentResult, SystemRun
from rankproof._statistics.intervals import Interval, describe_interval_method
from rankproof.errors import UsageError
from rankproof.measures._judged import Judged

_MAX_DRAWS = 10_000_000
MANY_QUERIES = 2_000
"""With more queries than this, more resamples hardly change a test."""


def compare_options(n: int) -> CompareOptions:
    """Options of the comparisons between systems, for n queries."""
    return CompareOptions(samples=100_000 if n <= MANY_QUERIES else 20_000)


def segment_options(n: int) -> SegmentOptions:
    """Options of the tests of segments against the rest, for n queries."""
    return SegmentOptions(samples=max(1_000, min(10_000, _MAX_DRAWS // max(n, 1))))


@dataclass(frozen=True, eq=False)
class ReportContext:
    """Results with everything that the sections compute from them."""

    results: ExperimentResult

    @cached_property
    def inputs(self) -> AnalysisInput:
        """The results as input for the analyses."""
        return input_from_results(self.results)

    @cached_property
    def measure(self) -> str:
        """The main measure: the first that is a mean, else the first."""
        measures = self.results.result.systems[0].measures
        return next((name for name, one in measures.items() if one.summary == "mean"), next(iter(measures)))

    @cached_property
    def values(self) -> Mapping[str, MeasureResult]:
        """The main measure of each system."""
        return {system.name: system.measures[self.measure] for system in self.results.result.systems}

    @cached_property
    def one(self) -> MeasureResult:
        """The main measure of the first system, for what all systems share."""
        return next(iter(self.values.values()))

    @cached_property
    def oriented_values(self) -> Mapping[str, float]:
        """The value of each system, negated if lower is better."""
        return {name: oriented_value(one) for name, one in self.values.items()}

    @cached_property
    def ranking_systems(self) -> list[str]:
        """The systems with a ranking of their own: an answering system keeps the ranking of its baseline."""
        return ranking_systems(self.results.system_runs) or list(self.values)

    @cached_property
    def answering_systems(self) -> list[str]:
        """The systems that answer from the ranking of another system."""
        return [name for name in self.values if name not in self.ranking_systems]

    @property
    def has_better_direction(self) -> bool:
        """Whether the main measure has a better direction."""
        return has_winner(self.one.measure)

    @cached_property
    def best_systems(self) -> list[str]:
        """The best system, or all that tie."""
        return best_systems({name: self.oriented_values[name] for name in self.ranking_systems})

    @property
    def best(self) -> str:
        """The best system; the fastest of those that tie."""
        return min(self.best_systems, key=lambda name: self.times.get(name, 0.0))

    @cached_property
    def first_system(self) -> str:
        """The first system of the experiment."""
        return self.results.system_runs[0].name

    @cached_property
    def system_runs(self) -> Mapping[str, SystemRun]:
        """The run of each system."""
        return {system_run.name: system_run for system_run in self.results.system_runs}

    @cached_property
    def times(self) -> Mapping[str, float]:
        """The median milliseconds a query of each system; empty if nothing was timed."""
        timed = any(len(system_run.times["total"]) and system_run.times["total"].any() for system_run in self.results.system_runs)
        return {name: system_run.time_of("total")["p50"] for name, system_run in self.system_runs.items()} if timed else {}

    @cached_property
    def intervals(self) -> Mapping[tuple[str, str], Interval | None]:
        """The 95% interval of the mean for each system and measure."""
        return mean_intervals(self._all)

    @cached_property
    def sampling(self) -> str:
        """The method of the intervals; empty if there are none."""
        return describe_interval_method() if any(self.intervals.values()) else ""

    @property
    def _all(self) -> dict[tuple[str, str], MeasureResult]:
        return {(system.name, name): one for system in self.results.result.systems for name, one in system.measures.items()}

    @cached_property
    def unjudged(self) -> UnjudgedDocuments:
        """The rankings of every system and their unjudged documents."""
        return find_unjudged(self.inputs)

    @cached_property
    def settings(self) -> CompareOptions:
        """The options of the comparisons."""
        return compare_options(self.one.queries)

    @cached_property
    def joined_values(self) -> JoinedValues | None:
        """The values of the ranking systems in the main measure; None if there is nothing to compare."""
        result = self.results.result
        systems = tuple(system for system in result.systems if system.name in self.ranking_systems)
        try:
            return join_systems(replace(result, systems=systems), [self.measure]) if self.has_better_direction else None
        except UsageError:
            return None

    @cached_property
    def comparisons(self) -> list[PairComparison]:
        """Every pair of ranking systems in the main measure, the better first."""
        return [] if self.joined_values is None else compare_pairs(self.joined_values, None, self.settings)

    def comparison(self, one: str, other: str) -> PairComparison | None:
        """The comparison of two systems, in either order."""
        return next((each for each in self.comparisons if {each.observed.one, each.observed.other} == {one, other}), None)

    @cached_property
    def not_distinguishable(self) -> list[str]:
        """The systems with no significant difference from the best."""
        not_significant: tuple[Verdict, ...] = ("not significant", "same", "equivalent")
        pairs = {name: self.comparison(self.best, name) for name in self.ranking_systems if name != self.best}
        return [name for name, pair in pairs.items() if pair is not None and pair.verdict in not_significant]


_DEFAULT_CUTOFF = 10


@dataclass(frozen=True, slots=True)
class JudgedShares:
    """The share of judged documents in the top `cutoff` of each system."""

    cutoff: int
    share: Mapping[str, float]


def judged_shares(context: ReportContext) -> JudgedShares:
    """The judged shares within the cutoff of the main measure, else in the top 10."""
    cutoff = getattr(context.one.measure, "cutoff", None) or _DEFAULT_CUTOFF
    measure = Judged @ cutoff
    found = {}
    for name, hits in context.unjudged.hits.items():
        found[name] = measure.summarise(measure.values(hits)[in_summary(hits, context.values[name])])
    return JudgedShares(cutoff, found)
