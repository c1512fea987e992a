"""The rule of a gate in numbers: whether a mean is within the margin of an accepted one, has dropped, or neither is shown.

All values are oriented so that higher is better. `python -m benchmarks.gate_rule` shows how often each outcome is printed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from rankproof._data.arrays import FloatArray
from rankproof._statistics.decision_rule import SIGNIFICANT, PairEstimates, further_query, normal_scores, pair_estimates
from rankproof._statistics.distributions import normal_below
from rankproof._statistics.means import effective_size, weighted_mean

GateOutcome = Literal["passed", "failed", "unsure"]
"""`unsure`: neither a drop within the margin nor a significant drop is shown."""
MAX_RISK = 0.05
"""A gate passes up to this risk of being more than the margin worse."""
_ALARM_P = 2 * normal_below(-2.0)
"""A loss against the first baseline raises the alarm from a normal score of -2 on; chosen by simulation of slow losses."""
_ERRORS_DETECTED = 2.8
"""A drop of this many standard errors is significant with a chance of 80%."""


@dataclass(frozen=True, slots=True)
class PairedChange:
    """The difference of two means over the same queries, its standard error, and the degrees of freedom."""

    difference: float
    error: float
    freedom: float

    def score(self, margin: float = 0.0) -> float:
        """The normal score of the difference plus the margin."""
        return float(normal_scores(np.array([(self.difference + margin) / self.error]), self.freedom)[0])

    def risk(self, margin: float) -> float:
        """The chance that the true mean is more than the margin lower."""
        return normal_below(-self.score(margin))

    @property
    def p(self) -> float:
        """The two-sided p-value of the difference."""
        return min(1.0, 2 * normal_below(-abs(self.score())))

    @property
    def detectable(self) -> float:
        """The drop that is significant with a chance of 80%."""
        return _ERRORS_DETECTED * self.error

    @property
    def reversed(self) -> PairedChange:
        """The change if lower is better."""
        return replace(self, difference=-self.difference)

    def outcome(self, margin: float, limit: float = MAX_RISK, *, is_allowed_drop: bool = False) -> GateOutcome:
        """Whether the gate passes; a significant drop fails, or one significantly beyond a margin that is an allowed drop."""
        if self.risk(margin) <= limit:
            return "passed"
        return "failed" if self.score(margin if is_allowed_drop else 0.0) <= -SIGNIFICANT else "unsure"


def raises_alarm(drop: float, p: float, margin: float) -> bool:
    """Whether a drop from the first baseline, with its two-sided p-value, raises the alarm."""
    return drop >= margin and p <= _ALARM_P


def paired_change(now: FloatArray, before: FloatArray, weights: FloatArray | None = None) -> PairedChange:
    """The change of a mean over at least two queries; the error counts one further query with a large difference."""
    return change_of_pair(pair_estimates(np.column_stack([now, before]), weights))


def change_of_pair(estimates: PairEstimates) -> PairedChange:
    """The change of the first of two systems against the second."""
    freedom = np.broadcast_to(np.asarray(estimates.freedom, np.float64), estimates.errors.shape)[0, 1]
    return PairedChange(float(estimates.differences[0, 1]), float(estimates.errors[0, 1]), float(freedom))


def detectable_drop(values: FloatArray, weights: FloatArray | None = None, moved: float = 1.0) -> float:
    """The drop of a saved mean that a gate fails with a chance of about 80%, before any build is known.

    A change moves a share `moved` of the queries as far as values are from their mean; or the drop is lost values: a drop of x
    takes x / mean of the queries their whole value, as near the best value, where nothing can rise. The larger drop counts.
    """
    size = effective_size(len(values), weights)
    off = values - weighted_mean(values, weights)
    spread = moved * weighted_mean(off**2, weights)
    further = further_query(np.column_stack([values, values - off]), weights)
    scale = _ERRORS_DETECTED**2 / (size * (size - 1))
    by_moves = scale * (size * spread + max(spread, further))
    squares = weighted_mean(values**2, weights)
    if squares == 0:
        return math.sqrt(by_moves)
    # x² = scale (size (lost x - x²) + largest), where each lost value v has the difference v.
    lost, largest = squares / weighted_mean(values, weights), weighted_mean(values**4, weights) / squares
    half, whole = scale * size * lost / 2, 1 + scale * size
    return max(math.sqrt(by_moves), (half + math.sqrt(half**2 + whole * scale * largest)) / whole)
