"""What the sections draw on: a climb, and what the analysis says of it, each computed once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from ..analysis.compare.join import join
from ..analysis.compare.pairs import Comparison, comparisons
from ..analysis.compare.settings import ComparisonSettings
from ..analysis.evidence import Evidence, evidence_of_climb
from ..analysis.holes.unjudged import Holes, holes_of
from ..analysis.measured import SAME
from ..analysis.statistics.bootstrap import Interval
from ..analysis.statistics.many import intervals_of
from ..errors import UsageError
from ..evaluation import MeasureResult
from ..experiment.rung import Climb, Rung
from .effort import comparison_settings


@dataclass(frozen=True, eq=False)
class Material:
    """A climb under analysis."""

    climb: Climb

    @cached_property
    def evidence(self) -> Evidence:
        """The climb as the analysis takes it."""
        return evidence_of_climb(self.climb)

    @cached_property
    def measure(self) -> str:
        """The measure that verdicts are told in: the first that is a mean, else the first."""
        measures = self.climb.result.systems[0].measures
        return next((name for name, one in measures.items() if one.summary == "mean"), next(iter(measures)))

    @cached_property
    def values(self) -> Mapping[str, MeasureResult]:
        """System to its values of that measure."""
        return {system.name: system.measures[self.measure] for system in self.climb.result.systems}

    @cached_property
    def one(self) -> MeasureResult:
        """The first system's values of it, for what is true of all."""
        return next(iter(self.values.values()))

    @cached_property
    def worths(self) -> Mapping[str, float]:
        """System to its value, the sign turned where less is better."""
        sign = -1.0 if self.one.measure.higher_is_better is False else 1.0
        return {name: sign * one.value for name, one in self.values.items()}

    @cached_property
    def contenders(self) -> list[str]:
        """The systems that rank by themselves: one that answers leaves the ranking below it as it is."""
        return [rung.name for rung in self.climb.rungs if rung.kind != "answer" or rung.over is None] or list(self.values)

    @property
    def is_contest(self) -> bool:
        """Whether the measure says which system is better."""
        return self.one.measure.kind != "count" and self.one.measure.higher_is_better is not None

    @cached_property
    def leaders(self) -> list[str]:
        """The best systems: one, or those that tie."""
        highest = max(self.worths[name] for name in self.contenders)
        return [name for name in self.contenders if self.worths[name] >= highest - SAME]

    @property
    def best(self) -> str:
        """The best system, of those that tie the fastest."""
        return min(self.leaders, key=lambda name: self.times.get(name, 0.0))

    @cached_property
    def baseline(self) -> str:
        """The first system of the ladder."""
        return self.climb.rungs[0].name

    @cached_property
    def rungs(self) -> Mapping[str, Rung]:
        """System to its rung."""
        return {rung.name: rung for rung in self.climb.rungs}

    @cached_property
    def times(self) -> Mapping[str, float]:
        """System to its milliseconds a query, p50; empty where nothing was timed."""
        timed = any(len(rung.times["total"]) and rung.times["total"].any() for rung in self.climb.rungs)
        return {name: rung.time_of("total")["p50"] for name, rung in self.rungs.items()} if timed else {}

    @cached_property
    def intervals(self) -> Mapping[tuple[str, str], Interval | None]:
        """System and measure to the 95% interval of its mean."""
        values = {(system.name, name): one for system in self.climb.result.systems for name, one in system.measures.items()}
        return intervals_of(values)

    @cached_property
    def holes(self) -> Holes:
        """Every system's rankings, and what of them nobody judged."""
        return holes_of(self.evidence)

    @cached_property
    def settings(self) -> ComparisonSettings:
        """How systems are compared."""
        return comparison_settings(self.one.queries)

    @cached_property
    def comparisons(self) -> list[Comparison]:
        """Every pair of systems under that measure, the better first; none where there is nothing to compare."""
        try:
            return comparisons(join(self.climb.result, [self.measure]), None, self.settings)
        except UsageError:
            return []

    def comparison(self, one: str, other: str) -> Comparison | None:
        """What is known of two systems, whichever is better."""
        return next((each for each in self.comparisons if {each.seen.one, each.seen.other} == {one, other}), None)

    @cached_property
    def rivals(self) -> list[str]:
        """The systems that cannot be told from the best."""
        unsure = ("cannot tell", "same", "equivalent")
        pairs = {name: self.comparison(self.best, name) for name in self.contenders if name != self.best}
        return [name for name, pair in pairs.items() if pair is not None and pair.verdict in unsure]
