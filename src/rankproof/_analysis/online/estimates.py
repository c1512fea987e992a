"""What sessions say of two systems: the difference with an interval that is valid at every look, by users."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from rankproof._data.arrays import BoolArray, FloatArray
from rankproof._importers.search_log.log import Codes
from rankproof._statistics.confidence_sequence import ALPHA, RatioEstimate, sequence_interval
from rankproof._statistics.intervals import Interval
from rankproof._statistics.options import USUAL_USERS
from rankproof.measures._base import Measure

LEAST_USERS = 20
"""The errors of fewer users are not known well enough for an interval."""


@dataclass(frozen=True, slots=True)
class LiveEstimate:
    """The value of a system minus that of another, its standard error over users, and the 95% interval."""

    system: str
    other: str
    difference: float
    error: float
    users: int
    sessions: int
    ci: Interval
    preferring: int = 0

    @property
    def known_ci(self) -> Interval | None:
        """The interval, None if there are too few users for one."""
        return self.ci if math.isfinite(self.ci[0]) else None

    @property
    def is_positive(self) -> bool:
        """Whether the interval is above 0."""
        return self.ci[0] > 0

    @property
    def is_negative(self) -> bool:
        """Whether the interval is below 0."""
        return self.ci[1] < 0

    def is_within(self, margin: float) -> bool:
        """Whether the interval lies within the margin."""
        return -margin < self.ci[0] and self.ci[1] < margin

    def reversed(self) -> LiveEstimate:
        """The other system minus this one."""
        low, high = self.ci
        return LiveEstimate(
            self.other, self.system, -self.difference, self.error, self.users, self.sessions, (-high, -low), self.preferring
        )


@dataclass(frozen=True, slots=True)
class SystemValue:
    """The value of one system with its 95% interval, from its own sessions and users.

    `ci` is None with too few users for one, `clicks` where clicks belong to no single system.
    """

    system: str
    value: float
    ci: Interval | None
    sessions: int
    users: int
    clicks: int | None


class SessionValues(ABC):
    """The sessions of an experiment by system, a baseline first; parts of them are masks over `times`."""

    measure: Measure
    systems: tuple[str, ...]
    times: FloatArray
    users: Codes
    sessions: Codes
    expect: int = USUAL_USERS

    @property
    def alpha(self) -> float:
        """The level of each interval: several systems share the chance of a wrong one."""
        return ALPHA / max(len(self.systems) - 1, 1)

    @abstractmethod
    def compare(self, system: int, other: int, rows: BoolArray | None = None) -> LiveEstimate:
        """The difference of two systems in these sessions."""

    @abstractmethod
    def value(self, system: int) -> SystemValue:
        """The value of one system."""

    @abstractmethod
    def fewest_clicking(self) -> tuple[int, str]:
        """The number of users with a click, of the system that has fewest, and the words for these users."""

    def _interval(self, difference: float, error: float, users: int) -> Interval:
        if users < LEAST_USERS or not math.isfinite(difference):
            return -math.inf, math.inf
        low, high, _ = sequence_interval(difference, error, users, expected=self.expect, alpha=self.alpha)
        return low, high

    def sequence(self, estimate: RatioEstimate, least: float, most: float) -> Interval | None:
        """The interval of one mean between its limits, at the level of a single one; None with too few users."""
        if estimate.users < LEAST_USERS:
            return None
        low, high, _ = sequence_interval(estimate.value, estimate.error, estimate.users, expected=self.expect)
        return max(low, least), min(high, most)


def sums_by(users: Codes, values: FloatArray | None, count: int) -> FloatArray:
    """The sum of the values of each user, or the number of rows."""
    return np.bincount(users, weights=values, minlength=count).astype(np.float64, copy=False)


def ratio_of(sums: FloatArray, sizes: FloatArray, least: float = 0.0) -> RatioEstimate:
    """The ratio of sums over the users that have sessions, and its error by the delta method.

    `least` is the smallest sum of squared residuals: that of one further user who differs.
    """
    seen = sizes > 0
    sums, sizes = sums[seen], sizes[seen]
    total = float(sizes.sum())
    if not total:
        return RatioEstimate(math.nan, math.inf, 0, 0.0)
    value = float(sums.sum()) / total
    residuals = sums - value * sizes
    return RatioEstimate(value, math.sqrt(max(float(residuals @ residuals), least)) / total, len(sums), total)
