"""The experiment of a log of interleaved lists."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from rankproof._analysis.online import checks
from rankproof._analysis.online.decide_live import LiveCase
from rankproof._analysis.online.evidence import LiveEvidence
from rankproof._analysis.online.experiment import (
    LOG_FIX,
    Experiment,
    check_clicks,
    costs_of,
    during_experiment,
    facts_of,
    with_baseline_first,
)
from rankproof._analysis.online.interleaved import COMPUTED_CREDITS, Preferences, credits_of, shared_sessions
from rankproof._analysis.online.options import USUAL_MARGIN, USUAL_PRIMARY, OnlineOptions
from rankproof._data.arrays import BoolArray, IntArray
from rankproof._data.text import pluralise
from rankproof._importers.search_log.log import NO_TEAM, Draft, Events, SearchLog
from rankproof._interleaving.methods import TEAM_DRAFT
from rankproof.errors import InputError, UsageError, closest_name, for_message


def interleaving_experiment(log: SearchLog, clicks: Events, options: OnlineOptions) -> Experiment:
    """The preferences of an interleaving experiment."""
    _check_options(options)
    check_clicks(log, clicks, options)
    during = during_experiment(log, options)
    drafts, kept = _drafts(log, during, options)
    draft = log.drafts[drafts[-1]] if drafts else Draft("", TEAM_DRAFT, tuple(sorted(log.systems)))
    systems = with_baseline_first(draft.systems, options, "system")
    if len(systems) < 2:
        what = f"the log holds one system, {for_message(systems[0])}, so there is nothing to compare"
        raise InputError(what, fix=LOG_FIX, source=log.sources[0])
    counted = kept & (np.isin(log.sessions.draft, _same_draft(log, drafts, draft)) if drafts else True)
    values = _preferences(log, clicks, draft, systems, np.flatnonzero(counted), options)
    users = int(values.users.max(initial=-1)) + 1
    own = log.sessions.user[clicks.session[counted[clicks.session]]]
    case = LiveCase(
        values,
        USUAL_MARGIN if options.margin is None else options.margin,
        LiveEvidence("interleaving", users, draft.method),
        costs_of(options),
        options.baseline,
        tuple(_obstacles(log, drafts, counted, systems, clicks)),
        checks.traffic_per_day(values.times),
    )
    notes = (*_notes(log, counted, during, bool(drafts)), *checks.differing_ranks(clicks), *checks.busy_user(log, own))
    facts = {"experiment": draft.experiment, "method": draft.method, **facts_of(values, users, len(own))}
    return Experiment(case, (), notes, facts)


def _obstacles(
    log: SearchLog, drafts: Sequence[int], counted: BoolArray, systems: Sequence[str], clicks: Events
) -> Iterator[str]:
    yield from checks.changed_systems(log, _groups(log, drafts))
    yield from checks.uneven_first_places(log, counted, systems)
    yield from checks.contradicting_ranks(clicks)
    if drafts and not log.sessions.lengths[counted].any():
        yield "no list of the log shows a document"


def _check_options(options: OnlineOptions) -> None:
    for flag, is_given in (
        ("--primary", options.primary != USUAL_PRIMARY),
        ("--metric", bool(options.metrics)),
        ("--guardrail", bool(options.guardrails)),
        ("--share", bool(options.shares)),
    ):
        if is_given:
            raise UsageError(f"{flag} is for A/B tests, and the log holds interleaved lists", fix=f"leave out {flag}")


def _preferences(
    log: SearchLog, clicks: Events, draft: Draft, systems: tuple[str, ...], rows: IntArray, options: OnlineOptions
) -> Preferences:
    """The credits of these sessions, with users numbered from 0."""
    counted = np.bincount(clicks.session, minlength=len(log.sessions))
    return Preferences(
        systems,
        np.unique(log.sessions.user[rows], return_inverse=True)[1].astype(np.int32),
        log.sessions.time[rows],
        rows.astype(np.int32),
        credits_of(log, clicks, draft, systems)[rows],
        counted[rows].astype(np.int32),
        draft.method not in COMPUTED_CREDITS,
        options.expect,
    )


def _drafts(log: SearchLog, during: BoolArray, options: OnlineOptions) -> tuple[list[int], BoolArray]:
    """The interleavings of the experiment, in the order of their last sessions, and the sessions that have one."""
    present = np.unique(log.sessions.draft[during & (log.sessions.draft >= 0)]).tolist()
    names = list(dict.fromkeys(log.drafts[at].experiment for at in present))
    if options.experiment is not None and options.experiment not in names:
        near = closest_name(options.experiment, names)
        fix = f"did you mean {near}?" if near else f"the log holds {', '.join(map(for_message, names)) or 'none with a name'}"
        raise UsageError(f"no experiment is called {for_message(options.experiment)}", fix=fix)
    if options.experiment is None and len(names) > 1:
        what = f"the log holds several experiments: {', '.join(for_message(name) or 'one without a name' for name in names)}"
        raise InputError(what, fix="choose one with --experiment NAME", source=log.sources[0])
    own = [at for at in present if options.experiment in (None, log.drafts[at].experiment)]
    if own:
        last = {at: (_last_time(log, at, during), at) for at in own}
        own.sort(key=last.__getitem__)
        return own, during & np.isin(log.sessions.draft, own)
    listed = np.zeros(len(log.sessions), dtype=bool)
    listed[np.repeat(np.arange(len(log.sessions)), log.sessions.lengths)[log.sessions.teams != NO_TEAM]] = True
    return [], during & listed if listed.any() else during


def _last_time(log: SearchLog, draft: int, during: BoolArray) -> float:
    times = log.sessions.time[(log.sessions.draft == draft) & during]
    return float(np.nanmax(times, initial=-math.inf))


def _same_draft(log: SearchLog, drafts: Sequence[int], draft: Draft) -> list[int]:
    """The interleavings of the same systems by the same method, in whatever order the systems are named."""
    wanted = _draft_key(draft)
    return [at for at in drafts if _draft_key(log.drafts[at]) == wanted]


def _draft_key(draft: Draft) -> tuple[str, frozenset[str]]:
    return draft.method, frozenset(draft.systems)


def _groups(log: SearchLog, drafts: Sequence[int]) -> list[int]:
    """One interleaving of each method and set of systems."""
    return list({_draft_key(log.drafts[at]): at for at in drafts}.values())


def _notes(log: SearchLog, kept: BoolArray, during: BoolArray, has_drafts: bool) -> Iterator[str]:
    total, other = int(kept.sum()), int((during & ~kept).sum())
    if other:
        yield f"{pluralise(other, 'session')} of other lists {'does' if other == 1 else 'do'} not count"
    if shared := shared_sessions(log, kept):
        yield f"{pluralise(shared, 'session')} ({shared / total:.1%}) had the same list from all systems: each is a tie"
    if empty := int((kept & (log.sessions.lengths == 0)).sum()):
        yield f"{pluralise(empty, 'session')} without results: each is a tie"
    if not has_drafts:
        yield "the log has no records of rp.interleave: the baseline is the first system by name (--baseline names another)"
