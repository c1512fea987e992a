"""How a comparison is made, each setting with its default and its check."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, get_args

from ..errors import UsageError, shown
from .statistics.bootstrap import METHODS, Method
from .statistics.correction import NAMES, Correction
from .statistics.flips import EXACT

Test = Literal["randomisation", "t"]
MOST = 10_000_000


@dataclass(frozen=True, slots=True)
class Settings:
    """`alpha` is the rate of errors that the family of tests may have; `margin` the greatest difference that does not matter."""

    test: Test = "randomisation"
    correction: Correction = "holm"
    interval: Method = "bca"
    alpha: float = 0.05
    margin: float | None = None
    samples: int = 100_000
    resamples: int = 10_000
    seed: int = 0

    def __post_init__(self) -> None:
        for name, choices in (("test", Test), ("correction", Correction), ("interval", Method)):
            if getattr(self, name) not in get_args(choices):
                raise _wrong(name, getattr(self, name), f"choose from: {', '.join(get_args(choices))}")
        if not _is_number(self.alpha) or not 0 < self.alpha < 0.5:
            raise _wrong("alpha", self.alpha, "pass a number between 0 and 0.5, as 0.05")
        if self.margin is not None and (not _is_number(self.margin) or not 0 < self.margin < math.inf):
            raise _wrong("margin", self.margin, "pass a difference above 0, as 0.01 for one percentage point")
        for name in ("samples", "resamples"):
            if not _is_whole(getattr(self, name)) or not 100 <= getattr(self, name) <= MOST:
                raise _wrong(name, getattr(self, name), f"pass a whole number from 100 to {MOST:,}")
        if not _is_whole(self.seed) or not 0 <= self.seed < 1 << 63:
            raise _wrong("seed", self.seed, "pass a whole number from 0, below 2 to the 63")

    @property
    def percent(self) -> str:
        """How sure an interval is."""
        return f"{100 * (1 - self.alpha):.4g}%"

    def level(self, tests: int) -> float:
        """The p that is enough for one of so many tests, whatever the others show."""
        return self.alpha if self.correction == "none" else self.alpha / tests

    def is_exact(self, n: int) -> bool:
        """Whether every flip is tried."""
        return n <= EXACT

    def words(self, n: int, tests: int) -> str:
        """How it was done, in a sentence."""
        flips = f"exact, all {2**n:,} flips" if self.is_exact(n) else f"{self.samples:,} flips"
        test = "paired t-test" if self.test == "t" else f"sign-flip randomisation test ({flips})"
        corrected = NAMES[self.correction] + ("" if self.correction == "none" else f" over {tests:,} tests")
        interval = f"{self.percent} intervals of each pair alone ({METHODS[self.interval]}, {self.resamples:,} resamples)"
        return f"How: {test}, two-sided, alpha {self.alpha:g}, {corrected}; {interval}; seed {self.seed}; n = {n:,} queries."


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _wrong(name: str, value: Any, fix: str) -> UsageError:
    return UsageError(f"{name} is {shown(repr(value))}", fix=fix)
