"""nuggets.jsonl: the facts that a good answer to a query states."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from rankproof._data.claims import Nugget
from rankproof._data.text import pluralise
from rankproof._formats.json import json_line, parsed_lines
from rankproof._formats.texts import MAX_TEXT_BYTES
from rankproof._io.json_fields import read_fields
from rankproof._io.streams import ByteSource
from rankproof._io.strict_json import JsonObject
from rankproof.errors import InputError, for_message

_FIX = 'write {"query": "q1", "nuggets": [{"text": "…", "importance": "vital"}]}, with vital or okay'


@dataclass(frozen=True, slots=True)
class QueryNuggets:
    """The nuggets of one query; `confirmed` says that a person has checked them, `drafted_by` names the model that wrote them."""

    query: str
    nuggets: tuple[Nugget, ...]
    confirmed: bool = True
    drafted_by: str = ""

    def plain(self) -> dict[str, Any]:
        """The line of the file."""
        drafted = {"drafted_by": self.drafted_by} if self.drafted_by else {}
        return {
            "query": self.query,
            "nuggets": [asdict(nugget) for nugget in self.nuggets],
            "confirmed": self.confirmed,
            **drafted,
        }


def read_nuggets(source: ByteSource) -> dict[str, tuple[Nugget, ...]]:
    """The nuggets of each query; a draft that no person has confirmed is an error."""
    lines = list(_lines(source))
    drafts = [line for line, query_nuggets in lines if not query_nuggets.confirmed]
    if drafts:
        others = f", as are those of {pluralise(len(drafts) - 1, 'other query', 'other queries')}" if drafts[1:] else ""
        query = next(query_nuggets.query for line, query_nuggets in lines if line == drafts[0])
        raise InputError(
            f"the nuggets of query {for_message(query)} are a draft that no person has confirmed{others}",
            fix=f'confirm them with: rankproof serve RESULTS --nuggets {source.name}, or read them and write "confirmed": true',
            source=source.name,
            line=drafts[0],
        )
    return {query_nuggets.query: query_nuggets.nuggets for _, query_nuggets in lines}


def read_nugget_drafts(source: ByteSource) -> dict[str, QueryNuggets]:
    """The nuggets of each query, confirmed or not."""
    return {query_nuggets.query: query_nuggets for _, query_nuggets in _lines(source)}


def nugget_blocks(nuggets: Iterable[QueryNuggets]) -> Iterator[bytes]:
    """The nuggets, one query a line."""
    return (json_line(query_nuggets.plain()) for query_nuggets in nuggets)


def _lines(source: ByteSource) -> Iterator[tuple[int, QueryNuggets]]:
    first: dict[str, int] = {}
    for line, item in parsed_lines(source, limit=MAX_TEXT_BYTES):
        yield line, nuggets_of_line(item, first, source=source.name, line=line)


def nuggets_of_line(item: Any, first: dict[str, int], *, source: str, line: int) -> QueryNuggets:
    """The nuggets of the value of a line; `first` has the line of each query so far, and gets that of this query."""
    values = JsonObject(item, source, line=line, damaged_fix=_FIX)
    read = read_fields(QueryNuggets, values)
    if (before := first.setdefault(read.query, line)) != line:
        what = f"query {for_message(read.query)} is there twice, first on line {before}"
        raise values.error(what, "join the two lines")
    if any(not nugget.text.strip() for nugget in read.nuggets):
        raise values.error("a nugget has no text", "write its text, or remove it")
    return read
