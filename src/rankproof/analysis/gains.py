"""Gains: how much one value is above another, in percentage points and relative to it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Increase:
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
