"""The rule of a gate in numbers: whether a mean is within the margin of an accepted one, has dropped, or neither is shown.

All values are oriented so that higher is better. `python -m benchmarks.gate_rule` shows how often each outcome is printed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from rankproof._data.arrays import FloatArray
from rankproof._statistics.decision_rule import SIGNIFICANT, normal_scores, pair_estimates
from rankproof._statistics.distributions import normal_below

GateOutcome = Literal["passed", "failed", "unsure"]
"""`unsure`: neither a drop within the margin nor a significant drop is shown."""
PASSED_SCORE = 1.645
"""The normal score of the difference plus the margin from which on a gate passes: a risk of 5%."""
ALARM_SCORE = -2.0
"""The normal score of the difference from the first baseline at which the alarm is raised."""
_ERRORS_DETECTED = 2.8
"""A drop of this many standard errors is significant with a chance of 80%."""


@dataclass(frozen=True, slots=True)
class PairedChange:
    """The difference of two means over the same queries, its standard error, and the effective number of queries."""

    difference: float
    error: float
    size: float

    def score(self, margin: float = 0.0) -> float:
        """The normal score of the difference plus the margin."""
        return float(normal_scores(np.array([(self.difference + margin) / self.error]), self.size - 1)[0])

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

    def outcome(self, margin: float) -> GateOutcome:
        """Whether the gate passes."""
        if self.score(margin) >= PASSED_SCORE:
            return "passed"
        return "failed" if self.score() <= -SIGNIFICANT else "unsure"

    def is_below_anchor(self, margin: float) -> bool:
        """Whether the drop from the first baseline raises the alarm."""
        return self.difference <= -margin and self.score() <= ALARM_SCORE


def paired_change(now: FloatArray, before: FloatArray, weights: FloatArray | None = None) -> PairedChange:
    """The change of a mean over at least two queries; the error counts one further query with a large difference."""
    estimates = pair_estimates(np.column_stack([now, before]), weights)
    return PairedChange(float(estimates.differences[0, 1]), float(estimates.errors[0, 1]), estimates.size)
