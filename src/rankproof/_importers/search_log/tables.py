"""The rows of a log as they are read, in compact columns: lists of sessions, documents shown, and events."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rankproof._importers.base import ImportCounts
from rankproof._importers.search_log.columns import MOST_RECENT, ManyNames, Names, PackedColumn, StoredTexts
from rankproof._importers.search_log.log import Draft
from rankproof._importers.search_log.options import MISSING, LogOptions
from rankproof._importers.search_log.times import seconds_since_1970
from rankproof._importers.ubi_log import normalised_query

SESSIONS, SHOWN, EVENTS = "sessions", "documents shown", "events"
"""The parts that are counted."""
QUERY_ROW, IMPRESSION_ROW = 0, 1
"""Whether a row of a session is its query, or documents that an impression shows."""


class QueryNames(dict[str, int]):
    """The code of each query text; texts that differ only in case, width and white space have one code."""

    def __init__(self) -> None:
        super().__init__()
        self._normal = ManyNames()
        self.texts = StoredTexts()
        """The first text of each code."""

    def __missing__(self, text: str) -> int:
        if len(self) >= MOST_RECENT:
            self.clear()
        code = self[text] = self._normal[normalised_query(text)]
        if code == len(self.texts):
            self.texts.add(text.encode("utf-8", "surrogatepass"))
        return code


class LogTables:
    """Everything that was read, before sessions, documents and events are joined.

    A row of `runs` is a query, or consecutive rows of a plain log about one session. Sessions are known by the hash of their id,
    which takes 8 bytes where a text takes 80.
    """

    def __init__(self, options: LogOptions) -> None:
        self.options, self.counts = options, ImportCounts()
        self.users, self.docs, self.actions, self.variants, self.systems = ManyNames(), Names(), Names(), Names(), Names()
        self.queries = QueryNames()
        self.drafts: dict[tuple[str, str, tuple[str, ...]], int] = {}
        self.draft_places: list[int] = []
        self.columns: list[PackedColumn] = []
        self.key, self.time, self.place = self._column("q"), self._column("d"), self._column("q")
        self.user, self.query, self.variant, self.draft = (self._column("i") for _ in range(4))
        self.kind, self.shown = self._column("b"), self._column("i")
        self.ranking_start, self.rankings = self._column("q"), self._column("i")
        self.texts = {path: (self._column("i"), Names()) for path in options.texts}
        self.numbers = {path: self._column("d") for path in options.numbers}
        self.slot_doc, self.slot_rank, self.slot_team = (self._column("i") for _ in range(3))
        self.event_key, self.event_place = self._column("q"), self._column("q")
        self.event_time, self.event_value = self._column("d"), self._column("d")
        self.event_user, self.event_doc, self.event_rank = (self._column("i") for _ in range(3))
        self.event_action, self.event_team, self.event_variant = (self._column("i") for _ in range(3))
        self.second_id_event, self.second_id = self._column("q"), self._column("i")
        """Events with a second id of their document, which counts if the list shows that one."""
        self.wrong_ranks, self.unread_time = 0, ""
        self.wrong_values, self.unread_value = 0, ""
        self.unread_columns: dict[str, None] = {}
        """The columns of plain tables that have no role."""

    def _column(self, typecode: str) -> PackedColumn:
        column = PackedColumn(typecode)
        self.columns.append(column)
        return column

    def pack(self) -> None:
        """Makes the rows that were added small."""
        for column in self.columns:
            column.pack()

    def seconds(self, value: Any) -> float:
        """The time in seconds since 1970, NaN if it cannot be read; the first text that is no time is kept for a note."""
        seconds = seconds_since_1970(value)
        if seconds != seconds and not self.unread_time and isinstance(value, str):
            self.unread_time = value.strip()
        return seconds

    def value(self, cell: Any) -> float:
        """The number of an event, NaN if it has none; other cells are counted, and the first is kept for a message."""
        number = number_of(cell)
        if number != number and cell is not None and cell == cell and not (isinstance(cell, str) and cell.strip() in MISSING):
            self.wrong_values += 1
            self.unread_value = self.unread_value or str(cell)
        return number

    def add_run(
        self,
        key: str,
        user: int,
        time: float,
        query: int,
        variant: int,
        place: int,
        docs: Sequence[int],
        ranks: Sequence[int],
        teams: Sequence[int],
        *,
        kind: int = QUERY_ROW,
        draft: int = -1,
        rankings: Sequence[int] = (),
    ) -> None:
        """Adds a query with what was shown for it."""
        self.key.append(hash(key))
        self.user.append(user)
        self.time.append(time)
        self.query.append(query)
        self.variant.append(variant)
        self.place.append(place)
        self.kind.append(kind)
        self.draft.append(draft)
        self.shown.append(len(docs))
        self.slot_doc.extend(docs)
        self.slot_rank.extend(ranks)
        self.slot_team.extend(teams)
        self.ranking_start.append(len(self.rankings))
        self.rankings.extend(rankings)

    def add_event(
        self, key: str, user: int, time: float, action: int, doc: int, rank: int, team: int, value: float, place: int
    ) -> None:
        """Adds what a user did."""
        self.event_key.append(hash(key))
        self.event_user.append(user)
        self.event_time.append(time)
        self.event_action.append(action)
        self.event_doc.append(doc)
        self.event_rank.append(rank)
        self.event_team.append(team)
        self.event_variant.append(-1)
        self.event_value.append(value)
        self.event_place.append(place)

    def add_fields(self, values: Mapping[str, object]) -> None:
        """Adds the further fields of the row that was added last."""
        for path, (codes, names) in self.texts.items():
            value = values.get(path)
            codes.append(-1 if value is None or value == "" else names[str(value)])
        for path, numbers in self.numbers.items():
            numbers.append(number_of(values.get(path)))

    def draft_code(self, experiment: str, method: str, systems: tuple[str, ...], place: int) -> int:
        """The code of an interleaving, with the place where it comes first."""
        key = (experiment, method, systems)
        code = self.drafts.get(key)
        if code is None:
            code = self.drafts[key] = len(self.drafts)
            self.draft_places.append(place)
        return code

    def named_drafts(self, sources: Sequence[str]) -> tuple[Draft, ...]:
        """The interleavings, each with the file and line where it comes first."""
        from rankproof._importers.search_log.log import split_place

        places = (split_place(sources, place) for place in self.draft_places)
        return tuple(Draft(*key, f"{source}:{line}") for key, (source, line) in zip(self.drafts, places, strict=True))


def number_of(value: object) -> float:
    """The value as a finite number; NaN if it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return math.nan
    try:
        number = float(value)
    except ValueError:
        return math.nan
    return number if math.isfinite(number) else math.nan
