"""Repeated answers to the same question: how much questions and repeats vary, and how many repeats are worth their cost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rankproof._data.arrays import FloatArray


@dataclass(frozen=True, slots=True)
class VarianceSplit:
    """The variance of a paired difference between two systems: of questions, and of repeats of a question.

    `between` may be negative, where repeats alone explain more than the observed variance.
    """

    between: float
    within: float

    def question_share(self, repeats: float = 1) -> float:
        """The share of questions in the variance of a difference with so many repeats."""
        total = max(0.0, self.between) + self.within / repeats
        return max(0.0, self.between) / total if total else 0.0

    def error(self, questions: int, repeats: int) -> float:
        """The standard error of the mean difference with so many questions and repeats."""
        return math.sqrt((max(0.0, self.between) + self.within / repeats) / questions)

    def best_repeats(self, question_cost: float) -> int | None:
        """The number of repeats with the smallest error for the cost, where an answer costs 1 and a new question so much.

        None where questions do not vary: more repeats help as much as more questions.
        """
        if self.between <= 0:
            return None
        return max(1, round(math.sqrt(question_cost * self.within / self.between)))


def split_variance(first: Sequence[FloatArray], second: Sequence[FloatArray]) -> VarianceSplit | None:
    """The split for two systems, each with the repeated values of every question; None without two questions or any repeat.

    What varies in a system that was asked once cannot be told from questions, and counts as theirs.
    """
    freedom = sum(len(values) - 1 for system in (first, second) for values in system)
    if len(first) < 2 or freedom < 1:
        return None
    squares = math.fsum(float(((values - values.mean()) ** 2).sum()) for system in (first, second) for values in system)
    pooled = squares / freedom
    apart = [float(first_values.mean() - second_values.mean()) for first_values, second_values in zip(first, second, strict=True)]
    mean = math.fsum(apart) / len(apart)
    variance = math.fsum((difference - mean) ** 2 for difference in apart) / (len(apart) - 1)
    repeated = repeated_systems(first, second)
    by_repeats = math.fsum(pooled / len(values) for system in repeated for values in system) / len(apart)
    return VarianceSplit(variance - by_repeats, len(repeated) * pooled)


def repeated_systems(*systems: Sequence[FloatArray]) -> list[Sequence[FloatArray]]:
    """The systems that were asked any question more than once."""
    return [system for system in systems if any(len(values) > 1 for values in system)]


def pass_at(right: int, repeats: int, k: int) -> float:
    """The chance that at least one of k answers is right (pass@k), without bias (Chen et al. 2021)."""
    return 1 - math.comb(repeats - right, k) / math.comb(repeats, k)


def pass_all(right: int, repeats: int, k: int) -> float:
    """The chance that all of k answers are right (pass^k)."""
    return math.comb(right, k) / math.comb(repeats, k)
