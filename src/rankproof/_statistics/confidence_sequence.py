"""Intervals and tests that are valid at every look, while users arrive."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from rankproof._statistics.distributions import normal_below
from rankproof._statistics.options import USUAL_USERS

ALPHA = 0.05
_MOST = 10_000_000
_SRM_CONCENTRATION = 1000.0
_PART_CONCENTRATION = 100.0
"""Parts of a log are smaller than the log, and changes of shares that matter are larger than those of a wrong split."""
SRM_ALARM = 100.0
"""An e-value of this size is an alarm: by chance it ever comes once in 100 experiments."""


class RatioEstimate(NamedTuple):
    """A mean per session, or another ratio of sums over users, and its standard error over `users`."""

    value: float
    error: float
    users: int
    sessions: float


class SequenceInterval(NamedTuple):
    """An interval that holds the true value at every look with a chance of 95%, and the width in standard errors."""

    low: float
    high: float
    width: float


def interval_width(users: float, expected: int = USUAL_USERS, alpha: float = ALPHA) -> float:
    """The half width in standard errors of an asymptotic confidence sequence, narrowest at `expected` users.

    The normal mixture of Robbins (1970) for estimates that are asymptotically normal (Waudby-Smith et al. 2021).
    """
    tuned = (-2 * math.log(alpha) + math.log(-2 * math.log(alpha)) + 1) / expected
    seen = users * tuned
    return math.sqrt(2 * (seen + 1) / seen * math.log(math.sqrt(seen + 1) / alpha))


def sequence_interval(
    value: float, error: float, users: float, *, expected: int = USUAL_USERS, alpha: float = ALPHA
) -> SequenceInterval:
    """The interval of an estimate at this look, valid at every look."""
    width = interval_width(users, expected, alpha)
    return SequenceInterval(value - width * error, value + width * error, width)


def growth_needed(
    value: float,
    error: float,
    users: int,
    *,
    margin: float = 0.0,
    chance: float | None = None,
    expected: int = USUAL_USERS,
    alpha: float = ALPHA,
) -> float | None:
    """How many times as much traffic decides: the interval then excludes 0, or lies within the margin.

    Without `chance` the estimate stays as it is; with it, decisions come with such a chance, as the true value is not known. None
    above 10 million users.
    """

    def decides(times: float) -> bool:
        if chance is not None:
            return decision_chance(value, error, users, times, margin=margin, expected=expected, alpha=alpha) >= chance
        return interval_width(users * times, expected, alpha) * error / math.sqrt(times) < max(abs(value), margin - abs(value))

    low, high = 1.0, max(_MOST / users, 1.0)
    if not error or not decides(high):
        return None
    if decides(low):
        return low
    for _ in range(60):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if decides(middle) else (middle, high)
    return high


def decision_chance(
    value: float,
    error: float,
    users: int,
    times: float,
    *,
    margin: float = 0.0,
    expected: int = USUAL_USERS,
    alpha: float = ALPHA,
) -> float:
    """The chance that a look at `times` as much traffic decides, if the true value is as likely as the data of today say.

    The estimate then has the mean `value` and the variance error² (1 - 1 / times): its old part is known.
    """
    half = interval_width(users * times, expected, alpha) * error / math.sqrt(times)
    spread = error * math.sqrt(max(1.0 - 1.0 / times, 0.0))
    if spread == 0:
        return float(abs(value) > half or abs(value) + half < margin)
    inside = margin - half
    if inside >= half:
        return 1.0
    outside = normal_below((value - half) / spread) + normal_below((-value - half) / spread)
    within = normal_below((inside - value) / spread) - normal_below((-inside - value) / spread) if inside > 0 else 0.0
    return outside + within


def share_evidence(counts: Sequence[int], shares: Sequence[float], concentration: float = _SRM_CONCENTRATION) -> float:
    """The e-value against counts that have these shares, valid at every look: a Dirichlet mixture around the shares.

    By chance it ever reaches 1 / a with a probability of at most a (Lindon and Malek 2022).
    """
    known = sum(count * math.log(share) for count, share in zip(counts, shares, strict=True))
    return math.exp(min(_log_mixture(counts, shares, concentration) - known, 700.0))


def _log_mixture(counts: Sequence[int], shares: Sequence[float], concentration: float) -> float:
    """The logarithm of the probability of an order of draws with these counts, if shares are drawn around the given ones."""
    logarithm = math.lgamma(concentration) - math.lgamma(concentration + sum(counts))
    for count, share in zip(counts, shares, strict=True):
        prior = concentration * share
        logarithm += math.lgamma(prior + count) - math.lgamma(prior)
    return logarithm


def changing_share_evidence(counts: Sequence[Sequence[int]], shares: Sequence[float]) -> float:
    """The e-value against parts, such as days, whose counts have the same shares, whatever these are; valid at every look.

    Each part has a mixture around `shares`, and the null hypothesis has the shares that fit all parts best, so by chance it
    reaches 1 / a with a probability of at most a (Wasserman, Ramdas and Balakrishnan 2020).
    """
    logarithm = sum(_log_mixture(part, shares, _PART_CONCENTRATION) for part in counts)
    totals = [sum(column) for column in zip(*counts, strict=True)]
    logarithm -= sum(count * math.log(count / sum(totals)) for count in totals if count)
    return math.exp(min(logarithm, 700.0))
