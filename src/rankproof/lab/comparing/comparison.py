"""What a comparison found, and where its numbers lie."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from .differences import Difference, all_pairs, difference
from .entry import Condition, Entry
from .remarks import is_conclusive


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

    def pairs(self, condition: Condition) -> list[Difference]:
        """Every pair of systems under one condition in the main measure, the better one first.

        Those that are not trained for retrieval are in none.
        """
        if condition not in self._pairs:
            self._pairs[condition] = all_pairs(list(filter(is_conclusive, self.under(condition))), self.main)
        return self._pairs[condition]

    def change(self, entry: Entry) -> Difference | None:
        """The system with typing errors less itself without, on the same queries, in the main measure.

        None for an entry without typing errors, and where the system was not asked without them.
        """
        if entry.condition.edits == 0 or self.edits[0] != 0:
            return None
        key = entry.system, entry.condition
        if key not in self._changes:
            plain = self.entry(entry.system, Condition(entry.condition.language, 0))
            self._changes[key] = difference(entry, plain, self.main)
        return self._changes[key]

    def relative_change(self, entry: Entry) -> float | None:
        """The change as a share of the value without typing errors."""
        change = self.change(entry)
        if change is None:
            return None
        plain = self.entry(entry.system, Condition(entry.condition.language, 0)).mean(self.main)
        return change.mean / plain if plain else None

    @cached_property
    def _pairs(self) -> dict[Condition, list[Difference]]:
        return {}

    @cached_property
    def _changes(self) -> dict[tuple[str, Condition], Difference]:
        return {}

    @property
    def systems(self) -> list[str]:
        """In their order."""
        return [entry.system for entry in self.under(self.first)]
