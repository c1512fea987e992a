"""Where the systems stand: one measure's values beside chance, the simplest searches and the ceilings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...errors import shown
from ..counts import Counts, counts_of
from ..evidence import Evidence
from ..measured import SAME, best_of, measured
from .ceilings import Ceiling, ceilings
from .chance import chance_of
from .luck import unlucky


@dataclass(frozen=True, slots=True)
class Standing:
    """One measure's numbers: chance, the systems that are baselines by their part, all systems, and the ceilings.

    `chance` is over the queries that all means run over, `chances` over each system's own; `luck` is how likely a random ranking
    is to find as little as the system.
    """

    measure: str
    counts: Counts
    chance: float | None
    chances: Mapping[str, float]
    luck: Mapping[str, float]
    roles: Mapping[str, str]
    systems: Mapping[str, float]
    ceiling: Ceiling
    best: str

    @property
    def best_names(self) -> list[str]:
        """The best system, or all that tie."""
        return [name for name, value in self.systems.items() if abs(value - self.systems[self.best]) <= SAME]

    @property
    def best_said(self) -> str:
        """Who has the best value, in words."""
        names = [shown(name) for name in self.best_names]
        if len(self.systems) == 1:
            return f"{names[0]} has {self.measure}"
        return f"{' and '.join(names)} {'tie for' if len(names) > 1 else 'has'} the best {self.measure}"

    @property
    def references(self) -> dict[str, float]:
        """Baseline to value."""
        return {role: self.systems[name] for role, name in self.roles.items()}

    @property
    def below_chance(self) -> list[str]:
        """The systems whose value is below that of a random ranking over the same queries."""
        return [name for name, chance in self.chances.items() if self.systems[name] < chance]


def standings_of(evidence: Evidence, measures: Sequence[str], roles: Mapping[str, str]) -> dict[str, Standing]:
    """What there is to compare each measure's values with."""
    values, most = measured(evidence, measures), ceilings(evidence, measures)
    counts, luck = counts_of(evidence), unlucky(evidence)
    found = {}
    for name in measures:
        ones = {system: each[name] for system, each in values.items()}
        measure = next(iter(ones.values())).measure
        by_queries = {queries: chance_of(evidence, measure, queries) for queries in {counts.common, *counts.queries.values()}}
        chances = {queries: chance.value for queries, chance in by_queries.items() if chance is not None}
        found[name] = Standing(
            measure=name,
            counts=counts,
            chance=chances.get(counts.common),
            chances={system: chances[queries] for system, queries in counts.queries.items() if queries in chances},
            luck=luck,
            roles=roles,
            systems={system: one.value for system, one in ones.items()},
            ceiling=most[name],
            best=best_of(ones),
        )
    return found
