"""How a comparison is made, each setting with its default and its check."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from ..statistics.bootstrap import Method
from ..statistics.correction import NAMES, Correction, level_of
from ..statistics.flips import EXACT
from ..statistics.intervals import method_words
from ..statistics.settings import Sampling, check_choice, check_samples, is_number, wrong
from ..wording import counted

Test = Literal["randomisation", "t"]


@dataclass(frozen=True, slots=True)
class ComparisonSettings(Sampling):
    """`margin` is the greatest difference that does not matter, `resamples` how many draws the intervals rest on."""

    test: Test = "randomisation"
    correction: Correction = "holm"
    interval: Method = "bca"
    margin: float | None = None
    resamples: int = 10_000

    def __post_init__(self) -> None:
        for name, choices in (("test", Test), ("correction", Correction), ("interval", Method)):
            check_choice(name, getattr(self, name), choices)
        Sampling.__post_init__(self)
        if self.margin is not None and (not is_number(self.margin) or not 0 < self.margin < math.inf):
            raise wrong("margin", self.margin, "pass a difference above 0, as 0.01 for one percentage point")
        check_samples("resamples", self.resamples)

    def level(self, tests: int, succeeded: int = 0) -> float:
        """The p that is enough for one of so many tests whatever the others show; with `bh` where so many others succeed."""
        return level_of(self.alpha, tests, self.correction, succeeded)

    def is_exact(self, n: int) -> bool:
        """Whether every flip is tried."""
        return n <= EXACT

    def words(self, n: int, tests: int) -> str:
        """How it was done, in a sentence."""
        flips = f"exact, all {2**n:,} flips" if self.is_exact(n) else f"{self.samples:,} flips"
        test = "paired t-test" if self.test == "t" else f"sign-flip randomisation test ({flips})"
        interval = f"{self.percent} intervals of each pair alone ({method_words(self.interval, self.resamples, n, n)})"
        corrected, many = self._corrected(tests), counted(n, "query", "queries")
        return f"How: {test}, two-sided, alpha {self.alpha:g}, {corrected}; {interval}; seed {self.seed}; n = {many}."

    def _corrected(self, tests: int) -> str:
        name, over = NAMES[self.correction], counted(tests, "test")
        if self.correction == "none":
            return name
        if self.margin is None:
            return f"{name} over {over}"
        if self.correction == "holm":
            return f"{name} over {over} of differences and as many of equivalence together"
        return f"{name} over {over} of differences, and over as many of equivalence"
