"""What a gate measures against: systems' values, query by query, as they were blessed."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ...errors import UsageError, shown
from ..evidence import Evidence, known_system
from ..joining import different_data


@dataclass(frozen=True, eq=False, slots=True)
class Blessed:
    """One system: measure to query to value, and the judged queries that its run did not have."""

    name: str
    measures: Mapping[str, Mapping[str, float]]
    missing: frozenset[str] = frozenset()


@dataclass(frozen=True, eq=False, slots=True)
class Baseline:
    """Blessed systems, what they were measured on, how rankings were read, by which version and when.

    `fingerprint` is the dataset's, empty where there were only run files.
    """

    name: str
    fingerprint: str
    qrels_fingerprint: str
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
    return Baseline(
        name=evidence.name,
        fingerprint=evidence.fingerprint,
        qrels_fingerprint=evidence.qrels_fingerprint,
        rel=evidence.rel,
        reading=reading_facts(evidence),
        systems=blessed,
        version=version,
        made=made,
    )


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


def refuse_others(evidence: Evidence, baseline: Baseline) -> None:
    """A baseline of other data, or one that was made under other rules, says nothing."""
    prints = [(one.qrels_fingerprint, one.fingerprint) for one in (baseline, evidence)]
    if differs := different_data(*prints):
        raise UsageError(
            f"the baseline {shown(baseline.name)} is about other data than {shown(evidence.name)} ({differs})",
            fix="gate on the documents, queries and judgements that were blessed, or bless again",
        )
    if baseline.rel != evidence.rel:
        raise UsageError(f"the baseline was made with --rel {baseline.rel}, this is {evidence.rel}", fix="use the same --rel")
    if dict(baseline.reading) != reading_facts(evidence):
        raise UsageError("the baseline was made with rankings read otherwise", fix="use the options that it was blessed with")
