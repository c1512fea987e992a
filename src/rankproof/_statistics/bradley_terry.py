"""Strengths of systems from preferences between two answers, with the bias of the place where an answer is shown.

The chance that the first of two answers is preferred is the logistic function of the difference of their strengths plus the bias
(Bradley and Terry 1952; Davidson and Beaver 1977). A tie is half a win for each. Comparisons of one question are dependent, so
the question is the unit: each has a row of values whose mean is the estimate and whose variance is that of the sandwich.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankproof._data.arrays import BoolArray, FloatArray, IntArray
from rankproof._statistics.distributions import student_quantile

_RIDGE = 0.02
"""A system that always wins has a finite strength, as if it had lost a small part of a comparison."""
_STEPS, _ACCURACY = 100, 1e-10
_RANK_TOLERANCE = 1e-8


@dataclass(frozen=True, eq=False, slots=True)
class Comparisons:
    """Preferences as arrays: the systems `first` and `second`, what the first one won (1, 0.5 or 0), and the question of each.

    `ordered` says whether the first system is known to have been shown first.
    """

    first: IntArray
    second: IntArray
    won: FloatArray
    question: IntArray
    ordered: BoolArray
    systems: int

    @property
    def is_connected(self) -> bool:
        """Whether every two systems are compared, if only by way of others."""
        reached, before = {0}, 0
        while len(reached) > before:
            before = len(reached)
            pairs = zip(self.first.tolist(), self.second.tolist(), strict=True)
            reached |= {system for pair in pairs if not reached.isdisjoint(pair) for system in pair}
        return len(reached) == self.systems

    @property
    def separates_places(self) -> bool:
        """Whether strengths and the bias of the place differ: not if one system of each pair was always shown first."""
        design = self._design()
        return bool(np.linalg.matrix_rank(design, tol=_RANK_TOLERANCE) == self.systems) if self.ordered.any() else True

    def _design(self) -> FloatArray:
        """A row for each comparison: 1 and -1 for its systems, then 1 if the order is known."""
        rows = np.zeros((len(self.won), self.systems + 1))
        at = np.arange(len(self.won))
        rows[at, self.first], rows[at, self.second], rows[:, -1] = 1.0, -1.0, self.ordered
        return rows


@dataclass(frozen=True, eq=False, slots=True)
class Strengths:
    """The fitted strengths, and values by question and system whose means are the chances of being preferred.

    `bias` is the chance that the first of two equal answers is preferred, with its 95% interval; None if no order is known.
    """

    strengths: FloatArray
    values: FloatArray
    bias: tuple[float, float, float] | None


def fit_strengths(comparisons: Comparisons) -> Strengths:
    """The strengths by penalised likelihood, with the bias of the place where the orders allow it."""
    design = comparisons._design()
    with_bias = bool(comparisons.ordered.any()) and comparisons.separates_places
    penalty = np.full(design.shape[1], _RIDGE)
    if not with_bias:
        design[:, -1] = 0.0
    coefficients = np.zeros(design.shape[1])
    for _ in range(_STEPS):
        chance = _logistic(design @ coefficients)
        score = design.T @ (comparisons.won - chance) - penalty * coefficients
        information = (design * (chance * (1 - chance))[:, None]).T @ design + np.diag(penalty)
        step = np.linalg.solve(information, score)
        coefficients = coefficients + np.clip(step, -2.0, 2.0)
        if np.abs(step).max() < _ACCURACY:
            break
    residual = comparisons.won - _logistic(design @ coefficients)
    questions = int(comparisons.question.max()) + 1
    scores = np.zeros((questions, design.shape[1]))
    np.add.at(scores, comparisons.question, design * residual[:, None])
    # The penalty is shared by all questions, so that the scores add up to 0 and the means are the estimates.
    pulls = questions * np.linalg.solve(information, (scores - penalty * coefficients / questions).T).T
    chances, gradient = _chances(coefficients[:-1])
    values = chances + pulls[:, :-1] @ gradient.T
    bias = _bias(float(coefficients[-1]), np.asarray(pulls[:, -1], dtype=np.float64)) if with_bias else None
    return Strengths(coefficients[:-1] - coefficients[:-1].mean(), values, bias)


def _logistic(odds: FloatArray) -> FloatArray:
    return np.asarray(0.5 + 0.5 * np.tanh(odds / 2))


def _chances(strengths: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The chance of each system to be preferred to another one, and its derivatives by the strengths."""
    systems = len(strengths)
    pairs = _logistic(strengths[:, None] - strengths)
    slopes = pairs * (1 - pairs)
    np.fill_diagonal(pairs, 0.0)
    np.fill_diagonal(slopes, 0.0)
    gradient = -slopes / (systems - 1)
    np.fill_diagonal(gradient, slopes.sum(axis=1) / (systems - 1))
    return pairs.sum(axis=1) / (systems - 1), gradient


def _bias(coefficient: float, pulls: FloatArray) -> tuple[float, float, float]:
    n = len(pulls)
    error = float(np.sqrt((pulls * pulls).sum() / (n * max(n - 1, 1))))
    reach = student_quantile(0.975, max(n - 1, 1)) * error
    middle, low, high = (
        float(_logistic(np.array([value]))[0]) for value in (coefficient, coefficient - reach, coefficient + reach)
    )
    return middle, low, high
