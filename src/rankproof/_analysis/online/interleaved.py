"""Interleaving: which system the clicks of each session prefer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankproof._analysis.online.estimates import LiveEstimate, SessionValues, SystemValue, ratio_of, sums_by
from rankproof._analysis.online.metrics import NetPreference
from rankproof._data.arrays import BoolArray, FloatArray
from rankproof._importers.search_log.columns import chunks
from rankproof._importers.search_log.log import NO_TEAM, SHARED, Codes, Draft, Events, SearchLog
from rankproof._interleaving.methods import PAIRWISE, PROBABILISTIC, pairwise_credit, probabilistic_credit
from rankproof._statistics.options import USUAL_USERS

_SAME_CREDIT = 1e-9
"""Credits that differ by less are equal: sums of shares are not exact."""
COMPUTED_CREDITS = {PAIRWISE: pairwise_credit, PROBABILISTIC: probabilistic_credit}


@dataclass(eq=False)
class Preferences(SessionValues):
    """The credit of each system in each session.

    With `has_teams`, credits are numbers of clicks, and the sign of their difference is the preference of the session. Other
    credits are fair to systems on average alone, and not by their sign: their difference counts, 1 for that of a usual session.
    """

    systems: tuple[str, ...]
    users: Codes
    times: FloatArray
    sessions: Codes
    credits: FloatArray
    clicks: Codes
    has_teams: bool = True
    expect: int = USUAL_USERS
    measure = NetPreference()

    def preference(self, system: int, other: int) -> FloatArray:
        """Above 0 for each session that prefers the system, below 0 for one that prefers the other, 0 for a tie."""
        apart = self.credits[:, system] - self.credits[:, other]
        differs = np.abs(apart) > _SAME_CREDIT
        if self.has_teams or not differs.any():
            return np.where(differs, np.sign(apart), 0.0)
        return np.where(differs, apart / float(np.abs(apart[differs]).mean()), 0.0)

    def compare(self, system: int, other: int, rows: BoolArray | None = None) -> LiveEstimate:
        preference, users = self.preference(system, other), self.users
        if rows is not None:
            preference, users = preference[rows], users[rows]
        count = int(self.users.max(initial=-1)) + 1
        estimate = ratio_of(sums_by(users, preference, count), sums_by(users, None, count), least=1.0)
        return LiveEstimate(
            self.systems[system],
            self.systems[other],
            estimate.value,
            estimate.error,
            estimate.users,
            int(estimate.sessions),
            self._interval(estimate.value, estimate.error, estimate.users),
            int(np.count_nonzero(preference)),
        )

    def value(self, system: int) -> SystemValue:
        """The share of the preferences that the system has, of those between it and any other."""
        others = [self.preference(system, other) for other in range(len(self.systems)) if other != system]
        won, decided = (sum((kind(opponent) for opponent in others), np.zeros(len(self.users))) for kind in (_won, np.abs))
        count = int(self.users.max(initial=-1)) + 1
        estimate = ratio_of(sums_by(self.users, won, count), sums_by(self.users, decided, count), least=1.0)
        value = estimate.value if estimate.users else 0.5
        ends = self.sequence(estimate, 0.0, 1.0)
        clicks = int(self.credits[:, system].sum()) if self.has_teams else None
        return SystemValue(self.systems[system], value, ends, int(np.count_nonzero(won)), estimate.users, clicks)

    def fewest_clicking(self) -> tuple[int, str]:
        return len(np.unique(self.users[self.clicks > 0])), "users with a click"


def _won(preference: FloatArray) -> FloatArray:
    return np.maximum(preference, 0.0)


def credits_of(log: SearchLog, clicks: Events, draft: Draft, systems: tuple[str, ...]) -> FloatArray:
    """The credit of each system in each session of the log, in the order of `systems`."""
    if draft.method in COMPUTED_CREDITS and draft.place:
        return _computed_credits(log, clicks, draft, systems)
    team = teams_of(log, clicks)
    own = (clicks.session[team == log.systems.index(system)] for system in systems)
    return np.column_stack([np.bincount(sessions, minlength=len(log.sessions)).astype(np.float64) for sessions in own])


def teams_of(log: SearchLog, clicks: Events) -> Codes:
    """The system behind each clicked document: that of its place in the list, else the one that the event names."""
    if not len(log.sessions.teams):
        return clicks.team
    sessions = log.sessions
    teams = clicks.team.astype(np.promote_types(clicks.team.dtype, sessions.teams.dtype))
    for rows in chunks(len(clicks)):
        place = np.where(clicks.slot[rows] > 0, sessions.offsets[clicks.session[rows]] + clicks.slot[rows] - 1, -1)
        of_slot = sessions.teams[place]
        is_known = (place >= 0) & (of_slot != NO_TEAM)
        teams[rows][is_known] = of_slot[is_known]
    return teams


def _computed_credits(log: SearchLog, clicks: Events, draft: Draft, systems: tuple[str, ...]) -> FloatArray:
    """The credits by the rankings that each list was made of, for sessions with a click."""
    sessions, credit_of = log.sessions, COMPUTED_CREDITS[draft.method]
    credits = np.zeros((len(sessions), len(systems)))
    order = np.argsort(clicks.session, kind="stable")
    clicked, starts = np.unique(clicks.session[order], return_index=True)
    ends = [*starts[1:].tolist(), len(order)]
    slots, wanted = clicks.slot[order], set(systems)
    columns_of = {
        code: [systems.index(name) for name in known.systems]
        for code, known in enumerate(log.drafts)
        if known.method == draft.method and set(known.systems) == wanted
    }
    for session, start, end in zip(clicked.tolist(), starts.tolist(), ends, strict=True):
        columns = columns_of.get(int(sessions.draft[session]))
        if columns is None:
            continue
        docs = sessions.docs[sessions.offsets[session] : sessions.offsets[session + 1]].tolist()
        places = {slot - 1 for slot in slots[start:end].tolist() if slot > 0}
        credits[session, columns] = credit_of(_rankings(log, session, len(columns)), docs, places)
    return credits


def _rankings(log: SearchLog, session: int, systems: int) -> list[list[int]]:
    flat = log.sessions.rankings[log.sessions.ranking_offsets[session] : log.sessions.ranking_offsets[session + 1]]
    return [[doc for doc in row if doc >= 0] for row in flat.reshape(systems, -1).tolist()]


def competitive_teams(log: SearchLog, kept: BoolArray, most: int) -> list[Codes]:
    """The system of each of the first documents that one system drafted, by place among them; -1 in a list that has fewer.

    Lists without a document at the first place are left out.
    """
    sessions = log.sessions
    competitive = sessions.teams >= 0
    competitive &= np.repeat(kept, sessions.lengths)
    team, session = sessions.teams[competitive], sessions.session_of_slot[competitive]
    starts = np.flatnonzero(np.diff(session, prepend=-1))
    lengths = np.diff(starts, append=len(session))
    places = range(min(most, int(lengths.max(initial=0))))
    return [np.where(lengths > at, team[np.minimum(starts + at, len(team) - 1)], -1) for at in places]


def are_lists_of_single_systems(log: SearchLog) -> bool:
    """Whether lists name their systems, several in all and never two in one list."""
    sessions = log.sessions
    own = sessions.teams >= 0
    if not own.any() or (sessions.draft >= 0).any():
        return False
    team, session = sessions.teams[own], sessions.session_of_slot[own]
    together = session[1:] == session[:-1]
    return len(np.unique(team)) > 1 and not bool((together & (team[1:] != team[:-1])).any())


def shared_sessions(log: SearchLog, kept: BoolArray) -> int:
    """How many of these lists hold only documents of all systems."""
    has_other = np.zeros(len(log.sessions), dtype=bool)
    has_other[log.sessions.session_of_slot[log.sessions.teams != SHARED]] = True
    return int(np.count_nonzero(kept & (log.sessions.lengths > 0) & ~has_other))
