"""Gains: how much one value is above another, in percentage points and relative to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise


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


def gains_of(values: Sequence[float]) -> tuple[Gain, ...]:
    """What each value adds to the one before it."""
    return tuple(Gain(value, base) for base, value in pairwise(values))


def brief(value: float) -> str:
    """A value in a sentence: three decimals, and no 0 before the point."""
    text = f"{value:.3f}"
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text
