"""The options of statistical tests, with their checks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from rankproof._data.validation import SEED, check_options
from rankproof._registry import Option

Correction = Literal["holm", "bonferroni", "bh", "none"]
IntervalMethod = Literal["t", "bca", "percentile"]
Looks = Literal["one", "many"]
Estimator = Literal["ips", "snips", "clipped", "dr"]

CORRECTION_NAMES: dict[Correction, str] = {
    "holm": "Holm",
    "bonferroni": "Bonferroni",
    "bh": "Benjamini-Hochberg",
    "none": "no correction",
}
PERSISTENCE = 0.9
"""The p of rank-biased overlap: the first 10 ranks have 86% of the weight."""
MIN_SAMPLES = 100
USUAL_USERS = 1000
"""Intervals that are valid at every look are narrowest at this number of users, unless another one is expected."""
ALPHA = Option("significance level", above=0, below=0.5, metavar="A", rare=True)
SAMPLES = Option("number of random samples", least=MIN_SAMPLES, most=10_000_000, rare=True)
CORRECTION = Option("correction for multiple tests", rare=True)


@dataclass(frozen=True, slots=True)
class SamplingOptions:
    """The settings of tests that sample."""

    alpha: Annotated[float, ALPHA] = 0.05
    samples: Annotated[int, SAMPLES] = 100_000
    seed: Annotated[int, SEED] = 0

    def __post_init__(self) -> None:
        check_options(self)

    @property
    def percent(self) -> str:
        """The confidence level of an interval."""
        return f"{100 * (1 - self.alpha):.4g}%"
