"""What the sections draw on: a climb, and what the analysis says of it, each computed once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from ..analysis.compare.join import Joined, join
from ..analysis.compare.pairs import Comparison, comparisons
from ..analysis.compare.settings import ComparisonSettings
from ..analysis.evidence import Evidence, evidence_of_climb
from ..analysis.front import contenders
from ..analysis.holes.unjudged import Holes, holes_of
from ..analysis.measured import is_contest, leaders, worth
from ..analysis.statistics.bootstrap import Interval
from ..analysis.statistics.many import how_made, intervals_of
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
        return {name: worth(one) for name, one in self.values.items()}

    @cached_property
    def contenders(self) -> list[str]:
        """The systems that rank by themselves: one that answers leaves the ranking below it as it is."""
        return contenders(self.climb.rungs) or list(self.values)

    @cached_property
    def answerers(self) -> list[str]:
        """The other systems: they answer from the ranking of one of those."""
        return [name for name in self.values if name not in self.contenders]

    @property
    def is_contest(self) -> bool:
        """Whether the measure says which system is better."""
        return is_contest(self.one.measure)

    @cached_property
    def leaders(self) -> list[str]:
        """The best systems: one, or those that tie."""
        return leaders({name: self.worths[name] for name in self.contenders})

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
        return intervals_of(self._all)

    @cached_property
    def sampling(self) -> str:
        """How those were made, as in "bootstrap, BCa, 10,000 resamples"; empty where there is none."""
        return how_made(self._all, self.intervals) or ""

    @property
    def _all(self) -> dict[tuple[str, str], MeasureResult]:
        return {(system.name, name): one for system in self.climb.result.systems for name, one in system.measures.items()}

    @cached_property
    def holes(self) -> Holes:
        """Every system's rankings, and what of them nobody judged."""
        return holes_of(self.evidence)

    @cached_property
    def settings(self) -> ComparisonSettings:
        """How systems are compared."""
        return comparison_settings(self.one.queries)

    @cached_property
    def joined(self) -> Joined | None:
        """The contenders' values of that measure side by side; None where there is nothing to compare."""
        result = self.climb.result
        systems = tuple(system for system in result.systems if system.name in self.contenders)
        try:
            return join(replace(result, systems=systems), [self.measure]) if self.is_contest else None
        except UsageError:
            return None

    @cached_property
    def comparisons(self) -> list[Comparison]:
        """Every pair of contenders under that measure, the better first."""
        return [] if self.joined is None else comparisons(self.joined, None, self.settings)

    def comparison(self, one: str, other: str) -> Comparison | None:
        """What is known of two systems, whichever is better."""
        return next((each for each in self.comparisons if {each.seen.one, each.seen.other} == {one, other}), None)

    @cached_property
    def rivals(self) -> list[str]:
        """The systems that cannot be told from the best."""
        unsure = ("cannot tell", "same", "equivalent")
        pairs = {name: self.comparison(self.best, name) for name in self.contenders if name != self.best}
        return [name for name, pair in pairs.items() if pair is not None and pair.verdict in unsure]
