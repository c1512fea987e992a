"""The Pareto front: the systems that no other beats in both time and quality."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..experiment.rung import Rung


def contenders(rungs: Iterable[Rung]) -> list[str]:
    """The systems that rank by themselves: one that answers leaves the ranking below it as it is."""
    return [rung.name for rung in rungs if rung.kind != "answer" or rung.over is None]


def front(times: Mapping[str, float], worths: Mapping[str, float]) -> list[str]:
    """The systems to which no other is at least equal in both and better in one, the fastest first."""
    found = [name for name in times if not beaten_by(times, worths, name)]
    return sorted(found, key=lambda name: (times[name], worths[name]))


def beaten_by(times: Mapping[str, float], worths: Mapping[str, float], name: str) -> list[str]:
    """The systems that are at least equal to this one in both, and better in one; the best of them first."""
    found = [other for other in times if _beats(times, worths, other, name)]
    return sorted(found, key=lambda other: (-worths[other], times[other]))


def _beats(times: Mapping[str, float], worths: Mapping[str, float], one: str, other: str) -> bool:
    as_good = times[one] <= times[other] and worths[one] >= worths[other]
    return as_good and (times[one] < times[other] or worths[one] > worths[other])
