"""The options of comparisons, of segments and of checks of stability, with their checks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from rankproof._data.text import pluralise
from rankproof._data.validation import SEED, check_options, checked_integer
from rankproof._registry import Option
from rankproof._statistics.options import (
    ALPHA,
    CORRECTION,
    CORRECTION_NAMES,
    SAMPLES,
    Correction,
    IntervalMethod,
    SamplingOptions,
)
from rankproof.errors import UsageError

if TYPE_CHECKING:
    from rankproof._analysis.compare.significance import SignificanceTest

Unsure = Literal["warn", "fail"]
Test = Literal["randomisation", "t", "wilcoxon", "sign", "tukey", "tukey-one-way", "friedman"]

TEST = Option("the test of a difference; when to use which: docs/statistics.md", rare=True)
INTERVAL = Option("the interval: Student's t, or by bootstrap bca or percentile", rare=True)
EQUIVALENCE = Option("also test for equivalence within this difference, such as 0.01", above=0, metavar="D", rare=True)
SIGN_FLIPS = SAMPLES._replace(description="number of random sign flips")
RESAMPLES = SAMPLES._replace(description="number of bootstrap resamples")


@dataclass(frozen=True, slots=True)
class CompareOptions(SamplingOptions):
    """The statistics of a comparison."""

    samples: Annotated[int, SIGN_FLIPS] = 100_000
    test: Annotated[Test, TEST] = "randomisation"
    correction: Annotated[Correction, CORRECTION] = "holm"
    interval: Annotated[IntervalMethod, INTERVAL] = "t"
    equivalence: Annotated[float | None, EQUIVALENCE] = None
    resamples: Annotated[int, RESAMPLES] = 10_000

    def __post_init__(self) -> None:
        SamplingOptions.__post_init__(self)
        if self._chosen_test.all_pairs is not None:
            self._check_all_pairs(self._chosen_test.title)

    def _check_all_pairs(self, title: str) -> None:
        """Refuses what a test of all pairs does itself, or cannot be corrected together with."""
        if self.correction != "holm":
            raise UsageError(f"{title} corrects for all pairs itself", fix="leave out --correction")
        if self.equivalence is not None:
            raise UsageError(f"{title} has no test of equivalence", fix="use --test randomisation, or leave out --equivalence")
        if self.has_simultaneous_intervals and self.interval != "t":
            raise UsageError(f"{title} has its own intervals", fix="leave out --interval")

    @property
    def _chosen_test(self) -> SignificanceTest:
        """The record of the chosen test."""
        # Imported late, as are all statistics here: help pages show these options, and numpy takes most of their time.
        from rankproof._analysis.compare.significance import TESTS

        return TESTS[self.test]

    @property
    def correction_name(self) -> str | None:
        """The name of the correction for multiple tests; None without one."""
        named = None if self.correction == "none" else CORRECTION_NAMES[self.correction]
        return self._chosen_test.all_pairs or named

    @property
    def about_p(self) -> str:
        """Whether the p of a pair is corrected before the correction for multiple tests."""
        return "not corrected" if self._chosen_test.all_pairs is None else "for all pairs"

    @property
    def about_interval(self) -> str:
        """What the level of an interval refers to."""
        return "for all pairs together" if self.has_simultaneous_intervals else "for this pair alone, not corrected"

    def level(self, tests: int, succeeded: int) -> float:
        """The p that is significant for one of so many tests; with `bh`, if so many tests succeed."""
        from rankproof._statistics.paired import level_of

        return level_of(self.alpha, tests, self.correction, succeeded)

    def is_exact(self, n: int) -> bool:
        """Whether the test enumerates all sign flips."""
        from rankproof._statistics.permutation import MAX_EXACT_QUERIES

        return n <= MAX_EXACT_QUERIES

    def describe(self, n: int, tests: int) -> str:
        """The method in one sentence."""
        from rankproof._statistics.intervals import describe_interval_method
        from rankproof._statistics.permutation import MAX_SAMPLED_QUERIES

        flips = f"exact, all {2**n:,} flips" if self.is_exact(n) else f"{self.samples:,} flips"
        flips = flips if n <= MAX_SAMPLED_QUERIES else f"all flips by Edgeworth expansion, as n > {MAX_SAMPLED_QUERIES:,}"
        test = self._chosen_test.title + (f" ({flips})" if self.test == "randomisation" else "")
        method = describe_interval_method(self.interval, self.resamples)
        interval = f"{self.percent} intervals per pair, not corrected ({method})"
        if self.has_simultaneous_intervals:
            interval = f"simultaneous {self.percent} intervals of all pairs"
        corrected, queries = self._corrected(tests), pluralise(n, "query", "queries")
        return f"Method: {test}, two-sided, alpha {self.alpha:g}, {corrected}; {interval}; seed {self.seed}; n = {queries}."

    @property
    def has_simultaneous_intervals(self) -> bool:
        """Whether the intervals are those of Tukey's test, which hold for all pairs together."""
        return self._chosen_test.all_pairs == "Tukey"

    def _corrected(self, tests: int) -> str:
        if self._chosen_test.all_pairs is not None:
            return "corrected for all pairs"
        name, over = CORRECTION_NAMES[self.correction], pluralise(tests, "test")
        if self.correction == "none":
            return name
        if self.equivalence is None:
            return f"{name} over {over}"
        if self.correction == "holm":
            return f"{name} over {over} of differences and {tests} of equivalence, as one family"
        return f"{name} over {over} of differences and, separately, over {tests} of equivalence"


PERMUTATIONS = SAMPLES._replace(description="number of random permutations of the segments")


@dataclass(frozen=True, slots=True)
class SegmentOptions(SamplingOptions):
    """The statistics of the tests of segments."""

    samples: Annotated[int, PERMUTATIONS] = 10_000
    correction: Annotated[Correction, CORRECTION] = "holm"


SPLITS = Option("number of random halves of the queries", least=1, most=1_000_000)
ROUNDS = Option("how often grades are changed at random", least=1, most=100_000)
FLIP = Option("the share of the grades that a round changes", least=0, most=1, metavar="F")
POOLS = Option("depths: only documents in the top of any run keep their judgement", metavar="N,N…")


@dataclass(frozen=True, slots=True)
class StabilityOptions:
    """Options of the checks."""

    splits: Annotated[int, SPLITS] = 1_000
    flip: Annotated[float, FLIP] = 0.1
    rounds: Annotated[int, ROUNDS] = 50
    pools: Annotated[tuple[int, ...], POOLS] = (10, 20, 50)
    alpha: Annotated[float, ALPHA] = 0.05
    seed: Annotated[int, SEED] = 0

    def __post_init__(self) -> None:
        check_options(self)
        for depth in self.pools:
            checked_integer("pools", depth)
