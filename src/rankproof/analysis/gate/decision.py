"""A gate's decision, and the sentences that say it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .changes import Change

Matter = Literal["test", "queries", "system", "drop", "threshold", "segment"]


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether one thing passes, in a sentence with its numbers; `is_news` says that a reader should see it though it passes.

    `value` is a mean over `n` queries that was held against a bound, `change` one that was measured against the baseline. Only
    a decision on the test itself has no system.
    """

    matter: Matter
    system: str
    passed: bool
    sentence: str
    measure: str = ""
    segment: str = ""
    change: Change | None = None
    value: float | None = None
    n: int | None = None
    is_news: bool = False

    @property
    def name(self) -> str:
        """What was decided on, in a few words."""
        return f"{self.system} {self.measure or self.matter}{f' in {self.segment}' if self.segment else ''}".lstrip()


def moved(change: Change) -> str:
    """From where to where, on how many queries."""
    return f"from {change.before:.4f} to {change.now:.4f} ({change.difference:+.4f}, n = {change.n:,})"
