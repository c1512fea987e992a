"""Checks of a log that keep a decision from being made, each as a sentence with its fix, and counted notes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import combinations

import numpy as np

from rankproof._analysis.online.estimates import SessionValues, ratio_of
from rankproof._analysis.online.interleaved import Preferences, competitive_teams, teams_of
from rankproof._analysis.online.variants import MAX_MOVED, MAX_MOVED_SESSIONS, Assignment, VariantValues
from rankproof._data.arrays import BoolArray, FloatArray, IntArray
from rankproof._data.text import in_a_sentence, pluralise
from rankproof._importers.search_log.join import REPEATED_EVENT
from rankproof._importers.search_log.log import NO_TEAM, Codes, Events, SearchLog
from rankproof._importers.search_log.tables import EVENTS, SESSIONS
from rankproof._statistics.confidence_sequence import (
    SRM_ALARM,
    RatioEstimate,
    changing_share_evidence,
    sequence_interval,
    share_evidence,
)
from rankproof.errors import for_message

MIN_CHECKED = 100
_MOST_CLICKS = 0.05
"""A user with a larger share of all clicks is worth a note."""
_MOST_ABOVE, _LEAST_APART, _FEWEST_NAMED = 0.1, 0.05, 30
"""Ranks that clicks name contradict the lists if more than this share of them are above the place in the list."""
_LEAST_PAGE = 5
_MOST_UNKNOWN = 0.1
_UNEVEN_LEVEL = 0.01
"""Of experiments whose users have equally many sessions, this share is ever called uneven."""
_LEAST_EFFECTIVE = 20
"""With sessions that are worth those of fewer users, intervals are too narrow: 12% wrong with 2 users of 60% of the sessions
in each variant (5 effective users), 3% with 5 (14), and not more than with equal users from 10 on (27)."""
_DROP_CONCENTRATION = 10.0
"""Rows that are lost in one variant alone are far from equal shares."""
_DROPPED_TIMES, _REPEATS_APART = 1.25, 0.05
"""Shares of dropped rows differ if one is so many times another. Users repeat clicks, so more is needed for repeated ones."""
_PLACES, _OFF_SHARE, _MOST_BROKEN = 20, 0.05, 0.6
"""The places that are checked for their owners, how far a share may be off, and how many turns may be taken twice: half of them
if a coin chooses each document."""
_MOST_MISSING = 0.01
"""With more events without their number than this share, sums of it say little."""
_STRAY = 0.01
"""A variant has no lists from the lowest rank on, or no clicks, if it has at most this share of what another one has."""
_TIMES_AS_LARGE, _FAR_SHARE = 20.0, 0.01
"""Numbers of two variants have different units if medians are so many times apart, or if more than this share of those of a
variant are so many times above the 99th percentile of the other one, or below its first."""
_DAY, _HOUR = 86_400.0, 3600.0
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


def wrong_owners(log: SearchLog, kept: BoolArray, systems: Sequence[str]) -> Iterator[str]:
    """That the places that systems compete for do not go to each of them equally often, or not in turns."""
    codes = [log.systems.index(system) for system in systems]
    owners = competitive_teams(log, kept, _PLACES)
    for at, teams in enumerate(owners):
        counts = [int(np.count_nonzero(teams == code)) for code in codes]
        total = sum(counts)
        evidence = share_evidence(counts, [1 / len(codes)] * len(codes)) / (len(owners) if at else 1) if total else 0.0
        if evidence >= SRM_ALARM and (at == 0 or max(abs(count / total - 1 / len(codes)) for count in counts) > _OFF_SHARE):
            listed = ", ".join(f"{for_message(name)} {count:,}" for name, count in zip(systems, counts, strict=True))
            place = "the first place" if at == 0 else f"place {at + 1} of those"
            cause = "the teams are logged wrongly" if at == 0 else "the teams are logged wrongly, or a system has fewer documents"
            yield f"{place} that systems compete for goes to {listed} lists, not equally often: {cause}"
            return
    if len(codes) > 2:
        return
    for at in range(0, len(owners) - 1, 2):
        second = owners[at + 1]
        twice, total = int(np.count_nonzero((second >= 0) & (owners[at] == second))), int(np.count_nonzero(second >= 0))
        if total >= MIN_CHECKED and twice > _MOST_BROKEN * total:
            both = f"places {at + 1} and {at + 2} that systems compete for are of the same system in {twice:,} of {total:,} lists"
            yield f"{both}, and systems take turns: the teams are logged wrongly"
            return


def systems_without_clicks(values: Preferences) -> Iterator[str]:
    """That no click is on the documents of a system, although many are on those of the others."""
    counts = values.credits.sum(axis=0)
    if values.has_teams and counts.sum() >= MIN_CHECKED and not counts.all():
        missing = in_a_sentence([for_message(name) for name, count in zip(values.systems, counts, strict=True) if not count])
        yield (
            f"none of the {int(counts.sum()):,} clicks is on a document of {missing}: "
            "clicks are missing from the log; log those on every document, and start again"
        )


def clicks_of_no_system(log: SearchLog, clicks: Events) -> Iterator[str]:
    """That it is not known from which system the documents of many clicks are."""
    unknown = int(np.count_nonzero(teams_of(log, clicks) == NO_TEAM))
    if unknown > _MOST_UNKNOWN * len(clicks):
        what = f"{unknown:,} of {pluralise(len(clicks), 'click')} are on documents of no known system"
        yield f"{what}: log the list of each search with the system of each document"


def sample_ratio_mismatch(assignment: Assignment, shares: Sequence[float]) -> Iterator[str]:
    """That the variants do not have the users that they should have."""
    counts = assignment.users_by_variant
    if share_evidence(counts, shares) >= SRM_ALARM:
        listed = ", ".join(
            f"{for_message(name)} {count:,} ({count / sum(counts):.1%}, expected {share:.1%})"
            for name, count, share in zip(assignment.variants, counts, shares, strict=True)
        )
        yield f"sample-ratio mismatch: users by variant are {listed}; find out which users are missing, and start again"


def changing_shares(log: SearchLog, assignment: Assignment, shares: Sequence[float]) -> Iterator[str]:
    """That the shares of the variants among new users change by day, or by hour of the day.

    Users of different times differ, so variants of different times differ without a cause (Simpson's paradox).
    """
    times = log.sessions.time[assignment.sessions]
    if np.isnan(times).any():
        return
    first = _first_times(assignment, times)
    for number, name in ((first // _DAY, _date), (first % _DAY // _HOUR, _clock_hour)):
        parts, counts = _counts_by(number, assignment.variant_of, len(assignment.variants))
        if changing_share_evidence(counts.tolist(), shares) < SRM_ALARM:
            continue
        totals = counts.sum(axis=1)
        of_variant = counts / totals[:, None]
        # The variant and the parts whose shares are farthest apart, of parts that are not small.
        large = np.flatnonzero(totals >= totals.mean() / 2)
        at = int(np.ptp(of_variant[large], axis=0).argmax())
        low, high = (int(large[end]) for end in (of_variant[large, at].argmin(), of_variant[large, at].argmax()))
        extremes = " and ".join(f"{of_variant[part, at]:.1%} {name(parts[part])}" for part in sorted((low, high)))
        what = f"the share of {for_message(assignment.variants[at])} among new users changes: {extremes}"
        why = "users of different times differ, so nothing is decided"
        yield f"{what}; {why}: {_constant_since(assignment, times, parts, shares) if name is _date else _CONSTANT_SHARES}"
        return


_CONSTANT_SHARES = "give the variants the same shares at all times, and start again"


def _shares_change(assignment: Assignment, times: FloatArray, rows: BoolArray, shares: Sequence[float]) -> bool:
    """Whether the shares of the variants change by day among the users of these sessions alone."""
    users = np.unique(assignment.users[rows])
    first = np.full(len(assignment.variant_of), np.inf)
    np.minimum.at(first, assignment.users[rows], times[rows])
    counts = _counts_by(first[users] // _DAY, assignment.variant_of[users], len(assignment.variants))[1]
    return changing_share_evidence(counts.tolist(), shares) >= SRM_ALARM


def _first_times(assignment: Assignment, times: FloatArray) -> FloatArray:
    first = np.full(len(assignment.variant_of), np.inf)
    np.minimum.at(first, assignment.users, times)
    return first


def _counts_by(number: FloatArray, variant: Codes, variants: int) -> tuple[FloatArray, IntArray]:
    """The users of each variant by part, such as a day, and the numbers of the parts."""
    parts, part = np.unique(number, return_inverse=True)
    return parts, np.bincount(part * variants + variant, minlength=len(parts) * variants).reshape(-1, variants)


def _constant_since(assignment: Assignment, times: FloatArray, days: FloatArray, shares: Sequence[float]) -> str:
    """The day from which on the shares are as expected and constant, as a fix."""
    for day in days[1 : _DAYS_TRIED + 1].tolist():
        since = times >= day * _DAY
        users = np.unique(assignment.users[since])
        first = np.full(len(assignment.variant_of), np.inf)
        np.minimum.at(first, assignment.users[since], times[since])
        counts = _counts_by(first[users] // _DAY, assignment.variant_of[users], len(assignment.variants))[1]
        if counts.sum(axis=0).min() < MIN_CHECKED:
            break
        total = counts.sum(axis=0).tolist()
        if changing_share_evidence(counts.tolist(), shares) < 1.0 and share_evidence(total, shares) < SRM_ALARM:
            instant = shown_instant(day * _DAY)[:10]
            return f"compare from {instant} on with --since {instant}"
    return _CONSTANT_SHARES


_DAYS_TRIED = 60


def _date(day: float) -> str:
    return f"on {shown_instant(day * _DAY)[:10]}"


def _clock_hour(hour: float) -> str:
    return f"from {hour:02.0f}:00 UTC"


def uneven_drops(log: SearchLog, assignment: Assignment, since: float | None) -> Iterator[str]:
    """That rows of one variant were dropped more often than those of another, so what is left is not what users did."""
    codes = [log.variants.index(name) for name in assignment.variants]
    known = log.sessions.variant >= 0
    of_user = np.full(int(log.sessions.user.max(initial=-1)) + 1, -1, dtype=np.int32)
    of_user[log.sessions.user[known]] = log.sessions.variant[known]
    counted = np.zeros(len(log.sessions), dtype=bool)
    counted[assignment.sessions] = True
    events = log.events.session[counted[log.events.session]]
    kept = {SESSIONS: log.sessions.variant[counted], EVENTS: log.sessions.variant[events]}
    reasons = list(dict.fromkeys((drop.part, drop.reason) for drop in log.drops))
    for part, reason in reasons:
        own = [drop for drop in log.drops if (drop.part, drop.reason) == (part, reason)]
        users, variant, times = (np.concatenate([getattr(drop, name) for drop in own]) for name in ("users", "variants", "times"))
        if since is not None:
            users, variant = users[~(times < since)], variant[~(times < since)]
        named = (variant < 0) & (users >= 0) & (users < len(of_user))
        variant[named] = of_user[users[named]]
        dropped = np.array([np.count_nonzero(variant == code) for code in codes])
        total = np.array([np.count_nonzero(kept[part] == code) for code in codes]) + dropped
        # Rows of one user come together, so users are counted; rows without a user are users of their own.
        people = [_people(users[variant == code]) for code in codes]
        if not total.all() or not dropped.any():
            continue
        share, expected = dropped / total, (total / total.sum()).tolist()
        if share.max() <= _DROPPED_TIMES * share.min() or (reason == REPEATED_EVENT and np.ptp(share) <= _REPEATS_APART):
            continue
        if share_evidence(people, expected, _DROP_CONCENTRATION) >= SRM_ALARM * len(reasons):
            listed = ", ".join(f"{for_message(name)} {own:.1%}" for name, own in zip(assignment.variants, share, strict=True))
            yield f"{part} {reason} differ by variant ({listed}), and were dropped: find out why, and start again"
            return


def _people(users: Codes) -> int:
    return len(np.unique(users[users >= 0])) + int(np.count_nonzero(users < 0))


def few_users(log: SearchLog, values: SessionValues, own: BoolArray | None = None, of: str = "") -> Iterator[str]:
    """That the sessions of a few users are most of what is compared, by the effective number of users (Kish 1965)."""
    rows = np.ones(len(values.users), dtype=bool) if own is None else own
    counts = np.bincount(values.users[rows]).astype(np.float64)
    effective = counts.sum() ** 2 / max(float(counts @ counts), 1.0)
    # Too few users have a reason of their own.
    if effective >= _LEAST_EFFECTIVE or np.count_nonzero(counts) < _LEAST_EFFECTIVE:
        return
    busiest = int(counts.argmax())
    code = int(log.sessions.user[values.sessions[rows][int((values.users[rows] == busiest).argmax())]])
    name = f" {for_message(log.users[code])}" if code < len(log.users) else ""
    share = f"user{name} has {counts[busiest] / counts.sum():.0%} of the sessions{of}"
    worth = f"these count as those of {effective:.0f} users, and a decision needs {_LEAST_EFFECTIVE}"
    yield f"{share}: {worth}; leave out bots and monitors with --bot or --most-sessions"


def is_even_before(assignment: Assignment) -> bool:
    """Whether users of all variants have sessions before the experiment equally often, as chance gives them."""
    counts, users = np.bincount(assignment.variant_of[np.unique(assignment.before_users)]), assignment.users_by_variant
    counted = [*counts.tolist(), *[0] * (len(users) - len(counts))]
    return share_evidence(counted, [count / sum(users) for count in users]) < SRM_ALARM


def moved_users(assignment: Assignment) -> Iterator[str]:
    """That too many users, or users with too many of the sessions, were in several variants."""
    total = assignment.moved + len(assignment.variant_of)
    if assignment.moved > MAX_MOVED * total:
        share = f"{assignment.moved:,} of {pluralise(total, 'user')} were in several variants"
        yield f"{share}: give each user one variant, and start again"
    elif assignment.moved_sessions > MAX_MOVED_SESSIONS * (assignment.moved_sessions + len(assignment.sessions)):
        share = f"{pluralise(assignment.moved_sessions, 'session')} of {pluralise(assignment.moved, 'user')} in several variants"
        yield f"{share}: give each user an id of their own, and start again"


def uneven_sessions(values: VariantValues) -> Iterator[str]:
    """That users of a variant have more sessions than those of another, and that sums by user do not show its difference.

    Such a difference per session also comes from sessions that are missing in the log of one variant.
    """
    names, lower = values.systems, values.measure.higher_is_better is False
    for at, other in combinations(reversed(range(len(names))), 2):
        pair, (own, base) = values.compare(at, other), (values.arm(number) for number in (at, other))
        sessions = [ratio_of(arm.sizes, (arm.sizes > 0).astype(np.float64)) for arm in (own, base)]
        if not (pair.is_positive or pair.is_negative) or not _sign(sessions, values.expect, _UNEVEN_LEVEL):
            continue
        # Sessions that are missing change no sum of what is good.
        good = [ratio_of(arm.sizes - arm.sums if lower else arm.sums, (arm.sizes > 0).astype(np.float64)) for arm in (own, base)]
        if _sign(good, values.expect, values.alpha) != (-1 if lower else 1) * (1 if pair.is_positive else -1):
            counts = " and ".join(
                f"{for_message(name)} {arm.value:.2f}" for name, arm in zip((names[at], names[other]), sessions, strict=True)
            )
            what = f"sessions per user differ ({counts}), and {values.measure} summed by user does not differ in the same way"
            yield f"{what}: sessions of a variant may be missing; find out which, and start again"


def _sign(arms: Sequence[RatioEstimate], expect: int, alpha: float) -> int:
    """1 if the interval of the first mean less the second is above 0, -1 if it is below, else 0."""
    (first, second), users = arms, sum(arm.users for arm in arms)
    error = math.hypot(first.error, second.error)
    low, high, _ = sequence_interval(first.value - second.value, error, users, expected=expect, alpha=alpha)
    return int(low > 0) - int(high < 0)


def missing_values(log: SearchLog, values: VariantValues) -> Iterator[str]:
    """That events have no number whose action has one otherwise, so that sums leave out what they are about."""
    known = np.isfinite(log.events.value)
    total, own = (np.bincount(log.events.action[rows], minlength=len(log.actions)) for rows in (slice(None), known))
    usual = own > total / 2
    missing, number = int((total - own)[usual].sum()), int(total[usual].sum())
    if missing > _MOST_MISSING * number:
        named = in_a_sentence([for_message(log.actions[at]) for at in np.flatnonzero(usual).tolist()])
        example = f", such as {for_message(log.unread_value)}" if log.unread_value else ""
        what = f"{missing:,} of {number:,} events of {named} have no finite number for {values.metric}{example}"
        yield f"{what}: correct them, and start again"


def different_units(log: SearchLog, assignment: Assignment) -> Iterator[str]:
    """That the numbers of events of two variants, or many of them, are of different units, such as cents."""
    variant = _variant_of_sessions(log, assignment)[log.events.session]
    is_counted = (variant >= 0) & (log.events.value > 0)
    numbers = [log.events.value[is_counted & (variant == at)] for at in range(len(assignment.variants))]
    for at, other in combinations(range(len(numbers)), 2):
        if min(len(numbers[at]), len(numbers[other])) < MIN_CHECKED:
            continue
        names = [for_message(assignment.variants[number]) for number in (at, other)]
        fix = "as of different units; write all in one unit, and start again"
        medians = [float(np.median(numbers[number])) for number in (at, other)]
        if max(medians) >= _TIMES_AS_LARGE * min(medians):
            yield f"the median number of an event is {medians[0]:,.6g} in {names[0]} and {medians[1]:,.6g} in {names[1]}, {fix}"
            return
        for name, rival, own, base in ((*names, numbers[at], numbers[other]), (*names[::-1], numbers[other], numbers[at])):
            low, high = np.quantile(base, (0.01, 0.99))
            for share, words in (
                (float((own > _TIMES_AS_LARGE * high).mean()), f"over {_TIMES_AS_LARGE:g} times as large as 99%"),
                (float((own < low / _TIMES_AS_LARGE).mean()), f"under 1/{_TIMES_AS_LARGE:g} of 99%"),
            ):
                if share > _FAR_SHARE:
                    yield f"{share:.0%} of the numbers of events in {name} are {words} of those in {rival}, {fix}"
                    return


def _variant_of_sessions(log: SearchLog, assignment: Assignment) -> Codes:
    """The variant of each session of the log, -1 for one that does not count."""
    variant = np.full(len(log.sessions), -1, dtype=np.int32)
    variant[assignment.sessions] = assignment.variant_of[assignment.users]
    return variant


def different_first_ranks(log: SearchLog, assignment: Assignment, clicks: Events) -> Iterator[str]:
    """That the ranks of a variant begin later than those of another, as ranks from 0 and from 1 do.

    The ranks are the first ones of the lists, or those of the clicks if no list is known.
    """
    variant, listed = _variant_of_sessions(log, assignment), np.flatnonzero(log.sessions.lengths)
    if len(listed):
        variant, rank = variant[listed], log.sessions.ranks[log.sessions.offsets[listed]]
    else:
        variant, rank = variant[clicks.session], clicks.rank
    if not (variant >= 0).any():
        return
    lowest = int(rank[variant >= 0].min())
    own = [rank[variant == at] for at in range(len(assignment.variants))]
    shares = [float((ranks == lowest).mean()) if len(ranks) >= MIN_CHECKED else math.nan for ranks in own]
    if np.isnan(shares).all():
        return
    most = int(np.nanargmax(shares))
    for at, share in enumerate(shares):
        rival = for_message(assignment.variants[most])
        if share <= _STRAY * shares[most] and len(own[at]) * np.log1p(-min(shares[most], 1 - 1e-12)) < np.log(_LATE):
            what = "lists" if len(listed) else "ranks of clicks"
            begin = f"{what} of {for_message(assignment.variants[at])} begin at a later rank than those of {rival}"
            yield f"{begin}, as if one counted from 0: count the ranks of all variants from 1, and start again"
            return


def variants_without_clicks(log: SearchLog, assignment: Assignment, clicks: Events) -> Iterator[str]:
    """That hardly any click of a variant names a rank or a document that was shown, although those of another one do."""
    variant = _variant_of_sessions(log, assignment)[clicks.session]
    counts = np.bincount(variant[variant >= 0], minlength=len(assignment.variants))
    rates = counts / np.bincount(assignment.variant_of[assignment.users], minlength=len(counts))
    most = int(rates.argmax())
    for at in np.flatnonzero(rates <= _STRAY * rates[most]).tolist() if counts[most] >= MIN_CHECKED else ():
        names = [for_message(assignment.variants[number]) for number in (at, most)]
        what = f"{names[0]} has {pluralise(int(counts[at]), 'click')} with a rank or a document that was shown"
        yield f"{what}, and {names[1]} {counts[most]:,}: log those of all variants, and start again"
        return


def only_clicked_sessions(values: VariantValues) -> Iterator[str]:
    """That sessions without a click are not in the log."""
    if values.clicked.all() and len(values.clicked) >= MIN_CHECKED:
        yield "every session has a click: log those without one as well, and start again"


def contradicting_ranks(clicks: Events) -> Iterator[str]:
    """That the ranks that clicks name have nothing to do with the places of their documents in the lists of the log."""
    apart = _ranks_apart(clicks)
    above = apart[apart > 0]
    # Advertisements move ranks down; ranks that begin again on each page are off by its length.
    if len(apart) < _FEWEST_NAMED or len(above) <= _MOST_ABOVE * len(apart):
        return
    if above.min() < _LEAST_PAGE or (above % above.min()).any():
        share = f"{len(above):,} of {pluralise(len(apart), 'click')} name a rank above the place of their document in its list"
        yield f"{share}: log the documents in the order in which they are shown"


def differing_ranks(clicks: Events) -> Iterator[str]:
    """A note on clicks that name another rank than that of their document."""
    apart = _ranks_apart(clicks)
    differing = int(np.count_nonzero(apart))
    if differing > _LEAST_APART * len(apart):
        share = (
            f"{differing:,} of {pluralise(len(apart), 'click')} name another rank than the place of their document in its list"
        )
        yield f"{share}: the place counts, as other blocks on a page move ranks down; log lists in the order shown"


def _ranks_apart(clicks: Events) -> Codes:
    """The place in the list less the named rank, of the clicks that name one."""
    both = (clicks.slot > 0) & (clicks.named_rank > 0)
    return clicks.rank[both] - clicks.named_rank[both]


def late_variants(log: SearchLog, assignment: Assignment, shares: Sequence[float]) -> Iterator[str]:
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
                is_start = words == "starts later"
                fix = (
                    f"compare from then on with --since {shown_instant(float(limit))}"
                    if is_start
                    else "leave out the rows after it"
                )
                if _shares_change(assignment, times, times >= limit if is_start else times <= limit, shares):
                    fix = _CONSTANT_SHARES
                yield f"{for_message(name)} {words} than the other variants, at {shown_instant(float(limit))}: {fix}"


def shown_instant(seconds: float) -> str:
    """A time as --since takes it, to the second below."""
    return datetime.fromtimestamp(np.floor(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%S")


def busy_user(log: SearchLog, users: Codes) -> Iterator[str]:
    """The user with more than 5% of all clicks, by the users of the clicks."""
    if not len(users):
        return
    counts = np.bincount(users)
    code = int(counts.argmax())
    if counts[code] > _MOST_CLICKS * len(users):
        name = f" {for_message(log.users[code])}" if code < len(log.users) else ""
        share = f"{counts[code] / len(users):.0%} of all {len(users):,} clicks"
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
