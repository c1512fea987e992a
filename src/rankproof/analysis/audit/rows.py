"""One tool's values of one measure, and how far they are from ours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..table import Item

OURS, _REFUSES = "rankproof", "refuses"


@dataclass(frozen=True, slots=True)
class Span:
    """Between what a tool that does not define the order of ties may give."""

    worst: float
    best: float

    def __str__(self) -> str:
        return f"{self.worst:.4f} to {self.best:.4f}"


Value = float | Span | None
"""What a tool gives: a value, one between two, or None where it refuses."""


@dataclass(frozen=True, slots=True)
class Furthest:
    """The value that is furthest from ours: whose it is, theirs and ours."""

    system: str
    theirs: float
    ours: float

    @property
    def distance(self) -> float:
        """How far they are apart."""
        return abs(self.theirs - self.ours)


@dataclass(frozen=True, slots=True)
class Row:
    """One tool's values of one measure; `changes` is None where there is no winner to change."""

    convention: str
    measure: str
    values: tuple[Value, ...]
    winner: str | None
    changes: bool | None = None
    differs: str = ""
    checked: str = "run"
    furthest: Furthest | None = None

    def cells(self) -> tuple[Item, ...]:
        """The row as the table has it."""
        values = (_REFUSES if value is None else str(value) if isinstance(value, Span) else value for value in self.values)
        return (self.convention, self.measure, *values, self.winner, self.changes, self.differs, self.checked)


def furthest_of(systems: Sequence[str], theirs: Sequence[Value], ours: Sequence[float]) -> Furthest | None:
    """The value that is furthest, of those that the tool gives."""
    every = zip(systems, theirs, ours, strict=True)
    known = [Furthest(system, value, own) for system, value, own in every if isinstance(value, float)]
    return max(known, key=lambda each: each.distance, default=None)
