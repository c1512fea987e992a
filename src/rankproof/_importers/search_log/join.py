"""Joins the rows of a log: queries with what was shown for them, and events with the document that they are about."""

from __future__ import annotations

import re
import time as clock
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from rankproof._data.arrays import BoolArray
from rankproof._data.text import in_a_sentence, pluralise
from rankproof._importers.search_log.columns import PackedColumn, as_small, chunks, release_memory, smallest_dtype
from rankproof._importers.search_log.log import (
    Codes,
    DroppedRows,
    Events,
    Offsets,
    SearchLog,
    Sessions,
    dropped_words,
    split_place,
)
from rankproof._importers.search_log.options import DAY, LogOptions
from rankproof._importers.search_log.plain_rows import PLAIN_ROW
from rankproof._importers.search_log.slots import Array, first_rows, is_sorted, named_docs, order_by_rank, slots_of
from rankproof._importers.search_log.tables import EVENTS, IMPRESSION_ROW, QUERY_ROW, SESSIONS, SHOWN, LogTables
from rankproof.errors import InputError, UsageError, for_message

MAX_SHARED = 0.01
"""With more sessions of several users or variants than this share, the session ids or the variants of the log are wrong."""
_LEAST_ZEROS = 0.02
"""With fewer events at rank 0 than this share, ranks begin at 1 and those events have none."""
_MOST_NAMED = 8
MAX_RANK = 10_000
"""Nobody looks at documents below this rank, and figures by rank take memory for every rank."""
_FIRST_YEARS = 1e8
"""Times before 1973 are days, or seconds since another start."""
_CLOCK_SLACK = 1.0
"""Seconds by which an event may come before its query: the clocks of browsers and servers differ."""
_KEPT = ""
REPEATED_SESSION = "with the query_id of an earlier one"
REPEATED_SEARCH = "with the user, time and documents of another one"
UNKNOWN_SESSION = "of an unknown session"
REPEATED_EVENT = "that repeat one of the same session, document and action"
_UNKNOWN = np.int8(-1)
_SESSIONS_AT_ONCE = 1 << 16
_MINUTE = 60.0


def joined_log(tables: LogTables, sources: Sequence[str]) -> SearchLog:
    """The log of everything that was read; rows that belong to nothing are dropped and counted."""
    join = _Join(tables, tuple(sources))
    if not join.count:
        what = f"{pluralise(len(join.event_session), 'event')}, and no row of a query or of a document that was shown"
        fix = "add the log of queries, or rows with the action search or impression for what was shown"
        if tables.actions:
            what = f"{what}; its actions are {in_a_sentence([*map(for_message, [*tables.actions][:_MOST_NAMED])])}"
        raise InputError(what, fix=fix, source=join.sources[0])
    join.drop_sessions()
    if count := tables.wrong_ranks:
        row = pluralise(count, "row has", "rows have")
        effect = "documents count in the order of rows, and clicks by their document alone"
        join.notes.append(f"{row} a rank that is no whole number from 0: {effect}")
    if count := tables.wrong_values:
        event = pluralise(count, "event has", "events have")
        join.notes.append(
            f"{event} a value that is no finite number, such as {for_message(tables.unread_value)}: it counts as none"
        )
    sessions = join.sessions()
    events = join.events(sessions)
    parts = tables.counts.parts()
    if not len(sessions):
        fix = f"correct the rows that were dropped; {tables.options.user_option} names the field of the user"
        raise InputError(f"no session is left: {'; '.join(dropped_words(parts))}", fix=fix, source=join.sources[0])
    return SearchLog(
        join.sources,
        sessions,
        events,
        tables.users.texts,
        tables.queries.texts,
        tuple(tables.docs),
        tuple(tables.actions),
        tuple(tables.variants),
        tuple(tables.systems),
        tables.named_drafts(join.sources),
        parts,
        tuple(join.notes),
        tuple(join.drops),
        tables.unread_value,
        tuple(tables.unread_columns),
    )


class _Join:
    """The rows of a log with the session of each; `reason` says why a session is dropped."""

    def __init__(self, tables: LogTables, sources: tuple[str, ...]) -> None:
        self.tables, self.sources, self.options, self.notes = tables, sources, tables.options, list[str]()
        self.drops, self.has_variants = list[DroppedRows](), len(tables.variants) > 1
        self.time, self.place, self.kind = tables.time.take(), tables.place.take(small=True), tables.kind.take()
        run_key = tables.key.take()
        is_main = self.kind != IMPRESSION_ROW
        main = np.flatnonzero(is_main)
        self.keys, first, inverse = np.unique(run_key[main], return_index=True, return_inverse=True)
        # Sessions are numbered in the order of the log, their keys in the order of their hashes.
        self.session_of_key = np.empty(len(first), dtype=np.int32)
        self.session_of_key[np.argsort(first)] = np.arange(len(first), dtype=np.int32)
        self.run_session = np.full(len(run_key), -1, dtype=np.int32)
        self.run_session[main] = self.session_of_key[inverse]
        self.run_session[~is_main] = self._sessions_of(run_key[~is_main])
        self.first_run = np.empty(len(first), dtype=np.int32)
        self.first_run[self.session_of_key] = main[first]
        del run_key, main, is_main, first, inverse
        self.event_session = np.empty(len(tables.event_key), dtype=np.int32)
        for start, keys in tables.event_key.blocks():
            self.event_session[start : start + len(keys)] = self._sessions_of(keys)
        tables.event_key.take()
        self.count = len(self.keys)
        del self.keys, self.session_of_key
        release_memory()
        self.reasons: list[str] = [_KEPT]
        self.reason = np.zeros(self.count, dtype=np.int8)
        self.session_user = np.full(self.count, -1, dtype=np.int32)
        self.times = self.time[self.first_run] if self.count else np.empty(0)

    def _sessions_of(self, keys: Array) -> Codes:
        """The sessions with these keys, -1 for unknown ones."""
        if not len(self.keys):
            return np.full(len(keys), -1, dtype=np.int32)
        at = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[at] == keys, self.session_of_key[at], -1).astype(np.int32)

    def drop_sessions(self) -> None:
        """Finds the sessions that cannot be used, each with its first reason; columns that this alone needs are freed."""
        plain = int(np.count_nonzero(self.kind[self.first_run] == PLAIN_ROW)) if self.count else 0
        if plain:
            self.tables.counts.read(SESSIONS, plain)
        self._drop_repeats()
        self._check_times()
        self._check_users()
        self._check_variants()
        self._drop_repeated_searches()
        if self.has_variants:
            self._note_events_of_no_session()
        for column in (self.tables.user, self.tables.event_user, self.tables.event_variant):
            column.take()
        self._drop_bots()
        if self.has_variants:
            self._note_dropped_sessions()

    def _note_events_of_no_session(self) -> None:
        """Keeps the user, the variant and the time of events whose session is not in the log."""
        unknown = self.event_session < 0
        if unknown.any():
            tables = self.tables
            columns = (column.array()[unknown] for column in (tables.event_user, tables.event_variant, tables.event_time))
            self.drops.append(DroppedRows(EVENTS, UNKNOWN_SESSION, *columns))

    def _note_dropped_sessions(self) -> None:
        """Keeps the user, the variant and the time of each session that is dropped."""
        dropped = [(reason, np.flatnonzero(self.reason == code)) for code, reason in enumerate(self.reasons[1:], 1)]
        # Without its repeats a search is as it was, so variants may have more of them.
        dropped = [(reason, rows) for reason, rows in dropped if reason != REPEATED_SEARCH]
        for reason, rows in (*dropped, (REPEATED_SESSION, self.repeated)):
            if len(rows):
                columns = (column[rows] for column in (self.session_user, self.session_variant, self.times))
                self.drops.append(DroppedRows(SESSIONS, reason, *columns))

    def _note_dropped_events(self, reason: str, sessions: Sessions, session: Array, rows: Array) -> None:
        """Keeps the user, the variant and the time of dropped events, by their sessions and their rows."""
        if self.has_variants and len(rows):
            users, variants = sessions.user[session], sessions.variant[session]
            self.drops.append(DroppedRows(EVENTS, reason, users, variants, self.event_time[rows]))

    def _drop(self, sessions: BoolArray, reason: str) -> None:
        """Drops sessions that no earlier reason drops."""
        dropped = sessions & (self.reason == 0)
        if dropped.any():
            self.reasons.append(reason)
            self.reason[dropped] = len(self.reasons) - 1
            line = split_place(self.sources, int(self.place[self.first_run[int(dropped.argmax())]]))[1]
            self.tables.counts.drop(SESSIONS, reason, line=line, count=int(dropped.sum()))

    def _drop_repeats(self) -> None:
        """Counts queries with the id of an earlier one; two interleavings of one id are an error."""
        again = np.flatnonzero(self.kind == QUERY_ROW)
        again = again[self.first_run[self.run_session[again]] != again]
        self.repeated = self.run_session[again]
        for run in again.tolist():
            first = int(self.first_run[self.run_session[run]])
            source, line = split_place(self.sources, int(self.place[run]))
            if self._drafted(run) != self._drafted(first):
                earlier = split_place(self.sources, int(self.place[first]))
                what = f"this query_id has another interleaving at {earlier[0]}:{earlier[1]}"
                raise InputError(
                    what, fix="use a new query_id for every search, and the same seed for the same one", source=source, line=line
                )
            self.tables.counts.drop(SESSIONS, REPEATED_SESSION, line=line)
        self.__dict__.pop("_shown_columns", None)

    def _drop_repeated_searches(self) -> None:
        """Drops searches that a program logged again under a new id; of such sessions the first with an event is kept.

        Dates, and times of whole minutes alone, do not tell a search from the next one.
        """
        user, times = self.session_user, self.times
        if not (times % _MINUTE > 0).any():
            return
        order = np.lexsort((times, user))
        again = (np.diff(user[order]) == 0) & (np.diff(times[order]) == 0) & (times[order][1:] % DAY > 0)
        if not again.any():
            return
        is_close = np.zeros(self.count + 1, dtype=bool)
        is_close[order[1:][again]] = is_close[order[:-1][again]] = True
        _, starts, doc, team = self._shown_columns
        rank, shown = self.tables.slot_rank.array(), dict[int, list[tuple[int, int, int]]]()
        for run in np.flatnonzero(is_close[self.run_session]).tolist():
            rows = slice(int(starts[run]), int(starts[run + 1]))
            slots = zip(rank[rows].tolist(), doc[rows].tolist(), team[rows].tolist(), strict=True)
            shown.setdefault(int(self.run_session[run]), []).extend(slots)
        self.__dict__.pop("_shown_columns", None)
        searches = dict[Any, list[int]]()
        for session in sorted(shown):
            if shown[session] and not self.reason[session]:
                variant = int(self.session_variant[session]) if self.has_variants else -1
                key = (int(user[session]), float(times[session]), variant, tuple(sorted(shown[session])))
                searches.setdefault(key, []).append(session)
        has_event, repeated = np.zeros(self.count + 1, dtype=bool), np.zeros(self.count, dtype=bool)
        has_event[self.event_session] = True
        for sessions in searches.values():
            repeated[sessions] = True
            repeated[next((session for session in sessions if has_event[session]), sessions[0])] = False
        self._drop(repeated, REPEATED_SEARCH)

    def _drafted(self, run: int) -> tuple[Any, ...]:
        """The interleaving of a query with the teams of its list; nothing for a list of one system."""
        draft, starts, doc, team = self._shown_columns
        if draft[run] < 0:
            return ()
        rows = slice(int(starts[run]), int(starts[run + 1]))
        return int(draft[run]), doc[rows].tolist(), team[rows].tolist()

    @cached_property
    def _shown_columns(self) -> tuple[Codes, Offsets, Codes, Codes]:
        """The interleaving of each row, where its documents start, and the documents with their teams."""
        tables = self.tables
        starts = np.concatenate([[0], np.cumsum(tables.shown.array(), dtype=np.int64)])
        return tables.draft.array(), starts, tables.slot_doc.array(), tables.slot_team.array()

    def _check_times(self) -> None:
        known = np.isfinite(self.times)
        if not known.any():
            if self.count:
                self.notes.append(self._without_times)
            return
        self._drop(~known, "without a time, or with one that cannot be read")
        self._drop(known & ((self.times < 0) | (self.times > self._latest)), "with a time before 1970 or in the future")
        if (self.times[known] < _FIRST_YEARS).all():
            self.notes.append("all times are in the first years after 1970: are they in seconds since 1970?")

    @property
    def _without_times(self) -> str:
        """Why no time is known, and what that means."""
        unread = self.tables.unread_time
        if not unread:
            return "the log has no times, so its rows count in the order of the file"
        what = f"no time of the log can be read, such as {for_message(unread)}, so its rows count in the order of the file"
        return f"{what}: write ISO 8601 (2026-11-03T10:00:00Z), or seconds since 1970"

    @property
    def _latest(self) -> float:
        now = clock.time() if self.options.now is None else self.options.now
        return now + DAY

    def _check_users(self) -> None:
        """Gives each session its user; sessions of several users are dropped, and many of them are an error."""
        lowest, self.session_user = self._range_of(self.tables.user, self.tables.event_user)
        shared = (self.session_user >= 0) & (lowest < self.session_user)
        option = self.options.user_option
        fix = f"log a new id for every search; {option} names the field of the user"
        self._drop_few(shared, "belong to several users", fix, "with an id that several users have")
        missing = int((self.session_user < 0).sum())
        if missing == self.count and self.options.user:
            self._reject_field(self.options.user, f"{option} names the field of the user, such as client_id")
        if missing:
            whom = (
                f"no session names a user ({option})"
                if missing == self.count
                else f"{pluralise(missing, 'session')} without a user"
            )
            self.notes.append(
                f"{whom}: each counts as a user of its own, so intervals are too narrow if users return, and no bots are found"
            )
            first = len(self.tables.users.texts)
            self.session_user[self.session_user < 0] = np.arange(first, first + missing, dtype=np.int32)

    def _check_variants(self) -> None:
        """Drops sessions whose rows name several variants; many of them are an error."""
        lowest, highest = self._range_of(self.tables.variant, self.tables.event_variant)
        self.session_variant = highest if self.has_variants else highest[:0]
        if self.options.variant and highest.max(initial=-1) < 0:
            self._reject_field(self.options.variant, "--variant names its field, such as query_attributes.variant")
        fix = "log one variant for each user; --variant names its field"
        self._drop_few((highest >= 0) & (lowest < highest), "name several variants", fix, "that name several variants")

    def _reject_field(self, field: str, fix: str) -> None:
        if self.count:
            raise UsageError(f"no row of the log has a value of {for_message(field)}", fix=fix)

    def _range_of(self, of_run: PackedColumn, of_event: PackedColumn) -> tuple[Codes, Codes]:
        """The lowest and the highest code that the rows of each session name, -1 if they name none."""
        lowest = np.full(self.count, np.iinfo(np.int32).max, dtype=np.int32)
        highest = np.full(self.count, -1, dtype=np.int32)
        for column, row_session in ((of_run, self.run_session), (of_event, self.event_session)):
            for start, codes in column.blocks():
                sessions = row_session[start : start + len(codes)]
                known = (codes >= 0) & (sessions >= 0)
                np.minimum.at(lowest, sessions[known], codes[known])
                np.maximum.at(highest, sessions[known], codes[known])
        return lowest, highest

    def _drop_few(self, sessions: BoolArray, what: str, fix: str, reason: str) -> None:
        """Drops a few sessions that cannot be right; many of them are an error."""
        if sessions.sum() > MAX_SHARED * self.count:
            source, line = split_place(self.sources, int(self.place[self.first_run[int(sessions.argmax())]]))
            words = f"{int(sessions.sum()):,} of {pluralise(self.count, 'session')} {what}"
            raise InputError(words, fix=fix, source=source, line=line)
        self._drop(sessions, reason)

    def _drop_bots(self) -> None:
        options = self.options
        if options.bots:
            names = re.compile("|".join(rf"{re.escape(bot)}(?![a-z])" for bot in options.bots), re.IGNORECASE)
            bots = [code for code, name in enumerate(self.tables.users.texts) if names.search(name)]
            self._drop(np.isin(self.session_user, bots), "of bots, by the id of the user")
        self._drop(self._busy_sessions(options), f"of users with over {options.most_sessions:,} sessions in a day")

    def _busy_sessions(self, options: LogOptions) -> BoolArray:
        """The sessions of users who have more in one day than people do."""
        day = np.floor(np.where(np.isfinite(self.times), self.times, 0.0) / DAY).astype(np.int64)
        if not self.count:
            return np.zeros(0, dtype=bool)
        first = int(day.min())
        cell = self.session_user.astype(np.int64) * (int(day.max()) - first + 1) + day - first
        _, inverse, counts = np.unique(cell, return_inverse=True, return_counts=True)
        busy = np.isin(self.session_user, self.session_user[counts[inverse] > options.most_sessions])
        return np.asarray(busy)

    def sessions(self) -> Sessions:
        """The sessions that are kept, with what was shown."""
        tables = self.tables
        self.kept = np.flatnonzero(self.reason == 0).astype(np.int32)
        self.new_session = np.full(self.count + 1, -1, dtype=np.int32)
        self.new_session[self.kept] = np.arange(len(self.kept), dtype=np.int32)
        runs = self.first_run[self.kept]
        offsets, docs, ranks, teams = self._lists()
        rankings, ranking_offsets = self._rankings(runs)
        sessions = Sessions(
            user=self.session_user[self.kept],
            time=self.times[self.kept],
            query=tables.query.take(small=True)[runs],
            variant=tables.variant.take(small=True)[runs],
            draft=tables.draft.take(small=True)[runs],
            place=self.place[runs],
            offsets=offsets,
            docs=docs,
            ranks=ranks,
            teams=teams,
            rankings=rankings,
            ranking_offsets=ranking_offsets,
            texts={path: (codes.take(small=True)[runs], tuple(names)) for path, (codes, names) in tables.texts.items()},
            numbers={path: numbers.take()[runs] for path, numbers in tables.numbers.items()},
        )
        # Events, which are most of a log, come next.
        del self.run_session, self.session_user, self.time, self.times, self.kind, self.place, self.first_run, self.kept
        release_memory()
        return sessions

    def _rankings(self, runs: Array) -> tuple[Codes, Offsets]:
        """The rankings of pairwise interleavings, of the kept sessions only."""
        flat, starts = self.tables.rankings.take(), self.tables.ranking_start.take()
        if not len(flat):
            return flat, np.broadcast_to(np.int64(0), len(runs) + 1)
        lengths = np.diff(starts, append=len(flat))
        is_kept = np.zeros(len(starts), dtype=bool)
        is_kept[runs] = True
        offsets = np.concatenate([[0], np.cumsum(lengths[runs])]).astype(np.int64)
        return flat if is_kept.all() else flat[np.repeat(is_kept, lengths)], offsets

    def _lists(self) -> tuple[Offsets, Codes, Codes, Codes]:
        """The documents shown by session and rank, without repeats."""
        tables = self.tables
        shown = tables.shown.take()
        run_session = np.where(self._counting_runs(shown), self.new_session[self.run_session], -1)
        session = np.repeat(run_session.astype(np.int32), shown)
        is_listed = np.repeat(self.kind == QUERY_ROW, shown)
        del run_session, shown
        doc, rank, team = tables.slot_doc.take(), tables.slot_rank.take(small=True), tables.slot_team.take(small=True)
        rank = self._ranks_from_1(rank, is_listed)
        too_deep = rank > MAX_RANK
        if too_deep.any():
            tables.counts.drop(SHOWN, f"at a rank above {MAX_RANK:,}", count=int((too_deep & (session >= 0)).sum()))
            session = np.where(too_deep, -1, session)
        del too_deep
        # Most logs are in order, and copies of columns with a row per document shown are what takes memory.
        if session.min(initial=0) < 0:
            is_kept = session >= 0
            session = session[is_kept]
            doc = doc[is_kept]
            rank = rank[is_kept]
            team = team[is_kept]
            is_listed = is_listed[is_kept]
            del is_kept
        if not is_sorted(session):
            at = np.argsort(session, kind="stable").astype(np.int32)
            session = session[at]
            doc = doc[at]
            rank = rank[at]
            team = team[at]
            is_listed = is_listed[at]
            del at
        if not is_listed.all():
            order = order_by_rank(session, rank)
            if order is not None:
                session, doc, rank, team = session[order], doc[order], rank[order], team[order]
                del order
            first = first_rows(session, doc, len(tables.docs))
            if first is not None:
                tables.counts.drop(SHOWN, "that repeat a document of their session", count=int((~first).sum()))
                session, doc, rank, team = session[first], doc[first], rank[first], team[first]
        release_memory()
        counts = np.bincount(session, minlength=len(self.kept))
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        unranked = np.flatnonzero(rank < 0)
        if len(unranked):
            at = unranked - offsets[:-1][session[unranked]] + 1
            rank = rank.astype(np.promote_types(rank.dtype, smallest_dtype(0, int(at.max()))))
            rank[unranked] = at
        return offsets, doc, as_small(rank), team

    def _counting_runs(self, shown: Array) -> BoolArray:
        """The runs whose documents count; an impression does not if its query lists what was shown."""
        runs = np.arange(len(shown), dtype=np.int32)
        known = self.run_session >= 0
        first = np.full(len(shown), -1, dtype=np.int32)
        first[known] = self.first_run[self.run_session[known]]
        impression = self.kind == IMPRESSION_ROW
        has_list = known & (shown[np.maximum(first, 0)] > 0) & (self.kind[np.maximum(first, 0)] == QUERY_ROW)
        for rows, reason in (
            (impression & ~known, "of an unknown session"),
            (impression & has_list, "of a query that lists the documents shown"),
        ):
            if rows.any():
                line = split_place(self.sources, int(self.place[int(rows.argmax())]))[1]
                self.tables.counts.drop(SHOWN, reason, line=line, count=int(rows.sum()))
        return np.asarray(known & np.where(impression, ~has_list, (self.kind == PLAIN_ROW) | (first == runs)))

    def _ranks_from_1(self, rank: Array, is_listed: BoolArray) -> Array:
        """The ranks that rows name, counted from 1 if the log counts from 0."""
        named = rank[~is_listed & (rank >= 0)]
        self.shown_from_0 = bool(len(named)) and int(named.min()) == 0
        if self.shown_from_0:
            rank[~is_listed & (rank >= 0)] += 1
        return rank

    def events(self, sessions: Sessions) -> Events:
        """The events of kept sessions about documents that were shown, or about none, each once."""
        place = self.event_place = self.tables.event_place.take(small=True)
        self.event_time = self.tables.event_time.take()
        status = self.reason[self.event_session]
        status[self.event_session < 0] = _UNKNOWN
        left = np.arange(len(place), dtype=np.int32)
        left = self._drop_events(left, status == _UNKNOWN, UNKNOWN_SESSION, place)
        for code, reason in enumerate(self.reasons):
            if code:
                left = self._drop_events(left, status[left] == code, f"of sessions {reason}", place)
        del status
        self.event_session = self.new_session[self.event_session]
        left = self._drop_events_by_time(left, self.event_session, sessions, place)
        doc = self._event_docs(sessions)[left]
        session = self.event_session[left]
        del self.event_session
        named = self.tables.event_rank.take(small=True)[left]
        none = np.broadcast_to(np.int32(-1), len(left))
        slot = slots_of(session, doc, none, sessions)
        rank = self._event_ranks_from_1(session, slot, named, sessions, left)
        del named
        if (doc < 0).any():
            slot += slots_of(session, none, np.where(doc < 0, rank, none), sessions)
        unknown = (slot == 0) & ((doc >= 0) | (rank >= 0))
        unknown[unknown] = sessions.lengths[session[unknown]] > 0
        slot, rank = as_small(slot), as_small(rank)
        release_memory()
        if unknown.any():
            self._note_dropped_events("of a document that was not shown", sessions, session[unknown], left[unknown])
        left = self._drop_events(left, unknown, "of a document that was not shown", place)
        if unknown.any():
            known = ~unknown
            session = session[known]
            slot = slot[known]
            rank = rank[known]
            doc = doc[known]
            del known
        del unknown
        return self._once(left, session, slot, rank, doc, sessions)

    def _event_docs(self, sessions: Sessions) -> Codes:
        """The document of each event: by its second id if the list of its session shows that one alone."""
        docs, rows = self.tables.event_doc.take(), self.tables.second_id_event.take()
        session, second = self.event_session[rows], self.tables.second_id.take()
        known = session >= 0
        session, second, rows = session[known], second[known], rows[known]
        nowhere = np.full(len(rows), -1, dtype=np.int32)
        by_second = (slots_of(session, docs[rows], nowhere, sessions) == 0) & (slots_of(session, second, nowhere, sessions) > 0)
        docs[rows[by_second]] = second[by_second]
        return docs

    def _event_ranks_from_1(self, session: Array, slot: Codes, named: Codes, sessions: Sessions, rows: Array) -> Array:
        """The ranks that events name, counted from 1, -1 if none; `slot` is the place of the document that an event names."""
        zeros = named == 0
        if not zeros.any():
            return named
        if self._count_from_0(session, slot, named, sessions, rows):
            return np.where(named >= 0, named + 1, -1)
        self.notes.append(
            f"{pluralise(int(zeros.sum()), 'event names', 'events name')} rank 0, and ranks begin at 1: they have no rank"
        )
        return np.where(zeros, -1, named)

    def _count_from_0(self, session: Array, slot: Codes, named: Codes, sessions: Sessions, rows: Array) -> bool:
        """Whether events count ranks from 0: as the documents do that they name, else as the ranks do that were shown."""
        both = (slot > 0) & (named >= 0)
        if both.any():
            apart = sessions.ranks[sessions.offsets[session[both]] + slot[both] - 1] - named[both]
            return bool((apart == 1).sum() > (apart == 0).sum())
        if self.shown_from_0:
            return True
        known = named >= 0
        if (named == 0).sum() < _LEAST_ZEROS * known.sum():
            return False
        lengths = sessions.lengths[session]
        beyond = known & (lengths > 0) & (named >= lengths)
        if beyond.any():
            at = int(beyond.argmax())
            source, line = split_place(self.sources, int(self.event_place[rows[at]]))
            what = f"rank {named[at]} in a list of {lengths[at]}, and other events have rank 0: it is not known where ranks begin"
            raise InputError(what, fix="log ranks from 1, or the document of each event", source=source, line=line)
        return True

    def _drop_events(self, left: Array, dropped: BoolArray, reason: str, place: Array) -> Array:
        if dropped.any():
            line = split_place(self.sources, int(place[left[int(dropped.argmax())]]))[1]
            self.tables.counts.drop(EVENTS, reason, line=line, count=int(dropped.sum()))
        return left[~dropped] if dropped.any() else left

    def _drop_events_by_time(self, left: Array, session: Array, sessions: Sessions, place: Array) -> Array:
        unknown = np.isnan(self.event_time)[left]
        if not unknown.all() and np.isfinite(sessions.time).any():
            self._note_dropped_events("without a time", sessions, session[left[unknown]], left[unknown])
            left = self._drop_events(left, unknown, "without a time, or with one that cannot be read", place)
        early, late = np.empty(len(left), dtype=bool), np.empty(len(left), dtype=bool)
        for rows in chunks(len(left)):
            after = self.event_time[left[rows]] - sessions.time[session[left[rows]]]
            early[rows], late[rows] = after < -_CLOCK_SLACK, after > self.options.window
        kept = self._drop_events(left, early, "before their query", place)
        too_late = f"more than {self.options.window / 3600:g} hours after their query"
        for reason, dropped in (("before their query", early), (too_late, late)):
            self._note_dropped_events(reason, sessions, session[left[dropped]], left[dropped])
        return self._drop_events(kept, late[~early], too_late, place)

    def _once(self, left: Array, session: Array, slot: Codes, rank: Codes, doc: Codes, sessions: Sessions) -> Events:
        """The first event of each session, document and action."""
        tables = self.tables
        action, time = tables.event_action.take(small=True)[left], self.event_time[left]
        is_in_order = not (time[1:] < time[:-1]).any()
        del time
        widest, docs, actions = int(sessions.lengths.max(initial=0)), len(tables.docs), len(tables.actions) + 1
        chosen, repeats, first_repeat = list[Array](), 0, 0
        # Events of a part of the sessions at a time: the keys of all would take much memory.
        part_of = as_small(session // _SESSIONS_AT_ONCE)
        for part in np.unique(part_of).tolist():
            rows = np.flatnonzero(part_of == part)
            # An event about no document that was shown is told apart by the document that it names, or by its rank.
            unlisted = doc[rows].astype(np.int64) + 1
            unlisted = np.where(unlisted > 0, unlisted, rank[rows].astype(np.int64) + 1 + docs)
            target = np.where(slot[rows] > 0, slot[rows], unlisted + widest)
            key = (session[rows].astype(np.int64) * (int(target.max()) + 1) + target) * actions + action[rows]
            if not is_in_order:
                order = np.lexsort((rows, self.event_time[left[rows]]))
                rows, key = rows[order], key[order]
            order = np.argsort(key, kind="stable")
            rows, key = rows[order], key[order]
            first = np.ones(len(rows), dtype=bool)
            first[1:] = key[1:] != key[:-1]
            chosen.append(rows[first].astype(np.int32))
            again = left[rows[~first]]
            if len(again):
                self._note_dropped_events(REPEATED_EVENT, sessions, session[rows[~first]], again)
                first_repeat = min(first_repeat, int(again.min())) if repeats else int(again.min())
                repeats += len(again)
        if repeats:
            line = split_place(self.sources, int(self.event_place[first_repeat]))[1]
            tables.counts.drop(EVENTS, REPEATED_EVENT, line=line, count=repeats)
        rows = np.concatenate(chosen) if chosen else np.empty(0, dtype=np.int32)
        del chosen, part_of
        release_memory()
        left = left[rows]
        session = session[rows]
        slot = slot[rows]
        rank = rank[rows]
        doc = doc[rows]
        action = action[rows]
        del rows
        is_blank, nothing = tables.event_value.is_blank, np.broadcast_to(np.float64(np.nan), len(left))
        return Events(
            session=session,
            slot=slot,
            rank=self._event_ranks(session, slot, rank, sessions),
            named_rank=rank,
            doc=named_docs(session, slot, doc, sessions),
            action=action,
            team=tables.event_team.take(small=True)[left],
            time=self.event_time[left],
            value=nothing if is_blank else tables.event_value.take()[left],
            place=self.event_place[left],
        )

    @staticmethod
    def _event_ranks(session: Array, slot: Codes, named: Codes, sessions: Sessions) -> Codes:
        """The rank in the list; in a session without a list the rank that the event names, 0 if none."""
        ranks = np.empty(len(session), dtype=np.promote_types(named.dtype, sessions.ranks.dtype))
        for rows in chunks(len(session)):
            own, start = slot[rows], sessions.offsets[session[rows]]
            is_listed = own > 0
            without = ~is_listed & (sessions.offsets[session[rows] + 1] == start)
            ranks[rows] = np.where(without, np.maximum(named[rows], 0), 0)
            ranks[rows][is_listed] = sessions.ranks[start[is_listed] + own[is_listed] - 1]
        return ranks
