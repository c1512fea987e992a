"""A/B tests: the users of each variant, and the difference of a metric between two variants."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rankproof._analysis.online.estimates import LEAST_USERS, LiveEstimate, SessionValues, SystemValue, ratio_of, sums_by
from rankproof._analysis.online.metrics import LiveMetric
from rankproof._data.arrays import BoolArray, FloatArray
from rankproof._importers.search_log.log import Codes, Events, SearchLog
from rankproof._statistics.confidence_sequence import RatioEstimate
from rankproof._statistics.options import USUAL_USERS

MAX_MOVED = 0.01
"""With more users in two variants than this share, the assignment is broken and nothing is decided."""
MAX_MOVED_SESSIONS = 0.1
"""Users with more of the sessions than this share are none: several people have one id."""


@dataclass(frozen=True, eq=False, slots=True)
class Assignment:
    """The sessions that count, and the variant of each user; users and variants are numbered from 0.

    `before` are the sessions of the same users before the experiment, with the users in `before_users`. `moved` users were in
    several variants, in `moved_sessions`, and `without` sessions name no variant; none of these count.
    """

    variants: tuple[str, ...]
    sessions: Codes
    users: Codes
    variant_of: Codes
    before: Codes
    before_users: Codes
    moved: int
    moved_sessions: int
    without: int

    @property
    def users_by_variant(self) -> tuple[int, ...]:
        """How many users each variant has."""
        return tuple(np.bincount(self.variant_of, minlength=len(self.variants)).tolist())


def assign(log: SearchLog, variants: tuple[str, ...], during: BoolArray) -> Assignment:
    """The users of each variant by their sessions during the experiment; users in two variants are left out."""
    code = np.full(len(log.variants) + 1, -1, dtype=np.int32)
    for at, name in enumerate(variants):
        code[log.variants.index(name)] = at
    variant = code[log.sessions.variant]
    named = during & (variant >= 0)
    users = int(log.sessions.user.max(initial=-1)) + 1
    low, high = np.full(users, len(variants), dtype=np.int32), np.full(users, -1, dtype=np.int32)
    np.minimum.at(low, log.sessions.user[named], variant[named])
    np.maximum.at(high, log.sessions.user[named], variant[named])
    moved, stays = (high >= 0) & (low < high), (high >= 0) & (low == high)
    number = np.full(users, -1, dtype=np.int32)
    number[stays] = np.arange(int(stays.sum()), dtype=np.int32)
    sessions = np.flatnonzero(named & stays[log.sessions.user]).astype(np.int32)
    before = np.flatnonzero(~during & stays[log.sessions.user]).astype(np.int32)
    return Assignment(
        variants,
        sessions,
        number[log.sessions.user[sessions]],
        low[stays],
        before,
        number[log.sessions.user[before]],
        int(moved.sum()),
        int((named & moved[log.sessions.user]).sum()),
        int((during & (log.sessions.variant < 0)).sum()),
    )


@dataclass(eq=False)
class VariantValues(SessionValues):
    """The values of one metric in the sessions of an A/B test.

    `covariates` has one row per user, from the same metric before the experiment; None if it is not used.
    """

    metric: LiveMetric
    assignment: Assignment
    times: FloatArray
    values: FloatArray
    clicked: BoolArray
    covariates: FloatArray | None = None
    expect: int = USUAL_USERS

    def __post_init__(self) -> None:
        self.measure, self.systems = self.metric, self.assignment.variants
        self.users, self.sessions = self.assignment.users, self.assignment.sessions

    def compare(self, system: int, other: int, rows: BoolArray | None = None) -> LiveEstimate:
        arms = {at: self.arm(at, rows) for at in range(len(self.systems))}
        first, second = arms[system].estimate, arms[other].estimate
        difference, errors = first.value - second.value, (first.error, second.error)
        # A part of the log, such as a segment or the first days, is compared as it is.
        if self.covariates is not None and rows is None:
            difference, errors = self._adjusted(arms, system, other, difference)
        users, error = first.users + second.users, math.hypot(*errors)
        sessions = int(first.sessions + second.sessions)
        names = self.systems[system], self.systems[other]
        # The interval of a difference needs the errors of both sides.
        enough = min(first.users, second.users) >= LEAST_USERS
        interval = self._interval(difference, error, users) if enough else (-math.inf, math.inf)
        return LiveEstimate(*names, difference, error, users, sessions, interval)

    def arm(self, variant: int, rows: BoolArray | None = None) -> VariantMean:
        """The mean of one variant in these sessions."""
        known = np.isfinite(self.values) & (self.assignment.variant_of[self.users] == variant)
        if rows is not None:
            known &= rows
        count = len(self.assignment.variant_of)
        sums, sizes = sums_by(self.users[known], self.values[known], count), sums_by(self.users[known], None, count)
        return VariantMean(ratio_of(sums, sizes), sums, sizes)

    def _adjusted(
        self, arms: dict[int, VariantMean], system: int, other: int, difference: float
    ) -> tuple[float, tuple[float, float]]:
        """The difference without the part that the users had before, and the errors of both means (CUPED, within variants)."""
        assert self.covariates is not None
        residuals, centred, means = [], [], {}
        for at, arm in arms.items():
            seen = arm.sizes > 0
            own = self.covariates[seen]
            means[at] = own.mean(axis=0)
            residuals.append(arm.residuals()[seen])
            centred.append(own - means[at])
        theta = np.linalg.lstsq(np.concatenate(centred), np.concatenate(residuals), rcond=None)[0]
        errors = [
            math.sqrt(float(((residuals[at] - centred[at] @ theta) ** 2).sum())) / len(centred[at]) for at in (system, other)
        ]
        return difference - float((means[system] - means[other]) @ theta), (errors[0], errors[1])

    def value(self, system: int) -> SystemValue:
        arm = self.arm(system)
        own = self.assignment.variant_of[self.users] == system
        ends = self.sequence(arm.estimate, *self.measure.range)
        clicks = int(np.count_nonzero(self.clicked & own))
        estimate = arm.estimate
        return SystemValue(self.systems[system], estimate.value, ends, int(estimate.sessions), estimate.users, clicks)

    def fewest_clicking(self) -> tuple[int, str]:
        """The users with a value that is not 0, for actions other than clicks, which are rarer."""
        is_action = self.metric.name in ("Conversion", "Revenue")
        active = self.values > 0 if is_action else self.clicked
        users = np.unique(self.users[active])
        counts = np.bincount(self.assignment.variant_of[users], minlength=len(self.systems))
        words = f"users with {'this action' if self.metric.name == 'Conversion' else 'revenue' if is_action else 'a click'}"
        return int(counts.min()), words


@dataclass(frozen=True, eq=False, slots=True)
class VariantMean:
    """The mean of a variant, with the sum and the number of sessions of each user."""

    estimate: RatioEstimate
    sums: FloatArray
    sizes: FloatArray

    def residuals(self) -> FloatArray:
        """What each user adds to the mean, times the number of users."""
        return (self.sums - self.estimate.value * self.sizes) * (self.estimate.users / self.estimate.sessions)


def variant_values(
    log: SearchLog, clicks: Events, assignment: Assignment, metric: LiveMetric, *, expect: int, adjust: bool
) -> VariantValues:
    """The values of a metric, with those of the same users before the experiment as covariates if `adjust`."""
    every = metric.of_sessions(log, clicks)
    clicked = np.zeros(len(log.sessions), dtype=bool)
    clicked[clicks.session] = True
    covariates = _covariates(assignment, every[assignment.before]) if adjust and len(assignment.before) else None
    rows = assignment.sessions
    return VariantValues(metric, assignment, log.sessions.time[rows], every[rows], clicked[rows], covariates, expect)


def _covariates(assignment: Assignment, values: FloatArray) -> FloatArray:
    """For each user how far the metric was off its mean before the experiment, and whether the user was there at all."""
    known, count = np.isfinite(values), len(assignment.variant_of)
    users = assignment.before_users[known]
    sums, sizes = sums_by(users, values[known], count), sums_by(users, None, count)
    mean = sums.sum() / max(sizes.sum(), 1.0)
    return np.column_stack([sums - mean * sizes, (sizes > 0).astype(np.float64)])
