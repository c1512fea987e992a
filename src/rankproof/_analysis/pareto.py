"""The Pareto front of quality and latency, mean times by stage, and gains over a baseline."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rankproof._data.run import PARTS
from rankproof._results.experiment_result import SystemRun


def untimed_systems(system_runs: Iterable[SystemRun]) -> list[str]:
    """The systems without times: run files, systems that have one as an input, and engines that answered no query."""
    return [system_run.name for system_run in system_runs if system_run.time_of("total") is None]


def pareto_front(times: Mapping[str, float], qualities: Mapping[str, float]) -> list[str]:
    """The systems that no other dominates, fastest first."""
    front = [name for name in times if not dominated_by(times, qualities, name)]
    return sorted(front, key=lambda name: (times[name], qualities[name]))


def dominated_by(times: Mapping[str, float], qualities: Mapping[str, float], name: str) -> list[str]:
    """The systems that are at least as fast and as good as this one and better in one of both, best first."""
    dominating = [other for other in times if _dominates(times, qualities, other, name)]
    return sorted(dominating, key=lambda other: (-qualities[other], times[other]))


def _dominates(times: Mapping[str, float], qualities: Mapping[str, float], name: str, other: str) -> bool:
    as_good = times[name] <= times[other] and qualities[name] >= qualities[other]
    return as_good and (times[name] < times[other] or qualities[name] > qualities[other])


def stage_means(system_run: SystemRun) -> dict[str, float]:
    """The mean time of each part in ms, in order of execution; they add up to the mean total."""
    return {part: time.mean for part in PARTS if (time := system_run.time_of(part))}


@dataclass(frozen=True, slots=True)
class Gain:
    """The gain of a value over a base value."""

    value: float
    base: float

    @property
    def points(self) -> float:
        """In percentage points."""
        return 100.0 * (self.value - self.base)

    @property
    def relative(self) -> float | None:
        """As a fraction of the base, None if the base is 0."""
        return None if self.base == 0 else (self.value - self.base) / self.base

    def __str__(self) -> str:
        relative = "" if self.relative is None else f" ({self.relative:+.1%} relative)"
        return f"{self.points:+.1f} pp{relative}"
