"""The records of User Behavior Insights: queries with the documents that were shown, and events."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from rankproof._data.validation import checked_id
from rankproof._formats.rows import rank_of_value
from rankproof._formats.source_table import SourceTable
from rankproof._importers.base import ImportCounts, ImportSource
from rankproof._importers.cells import TableCell, list_in_text, object_in
from rankproof._importers.json_parts import JsonPart
from rankproof._statistics.clicks import ShownList

HIT_IDS = ("query_response_hit_ids", "query_response_objects_ids")
IMPRESSION = "impression"
_QUERY_NAMES = ("user_query", *HIT_IDS)
_MOST_RANKS = 10_000
BULK = ("index", "create", "update", "delete")
"""The keys of lines of the bulk API, which say where the next line goes."""


def is_event(row: Mapping[str, Any]) -> bool:
    """Whether a row names an action; in a table of queries and events together those of queries are empty or NaN."""
    action = row.get("action_name")
    if action is None or action != action:
        return False
    return action != "" or not any(row.get(name) for name in _QUERY_NAMES)


@dataclass(frozen=True, slots=True)
class UbiRecord:
    """A query or an event, with its file and line."""

    value: Mapping[str, Any]
    source: str
    line: int

    @property
    def is_event(self) -> bool:
        return is_event(self.value)

    @property
    def is_query(self) -> bool:
        return not self.is_event and any(name in self.value for name in _QUERY_NAMES)

    def cell(self, *path: str) -> TableCell:
        """The value at the path: in objects, in JSON text in a cell, or in a column such as `a.b` or `b`."""
        names = ".".join(path)
        value: Any = self.value.get(names)
        if value is None:
            value = self.value
            for name in path:
                inside = object_in(value)
                value = None if inside is None else inside.get(name)
        if value is None:
            value = self.value.get(path[-1])
        return TableCell(value, names, self.source, self.line)

    def text(self, *path: str) -> str:
        """The value as text without white space around it; empty where it is missing."""
        return (self.cell(*path).text() or "").strip()

    def ids(self, *path: str) -> list[str]:
        """The ids of documents without white space around them, of a list, a text or a number; a blank one is an error."""
        cell = self.cell(*path)
        if isinstance(cell.value, int) and not isinstance(cell.value, bool):
            return [str(cell.value)]
        return [checked_id(text.strip(), "document", source=self.source, line=self.line) for text in cell.texts() or ()]

    def shown(self) -> list[str]:
        """The documents that were shown, best first; commas separate them in a text that is no list."""
        for name in HIT_IDS:
            value = self.cell(name).value
            if isinstance(value, str) and not isinstance(list_in_text(value), list):
                value = [part for part in value.split(",") if part.strip()]
            if docs := UbiRecord({name: value}, self.source, self.line).ids(name):
                return list(dict.fromkeys(docs))[:_MOST_RANKS]
        return []

    def position(self) -> int | None:
        """The rank that the event names."""
        place = ("event_attributes", "position")
        for path in ((*place, "ordinal", "index"), (*place, "ordinal"), (*place, "index"), ("event_attributes", "rank")):
            value = self.cell(*path).value
            if not isinstance(value, bool | dict | list | None) and (rank := rank_of_value(value)) is not None:
                return rank
        return None


@dataclass(slots=True)
class LoggedQuery:
    """A query that was logged: its normalised text, the documents shown with their ranks, and the clicks on them."""

    key: str
    docs: dict[str, int]
    clicks: dict[str, float] = field(default_factory=dict)

    def shown(self) -> ShownList:
        """The documents by rank."""
        # Impressions may come in any order; ranks, not rows, say what was above what.
        ordered = sorted(self.docs, key=self.docs.__getitem__)
        return ShownList(self.key, tuple(ordered), tuple(self.docs[doc] for doc in ordered), self.clicks)


def records(source: ImportSource, *paths: str) -> Iterator[UbiRecord]:
    """The queries and events of the files, without the lines of the bulk API."""
    for path in paths:
        for name, line, value in _objects(source, path):
            inside = value.get("_source", value)
            if isinstance(inside, dict) and not (len(value) == 1 and next(iter(value)) in BULK):
                yield UbiRecord(inside, name, line)


def may_have_records(source: ImportSource, path: str) -> bool:
    """Whether the file has the columns of queries and events, or of objects around them."""
    table = response_table(source, path) or source.table_of(path)
    return any(name in ("query_id", "_source", *BULK) for name in table.names)


def _objects(source: ImportSource, path: str) -> Iterator[tuple[str, int, Mapping[str, Any]]]:
    """The rows of a table, or the hits of a search response."""
    table = response_table(source, path) or source.table_of(path)
    for line, row in table.rows():
        yield table.source, line, row


def response_table(source: ImportSource, path: str) -> SourceTable | None:
    if source.format_of(path) != "json" or not isinstance(source.json_of(path).value, dict):
        return None
    content = source.json_of(path)
    hits = JsonPart(content, content.value)["hits"]
    if not isinstance(hits.value, dict) or not isinstance(hits.value.get("hits"), list):
        return None
    rows = [hit.value if isinstance(hit.value, dict) else {} for hit in hits["hits"].items()]
    return SourceTable(content.source, ("_source",), lambda: zip(content.lines_inside(("hits", "hits")), rows, strict=True))


def normalised_query(text: str) -> str:
    """The text by which queries are the same: without differences of case, width and white space."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


class UbiLog:
    """Reads queries and then events; everything that is not used is counted."""

    def __init__(self, actions: Mapping[str, float], bots: tuple[str, ...], counts: ImportCounts) -> None:
        self.actions, self.counts = actions, counts
        self._bots = re.compile("|".join(rf"{re.escape(bot)}(?![a-z])" for bot in bots), re.IGNORECASE) if bots else None
        self.queries: dict[str, LoggedQuery] = {}
        self.texts: dict[str, str] = {}
        """The first text of each normalised query."""
        self.other_actions: Counter[str] = Counter()
        self.moved = self.clicks = self.unused_clicks = 0
        """Clicks whose event names another rank than the list, all clicks that count, and those that do not."""
        self._bot_queries: set[str] = set()
        self._from_events: set[str] = set()

    def add_query(self, record: UbiRecord) -> None:
        """Adds a query with the documents shown."""
        self.counts.read("logged queries")
        key, text = record.text("query_id"), record.text("user_query")
        if self._is_bot(record):
            self._bot_queries.add(key)
            return self._drop("logged queries", "of bots, by client_id", record)
        if not key or not text:
            return self._drop("logged queries", f"without a {'user_query' if key else 'query_id'}", record)
        if key in self.queries:
            return self._drop("logged queries", "with the query_id of an earlier one", record)
        group = normalised_query(text)
        self.texts.setdefault(group, text)
        self.queries[key] = LoggedQuery(group, {doc: rank for rank, doc in enumerate(record.shown(), start=1)})
        return None

    def add_impression(self, record: UbiRecord) -> None:
        """Adds the document of an impression to a query that has no list of its own."""
        self.counts.read("impressions")
        key = record.text("query_id")
        query = self.queries.get(key)
        doc = next(iter(self._documents(record)), None)
        if query is None or doc is None:
            return self._drop("impressions", "without a known query_id and an object_id", record)
        if query.docs and key not in self._from_events:
            return self._drop("impressions", "of a query that lists the documents shown", record)
        self._from_events.add(key)
        rank = record.position()
        if not 0 <= (rank := len(query.docs) + 1 if rank is None else rank) <= _MOST_RANKS:
            return self._drop("impressions", f"at a rank that is not between 0 and {_MOST_RANKS:,}", record)
        query.docs.setdefault(doc, rank)
        return None

    def count_ranks_from_1(self) -> None:
        """Makes the best rank of all impressions 1, as some logs count from 0."""
        listed = [self.queries[key] for key in self._from_events]
        first = min((rank for query in listed for rank in query.docs.values()), default=1)
        for query in listed:
            query.docs = {doc: rank - first + 1 for doc, rank in query.docs.items()}

    def add_event(self, record: UbiRecord) -> None:
        """Counts the event, once for each query_id, document and action."""
        self.counts.read("events")
        action, key = record.text("action_name"), record.text("query_id")
        if action not in self.actions:
            self.other_actions[action] += 1
            return self._drop("events", "of other actions", record)
        self.unused_clicks += 1
        if key in self._bot_queries or self._is_bot(record):
            return self._drop("events", "of bots, by client_id", record)
        query = self.queries.get(key)
        if query is None:
            return self._drop("events", "of an unknown query_id" if key else "without a query_id", record)
        ids = self._documents(record)
        doc = next((id for id in ids if id in query.docs), None)
        if doc is None:
            return self._drop("events", self._reason(query, ids), record)
        self.clicks, self.unused_clicks = self.clicks + 1, self.unused_clicks - 1
        self._check_position(record, query.docs[doc])
        weight = self.actions[action]
        if query.clicks.get(doc, 0.0) >= weight:
            return self._drop("events", "that repeat one of the same query_id and document", record)
        query.clicks[doc] = weight
        return None

    def _documents(self, record: UbiRecord) -> list[str]:
        """The ids by which the event may name the document."""
        thing = ("event_attributes", "object")
        return [id_ for name in ("object_id", "internal_id") for id_ in record.ids(*thing, name)]

    def _reason(self, query: LoggedQuery, ids: list[str]) -> str:
        if not ids:
            return "without an object_id"
        return "of a document that was not shown" if query.docs else "of a query without a list of documents shown"

    def _check_position(self, record: UbiRecord, rank: int) -> None:
        position = record.position()
        # Logs count positions from 0 or from 1.
        self.moved += position is not None and rank - position not in (0, 1)

    def _is_bot(self, record: UbiRecord) -> bool:
        return self._bots is not None and self._bots.search(record.text("client_id")) is not None

    def _drop(self, part: str, reason: str, record: UbiRecord) -> None:
        self.counts.drop(part, reason, line=record.line)
