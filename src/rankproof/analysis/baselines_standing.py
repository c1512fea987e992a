"""Where the systems stand: one measure's values beside chance, the simplest searches and the ceilings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .baselines_known import chance_of
from .baselines_oracle import Ceiling, ceilings
from .baselines_values import best_of, measured
from .evidence import Evidence


@dataclass(frozen=True, slots=True)
class Standing:
    """One measure's numbers: chance, the systems that are baselines by their part, all systems, and the ceilings."""

    measure: str
    queries: int
    chance: float | None
    roles: Mapping[str, str]
    systems: Mapping[str, float]
    ceiling: Ceiling
    best: str

    @property
    def references(self) -> dict[str, float]:
        """Baseline to value."""
        return {role: self.systems[name] for role, name in self.roles.items()}


def standings_of(evidence: Evidence, measures: Sequence[str], roles: Mapping[str, str]) -> dict[str, Standing]:
    """What there is to compare each measure's values with."""
    values, most = measured(evidence, measures), ceilings(evidence, measures)
    found = {}
    for name in measures:
        ones = {system: each[name] for system, each in values.items()}
        first = next(iter(ones.values()))
        chance = chance_of(evidence, first.measure, first.query_ids)
        found[name] = Standing(
            measure=name,
            queries=first.queries,
            chance=None if chance is None else chance.value,
            roles=roles,
            systems={system: one.value for system, one in ones.items()},
            ceiling=most[name],
            best=best_of(ones),
        )
    return found
