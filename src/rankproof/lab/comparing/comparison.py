"""What a comparison found, and where its numbers lie."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .entry import Condition, Entry


@dataclass(frozen=True, eq=False)
class Comparison:
    """Every system under every condition; `chance` is what a random ranking gives in the main measure, None where unknown.

    `left_out` is how many queries some trial was trained on, so that no system was asked them.
    """

    dataset: str
    documents: int
    measures: tuple[str, ...]
    entries: tuple[Entry, ...]
    store: str = "memory"
    left_out: int = 0
    chance: float | None = None
    seed: int = 0
    notes: tuple[str, ...] = ()
    made: Mapping[str, Any] = field(default_factory=dict)

    @property
    def main(self) -> str:
        """The measure that conclusions are drawn from."""
        return self.measures[0]

    @property
    def languages(self) -> list[str]:
        """In their order."""
        return list(dict.fromkeys(entry.condition.language for entry in self.entries))

    @property
    def edits(self) -> list[int]:
        """How many typing errors there were, rising."""
        return sorted({entry.condition.edits for entry in self.entries})

    @property
    def first(self) -> Condition:
        """The plainest condition: the first language, the fewest edits."""
        return Condition(self.languages[0], self.edits[0])

    def under(self, condition: Condition) -> list[Entry]:
        """The systems under one condition, in their order."""
        return [entry for entry in self.entries if entry.condition == condition]

    def entry(self, system: str, condition: Condition) -> Entry:
        """One system under one condition."""
        return next(entry for entry in self.under(condition) if entry.system == system)

    @property
    def systems(self) -> list[str]:
        """In their order."""
        return [entry.system for entry in self.under(self.first)]
