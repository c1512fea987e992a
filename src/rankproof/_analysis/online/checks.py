"""Checks of a log that keep a decision from being made, each as a sentence with its fix, and counted notes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime

import numpy as np

from rankproof._analysis.online.estimates import SessionValues
from rankproof._analysis.online.interleaved import first_teams
from rankproof._analysis.online.variants import MAX_MOVED, Assignment
from rankproof._data.arrays import BoolArray
from rankproof._data.text import in_a_sentence, pluralise
from rankproof._importers.search_log.log import Codes, SearchLog
from rankproof._statistics.confidence_sequence import SRM_ALARM, share_evidence
from rankproof.errors import for_message

_MOST_CLICKS = 0.05
"""A user with a larger share of all clicks is worth a note."""
_LATE = 1e-6
"""A variant that is missing for so long by chance with a smaller probability came later, or ended earlier."""


def changed_systems(log: SearchLog, drafts: Sequence[int]) -> Iterator[str]:
    """That the systems or the method of an experiment changed, with the first line of each and since when the last one runs."""
    if len(drafts) < 2:
        return
    listed = "; ".join(
        f"{log.drafts[at].method} of {in_a_sentence([*map(for_message, log.drafts[at].systems)])} from {log.drafts[at].place}"
        for at in drafts
    )
    yield f"the systems or the method change in the log: {listed}{_restart(log, drafts)}"


def _restart(log: SearchLog, drafts: Sequence[int]) -> str:
    """The time since which only the last interleaving runs, as a fix."""
    times = {at: log.sessions.time[log.sessions.draft == at] for at in drafts}
    last = max(drafts, key=lambda at: float(np.nanmax(times[at], initial=-np.inf)))
    ends = [float(np.nanmax(times[at], initial=-np.inf)) for at in drafts if at != last]
    start = float(np.nanmin(times[last], initial=np.inf))
    if np.isfinite(start) and max(ends) < start:
        return f"; analyse the last one with --since {shown_instant(start)}"
    return "; give each its own experiment name, and choose one with --experiment"


def uneven_first_places(log: SearchLog, kept: BoolArray, systems: Sequence[str]) -> Iterator[str]:
    """That the first place that systems compete for does not go to each of them equally often."""
    codes = [log.systems.index(system) for system in systems]
    teams = first_teams(log, kept)
    counts = [int(np.count_nonzero(teams == code)) for code in codes]
    evidence = share_evidence(counts, [1 / len(codes)] * len(codes)) if sum(counts) else 0.0
    if evidence >= SRM_ALARM:
        listed = ", ".join(f"{for_message(name)} {count:,}" for name, count in zip(systems, counts, strict=True))
        yield f"the first place that systems compete for goes to {listed} lists, not equally often: the teams are logged wrongly"


def sample_ratio_mismatch(assignment: Assignment, shares: Sequence[float]) -> Iterator[str]:
    """That the variants do not have the users that they should have."""
    counts = assignment.users_by_variant
    if share_evidence(counts, shares) >= SRM_ALARM:
        listed = ", ".join(
            f"{for_message(name)} {count:,} ({count / sum(counts):.1%}, expected {share:.1%})"
            for name, count, share in zip(assignment.variants, counts, shares, strict=True)
        )
        yield f"sample-ratio mismatch: users by variant are {listed}; find out which users are missing, and start again"


def moved_users(assignment: Assignment) -> Iterator[str]:
    """That too many users were in several variants."""
    total = assignment.moved + len(assignment.variant_of)
    if assignment.moved > MAX_MOVED * total:
        share = f"{assignment.moved:,} of {pluralise(total, 'user')} were in several variants"
        yield f"{share}: give each user one variant, and start again"


def late_variants(log: SearchLog, assignment: Assignment) -> Iterator[str]:
    """That a variant comes later than the others, or ends earlier."""
    times = log.sessions.time[assignment.sessions]
    if np.isnan(times).any():
        return
    share = np.array(assignment.users_by_variant) / max(len(assignment.variant_of), 1)
    variant = assignment.variant_of[assignment.users]
    for order, words in ((np.argsort(times, kind="stable"), "starts later"), (np.argsort(-times, kind="stable"), "ends earlier")):
        _, first = np.unique(assignment.users[order], return_index=True)
        arrivals = variant[order][np.sort(first)]
        for at, name in enumerate(assignment.variants):
            missing = int(np.argmax(arrivals == at))
            if missing * np.log1p(-min(share[at], 1 - 1e-12)) < np.log(_LATE):
                limit = times[variant == at].min() if words == "starts later" else times[variant == at].max()
                fix = (
                    f"compare from then on with --since {shown_instant(float(limit))}"
                    if words == "starts later"
                    else "leave out the rows after it"
                )
                yield f"{for_message(name)} {words} than the other variants, at {shown_instant(float(limit))}: {fix}"


def shown_instant(seconds: float) -> str:
    """A time as --since takes it, to the second below."""
    return datetime.fromtimestamp(np.floor(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%S")


def busy_user(log: SearchLog, users: Codes) -> Iterator[str]:
    """The user with more than 5% of all clicks, by the users of the clicks."""
    if not len(users):
        return
    codes, counts = np.unique(users, return_counts=True)
    most = int(counts.argmax())
    if counts[most] > _MOST_CLICKS * len(users):
        code = int(codes[most])
        name = f" {for_message(log.users[code])}" if code < len(log.users) else ""
        share = f"{counts[most] / len(users):.0%} of all {len(users):,} clicks"
        yield f"user{name} has {share}: is it a bot? (--bot WORD leaves it out)"


def expected_shares(variants: Sequence[str], shares: Mapping[str, float]) -> list[float]:
    """The share of users of each variant: equal ones, or those that the user gives."""
    expected = [shares.get(name, 1.0) if shares else 1.0 for name in variants]
    return [share / sum(expected) for share in expected]


def traffic_per_day(times: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float | None:
    """The sessions per day of the last week of the log; None without times, or with less than an hour of them."""
    known = times[np.isfinite(times)]
    if not len(known):
        return None
    last = float(known.max())
    days = min((last - float(known.min())) / 86_400, 7.0)
    return None if days < 1 / 24 else float(np.count_nonzero(known > last - days * 86_400)) / days


def part_of(values: SessionValues, sessions: BoolArray) -> BoolArray:
    """The rows of the values that are these sessions of the log."""
    return sessions[values.sessions]
