"""The records of User Behavior Insights: queries with the documents that were shown, and events."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rankproof._data.validation import checked_id
from rankproof._formats.rows import rank_of_value
from rankproof._formats.source_table import SourceTable
from rankproof._importers.base import ImportSource
from rankproof._importers.cells import TableCell, object_in
from rankproof._importers.json_parts import JsonPart

HIT_IDS = ("query_response_hit_ids", "query_response_objects_ids")
IMPRESSION = "impression"
_QUERY_NAMES = ("user_query", *HIT_IDS)
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

    def ids(self, *path: str) -> list[str]:
        """The ids of documents without white space around them, of a list, a text or a number; a blank one is an error."""
        cell = self.cell(*path)
        if isinstance(cell.value, int) and not isinstance(cell.value, bool):
            return [str(cell.value)]
        return [checked_id(text.strip(), "document", source=self.source, line=self.line) for text in cell.texts() or ()]

    def position(self) -> int | None:
        """The rank that the event names."""
        place = ("event_attributes", "position")
        for path in ((*place, "ordinal", "index"), (*place, "ordinal"), (*place, "index"), ("event_attributes", "rank")):
            value = self.cell(*path).value
            if not isinstance(value, bool | dict | list | None) and (rank := rank_of_value(value)) is not None:
                return rank
        return None


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
