"""The rows of a log as they are read, in compact columns: lists of sessions, documents shown, and events."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from rankproof._importers.base import ImportCounts
from rankproof._importers.search_log.log import Draft
from rankproof._importers.search_log.options import LogOptions
from rankproof._importers.search_log.times import seconds_since_1970
from rankproof._importers.ubi_log import normalised_query

SESSIONS, SHOWN, EVENTS = "sessions", "documents shown", "events"
"""The parts that are counted."""
QUERY_ROW, IMPRESSION_ROW = 0, 1
"""Whether a row of a session is its query, or documents that an impression shows."""


class Names(dict[str, int]):
    """The code of each name, in the order in which names come."""

    def __missing__(self, name: str) -> int:
        code = self[name] = len(self)
        return code

    def codes(self, names: Iterable[str]) -> array[int]:
        """The codes of several names."""
        return array("i", map(self.__getitem__, names))


class QueryNames(dict[str, int]):
    """The code of each query text; texts that differ only in case, width and white space have one code."""

    def __init__(self) -> None:
        super().__init__()
        self._normal = Names()
        self.texts: list[str] = []

    def __missing__(self, text: str) -> int:
        code = self[text] = self._normal[normalised_query(text)]
        if code == len(self.texts):
            self.texts.append(text)
        return code


class LogTables:
    """Everything that was read, before sessions, documents and events are joined.

    A row of `runs` is a query, or consecutive rows of a plain log about one session. Sessions are known by the hash of their id,
    which takes 8 bytes where a text takes 80.
    """

    def __init__(self, options: LogOptions) -> None:
        self.options, self.counts = options, ImportCounts()
        self.users, self.docs, self.actions, self.variants, self.systems = Names(), Names(), Names(), Names(), Names()
        self.queries = QueryNames()
        self.drafts: dict[tuple[str, str, tuple[str, ...]], int] = {}
        self.draft_places: list[int] = []
        self.key, self.time, self.place = array("q"), array("d"), array("q")
        self.user, self.query, self.variant, self.draft = array("i"), array("i"), array("i"), array("i")
        self.kind, self.shown = array("b"), array("i")
        self.ranking_start, self.rankings = array("q"), array("i")
        self.texts = {path: (array("i"), Names()) for path in options.texts}
        self.numbers = {path: array("d") for path in options.numbers}
        self.slot_doc, self.slot_rank, self.slot_team = array("i"), array("i"), array("i")
        self.event_key, self.event_time, self.event_value, self.event_place = array("q"), array("d"), array("d"), array("q")
        self.event_user, self.event_doc, self.event_rank = array("i"), array("i"), array("i")
        self.event_action, self.event_team, self.event_variant = array("i"), array("i"), array("i")
        self.second_id_event, self.second_id = array("q"), array("i")
        """Events with a second id of their document, which counts if the list shows that one."""
        self.wrong_ranks, self.unread_time = 0, ""

    def seconds(self, value: Any) -> float:
        """The time in seconds since 1970, NaN if it cannot be read; the first text that is no time is kept for a note."""
        seconds = seconds_since_1970(value)
        if seconds != seconds and not self.unread_time and isinstance(value, str):
            self.unread_time = value.strip()
        return seconds

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


def as_array(column: array[int] | array[float]) -> npt.NDArray[Any]:
    """The column as numpy sees it, without a copy."""
    return np.frombuffer(column, dtype=_DTYPES[column.typecode]) if len(column) else np.empty(0, dtype=_DTYPES[column.typecode])


_DTYPES = {"q": np.int64, "i": np.int32, "d": np.float64, "b": np.int8}
