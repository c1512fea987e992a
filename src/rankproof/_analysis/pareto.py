"""Pareto front, time by part, gain over a baseline."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rankproof._data.run import PARTS
from rankproof._results.experiment_result import SystemRun


def ranking_systems(system_runs: Iterable[SystemRun]) -> list[str]:
    """The systems that rank by themselves: one that answers leaves the ranking below it as it is."""
    return [system_run.name for system_run in system_runs if system_run.kind != "answer" or system_run.baseline is None]


def pareto_front(times: Mapping[str, float], worths: Mapping[str, float]) -> list[str]:
    """The systems to which no other is at least equal in both and better in one, the fastest first."""
    found = [name for name in times if not dominated_by(times, worths, name)]
    return sorted(found, key=lambda name: (times[name], worths[name]))


def dominated_by(times: Mapping[str, float], worths: Mapping[str, float], name: str) -> list[str]:
    """The systems that are at least equal to this one in both, and better in one; the best of them first."""
    found = [other for other in times if _dominates(times, worths, other, name)]
    return sorted(found, key=lambda other: (-worths[other], times[other]))


def _dominates(times: Mapping[str, float], worths: Mapping[str, float], one: str, other: str) -> bool:
    as_good = times[one] <= times[other] and worths[one] >= worths[other]
    return as_good and (times[one] < times[other] or worths[one] > worths[other])


def stage_means(system_run: SystemRun) -> dict[str, float]:
    """The mean of each stage in ms, in the order of the work; together they are the mean of the whole."""
    return {part: system_run.time_of(part)["mean"] for part in PARTS}


@dataclass(frozen=True, slots=True)
class Gain:
    """What a value adds to a base: percentage points, and the part of the base, None where the base is 0."""

    value: float
    base: float

    @property
    def points(self) -> float:
        """In percentage points."""
        return 100.0 * (self.value - self.base)

    @property
    def relative(self) -> float | None:
        """As a part of the base."""
        return None if self.base == 0 else (self.value - self.base) / self.base

    def __str__(self) -> str:
        relative = "" if self.relative is None else f" ({self.relative:+.1%} relative)"
        return f"{self.points:+.1f} pp{relative}"
