"""What a gate measures against: systems' values, query by query, as they were blessed."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ..evidence import Evidence, known_system


@dataclass(frozen=True, eq=False, slots=True)
class Blessed:
    """One system: measure to query to value, and the judged queries that its run did not have."""

    name: str
    measures: Mapping[str, Mapping[str, float]]
    missing: frozenset[str] = frozenset()


@dataclass(frozen=True, eq=False, slots=True)
class Baseline:
    """Blessed systems, what they were measured on, how rankings were read, by which version and when."""

    name: str
    fingerprint: str
    rel: int
    reading: Mapping[str, Any]
    systems: tuple[Blessed, ...]
    version: str
    made: str

    @property
    def measures(self) -> tuple[str, ...]:
        """The measures, which are the same for every system."""
        return tuple(self.systems[0].measures)


def bless(evidence: Evidence, *, version: str, made: str, systems: Collection[str] = ()) -> Baseline:
    """The evidence as a baseline, all of its systems or those that are named."""
    chosen = chosen_systems(evidence, systems)
    blessed = tuple(blessed_of(evidence, name) for name in chosen)
    return Baseline(evidence.name, evidence.fingerprint, evidence.rel, reading_facts(evidence), blessed, version, made)


def chosen_systems(evidence: Evidence, names: Collection[str]) -> tuple[str, ...]:
    """The systems that are named, or all."""
    wanted = {known_system(evidence, name) for name in names}
    return tuple(name for name in evidence.systems if not wanted or name in wanted)


def blessed_of(evidence: Evidence, name: str) -> Blessed:
    """One system's values, and the judged queries that its run lacks."""
    missing = frozenset(evidence.result.queries).difference(evidence.runs[name].queries)
    return Blessed(name, evidence.result.per_query(name), missing)


def reading_facts(evidence: Evidence) -> dict[str, Any]:
    """How rankings are read, as far as values depend on it."""
    return {name: value for name, value in asdict(evidence.reading).items() if name != "threads"}
