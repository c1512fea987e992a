"""ReportContext: the values that several sections of the report share, each computed once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from rankproof._analysis.audit.unjudged import UnjudgedDocuments, find_unjudged
from rankproof._analysis.compare.comparison import Comparison
from rankproof._analysis.compare.summary import compare_results
from rankproof._analysis.compare.tables import PairRecord
from rankproof._analysis.inputs import AnalysisInput, input_from_results
from rankproof._analysis.options import SegmentOptions
from rankproof._analysis.values import best_systems, in_summary, mean_intervals, oriented_value
from rankproof._evaluation.result import MeasureResult
from rankproof._results.experiment_result import ExperimentResult, SystemRun, TimeSummary, ranking_systems
from rankproof._statistics.intervals import Interval, describe_interval_method
from rankproof.errors import UsageError
from rankproof.measures._judged import Judged

_MAX_DRAWS = 10_000_000
MANY_QUERIES = 2_000
"""With more queries than this, the report leaves out what takes long."""


def segment_options(n: int) -> SegmentOptions:
    """Options of the tests of segments against the rest, for n queries."""
    return SegmentOptions(samples=max(1_000, min(10_000, _MAX_DRAWS // max(n, 1))))


@dataclass(frozen=True, eq=False)
class ReportContext:
    """Results with everything that the sections compute from them; `compared` is what `compare_results` returned, if known."""

    results: ExperimentResult
    compared: Comparison | None = None

    @cached_property
    def inputs(self) -> AnalysisInput:
        """The results as input for the analyses."""
        return input_from_results(self.results)

    @property
    def has_queries(self) -> bool:
        """Whether the page has the table of queries: something was measured."""
        return self.results.is_judged or self.results.answers is not None

    @cached_property
    def comparison(self) -> Comparison | None:
        """The comparison of the systems; None if no measure ranks them."""
        try:
            return self.compared or compare_results(self.results)
        except UsageError:
            return None

    def pair(self, system: str, other: str) -> PairRecord | None:
        """The first system against the second by the primary measure; None if the pair was not tested."""
        pairs = () if self.comparison is None else self.comparison.pairs
        tested = (pair for pair in pairs if not pair.exploratory and {pair.system, pair.other} == {system, other})
        return next((pair if pair.system == system else pair.swapped() for pair in tested), None)

    @cached_property
    def measure(self) -> str:
        """The primary measure, else the first measure that is a mean, else the first."""
        if self.comparison is not None:
            return self.comparison.primary
        measures = self.results.result.systems[0].measures
        return next((name for name, measure in measures.items() if measure.summary == "mean"), next(iter(measures)))

    @cached_property
    def values(self) -> Mapping[str, MeasureResult]:
        """The main measure of each system."""
        return {system.name: system.measures[self.measure] for system in self.results.result.systems}

    @cached_property
    def measured(self) -> MeasureResult:
        """The main measure of the first system, for what all systems share."""
        return next(iter(self.values.values()))

    @cached_property
    def oriented_values(self) -> Mapping[str, float]:
        """The value of each system, negated if lower is better."""
        return {name: oriented_value(value) for name, value in self.values.items()}

    @cached_property
    def ranking_systems(self) -> list[str]:
        """The systems with a ranking of their own: an answering system keeps that of the system that it builds on."""
        return ranking_systems(self.results.system_runs) or list(self.values)

    @cached_property
    def answering_systems(self) -> list[str]:
        """The systems that answer from the ranking of another system."""
        return [name for name in self.values if name not in self.ranking_systems]

    @property
    def has_better_direction(self) -> bool:
        """Whether the main measure has a better direction."""
        return self.measured.measure.has_winner

    @cached_property
    def best_systems(self) -> list[str]:
        """The best system, or all that tie."""
        return best_systems({name: self.oriented_values[name] for name in self.ranking_systems})

    @cached_property
    def leading(self) -> str:
        """The system of the decision, else the one with the best value."""
        chosen = None if self.comparison is None else self.comparison.decision.first
        return self.best_systems[0] if chosen is None else chosen

    @cached_property
    def runner_up(self) -> str:
        """The best of the other systems; the leading one if it is alone."""
        others = [name for name in self.oriented_values if name != self.leading]
        return max(others, key=self.oriented_values.__getitem__, default=self.leading)

    @cached_property
    def system_runs(self) -> Mapping[str, SystemRun]:
        """The run of each system."""
        return {system_run.name: system_run for system_run in self.results.system_runs}

    @cached_property
    def totals(self) -> Mapping[str, TimeSummary]:
        """Mean and percentiles of the milliseconds a query of each timed system."""
        return measured_times(self.results.system_runs)

    @cached_property
    def times(self) -> Mapping[str, float]:
        """The median milliseconds a query of each timed system."""
        return {name: total.p50 for name, total in self.totals.items()}

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
        return {
            (system.name, name): measure for system in self.results.result.systems for name, measure in system.measures.items()
        }

    @cached_property
    def unjudged(self) -> UnjudgedDocuments:
        """The rankings of every system and their unjudged documents."""
        return find_unjudged(self.inputs)


def measured_times(system_runs: Iterable[SystemRun]) -> dict[str, TimeSummary]:
    """Mean and percentiles of the milliseconds a query of each timed system; empty if every time is 0."""
    totals = {run.name: total for run in system_runs if (total := run.time_of("total"))}
    return totals if any(total.mean for total in totals.values()) else {}


_DEFAULT_CUTOFF = 10


@dataclass(frozen=True, slots=True)
class JudgedShares:
    """The share of judged documents in the top `cutoff` of each system."""

    cutoff: int
    share: Mapping[str, float]


def judged_shares(context: ReportContext) -> JudgedShares:
    """The judged shares within the cutoff of the main measure, else in the top 10."""
    cutoff = getattr(context.measured.measure, "cutoff", None) or _DEFAULT_CUTOFF
    measure = Judged @ cutoff
    shares = {}
    for name, hits in context.unjudged.hits.items():
        measured = context.values[name]
        shares[name] = measure.summarise(measure.values(hits)[in_summary(hits, measured)], measured.weights)
    return JudgedShares(cutoff, shares)
