"""`SearchLog`: what was shown in each session and what users did, as columns of numbers with tables of names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rankproof._data.arrays import BoolArray, FloatArray
from rankproof._importers.base import PartCount
from rankproof._importers.search_log.options import CLICKS

Codes = npt.NDArray[np.int32]
"""Places in a table of names, -1 if there is none; large columns hold them in a smaller type if it is enough."""
Offsets = npt.NDArray[np.int64]
NO_TEAM, SHARED = -2, -1
"""The team of a document that was shown without interleaving, and of one that all systems share."""


@dataclass(frozen=True, slots=True)
class Draft:
    """An interleaving as the log has it: its experiment, its method, the names of its systems, and where it comes first."""

    experiment: str
    method: str
    systems: tuple[str, ...]
    place: str = ""


@dataclass(frozen=True, eq=False, slots=True)
class Sessions:
    """One row per query that was asked, in the order of the log.

    `user`, `query`, `variant` and `draft` are places in the tables of names of the log, `time` seconds since 1970 (NaN if the log
    has no times), `place` the line of the query, which `split_place` names. The documents shown are in `docs` from
    `offsets[i]` to `offsets[i + 1]`, best rank first: their names, `ranks` from 1, and `teams`, the system that each is from
    (a place in `SearchLog.systems`, SHARED or NO_TEAM). `rankings` holds the rankings that the list was made of, for methods
    whose credit needs them: from `ranking_offsets[i]`, one row per system of the draft, all equally long, filled up with -1.
    """

    user: Codes
    time: FloatArray
    query: Codes
    variant: Codes
    draft: Codes
    place: Offsets
    offsets: Offsets
    docs: Codes
    ranks: Codes
    teams: Codes
    rankings: Codes
    ranking_offsets: Offsets
    texts: Mapping[str, tuple[Codes, tuple[str, ...]]] = field(default_factory=dict)
    numbers: Mapping[str, FloatArray] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.user)

    @property
    def lengths(self) -> Offsets:
        """The number of documents shown in each session."""
        return np.diff(self.offsets)

    @property
    def session_of_slot(self) -> Codes:
        """The session of each document shown."""
        return np.repeat(np.arange(len(self), dtype=np.int32), self.lengths)


@dataclass(frozen=True, eq=False, slots=True)
class Events:
    """One row per event that counts: the first of its session, document and action. Those of a session are together.

    `slot` is the place of the document in the list of its session, from 1, and 0 for an event about no document that was shown;
    `rank` the rank there. `named_rank` is the rank and `team` the system that the event itself names, -1 and NO_TEAM if none.
    `value` is NaN without a number, `place` the line of the event.
    """

    session: Codes
    slot: Codes
    rank: Codes
    named_rank: Codes
    doc: Codes
    action: Codes
    team: Codes
    time: FloatArray
    value: FloatArray
    place: Offsets

    def __len__(self) -> int:
        return len(self.session)

    def part(self, rows: BoolArray) -> Events:
        """The events of these rows."""
        if rows.all():
            return self
        columns = {column.name: getattr(self, column.name) for column in fields(self)}
        # A column of one value, such as NaN for events without a number, takes no memory.
        same = {name: np.broadcast_to(column[:1], int(rows.sum())) for name, column in columns.items() if not any(column.strides)}
        return Events(**{name: same[name] if name in same else column[rows] for name, column in columns.items()})


@dataclass(frozen=True, eq=False, slots=True)
class DroppedRows:
    """Rows of a part that were dropped for one reason: user and variant, -1 if not known, and time, NaN if not known."""

    part: str
    reason: str
    users: Codes
    variants: Codes
    times: FloatArray


@dataclass(frozen=True, eq=False, slots=True)
class SearchLog:
    """The sessions and events of a log, the names behind their codes, and what was dropped and why.

    `queries` are the first texts of queries that are the same but for case, width and white space. `counts` say how many rows of
    each part were read, and how many were dropped for which reason; `drops` names the users and variants of dropped rows if the
    log has several variants.
    """

    sources: tuple[str, ...]
    sessions: Sessions
    events: Events
    users: Sequence[str]
    queries: Sequence[str]
    docs: Sequence[str]
    actions: Sequence[str]
    variants: Sequence[str]
    systems: Sequence[str]
    drafts: Sequence[Draft]
    counts: tuple[PartCount, ...]
    notes: tuple[str, ...] = ()
    drops: tuple[DroppedRows, ...] = ()
    unread_value: str = ""
    """The first cell of an event's number that is no number."""
    columns: tuple[str, ...] = ()
    """The columns of plain tables that have no role."""

    def clicks(self, actions: Sequence[str] = CLICKS) -> Events:
        """The events on documents that were shown, of these actions."""
        codes = [self.actions.index(action) for action in actions if action in self.actions]
        return self.events.part(np.isin(self.events.action, codes) & (self.events.rank > 0))

    def without_rows(self) -> SearchLog:
        """The log with its names and counts, and no sessions and events, which take most of the memory."""
        of_sessions = {column.name: getattr(self.sessions, column.name) for column in fields(Sessions)}
        nothing: dict[str, Any] = {name: column[:0] for name, column in of_sessions.items() if isinstance(column, np.ndarray)}
        nothing |= {name: of_sessions[name][:1] * 0 for name in ("offsets", "ranking_offsets")}
        events = self.events.part(np.zeros(len(self.events), dtype=bool))
        return replace(self, sessions=Sessions(**nothing), events=events, drops=())

    def dropped(self) -> tuple[str, ...]:
        """What was dropped, in words."""
        return dropped_words(self.counts)


def dropped_words(counts: Sequence[PartCount]) -> tuple[str, ...]:
    """What was dropped of each part, and why."""
    return tuple(f"{count.part}: {', '.join(map(str, count.dropped))}, dropped" for count in counts if count.dropped)


_LINE_BITS = 40


def joined_place(file: int, line: int) -> int:
    """The number of a file and its line as one number."""
    return (file << _LINE_BITS) | line


def split_place(sources: Sequence[str], place: int) -> tuple[str, int]:
    """The file and line behind `joined_place`."""
    return sources[place >> _LINE_BITS], place & ((1 << _LINE_BITS) - 1)
