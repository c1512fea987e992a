"""Tables with any columns as rows of cells by column name: delimited text, JSONL, JSON, Parquet and data frames."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

from rankproof._data.row_errors import row_error
from rankproof._formats.arrow import open_parquet, parquet_batches
from rankproof._formats.columns import COLUMN_NAMES, TEXT_NAMES, checked_delimiter, normalised_name
from rankproof._formats.detect import detect_container
from rankproof._formats.frames import arrow_table, column_lists, column_names, library_of
from rankproof._formats.json import JsonContent, parsed_lines
from rankproof._formats.registry import COMPRESSED_SUFFIXES, format_of_suffix
from rankproof._formats.rows import json_type_name
from rankproof._formats.texts import MAX_TEXT_BYTES
from rankproof._io.file_errors import file_error
from rankproof._io.open import numbered_text_lines
from rankproof._io.streams import ByteSource
from rankproof.errors import InputError

Cells = Sequence[Any]
NumberedCells = Iterator[tuple[int, Cells]]
_DELIMITERS = (",", "\t", ";", "|")
_SAMPLED_LINES = 20
_TABLE_SUFFIXES = ("csv", "tsv", "parquet")
_LIST_HEADERS = {*COLUMN_NAMES["query"], *TEXT_NAMES, "queries", "questions"}
"""First lines of a text file that are the name of its only column."""
_ROWS_AT_ONCE = 1024
"""Rows of a batch that are Python values at one time."""
_EXAMPLE = '{"query": "red shoes", "title": "…", "label": 2}, or {"question": "…", "contexts": ["…"], "answer": "…"}'


@dataclass(frozen=True, slots=True)
class SourceTable:
    """A table: the names of its columns, and rows that can be read more than once.

    `cells` gives the cells of each row with its line, as many as there are; the rows of JSON have a mapping instead. Where it is
    `untyped`, every cell is text.
    """

    source: str
    names: tuple[str, ...]
    cells: Callable[[], Iterator[tuple[int, Any]]]
    untyped: bool = False

    def rows(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Each row by column name, with its line; a row with another number of cells is an error."""
        width, line = len(self.names), None
        for line, cells in self.cells():
            if isinstance(cells, dict):
                yield line, cells
                continue
            if len(cells) != width:
                raise file_error("columns", source=self.source, line=line, found=len(cells), expected=width)
            yield line, dict(zip(self.names, cells, strict=True))
        if line is None:
            raise file_error("header-only", source=self.source)


def table_format(source: ByteSource) -> str:
    """How the file is written: parquet, json, jsonl or text."""
    return detect_container(source)[0] or "text"


def is_table_file(source: ByteSource) -> bool:
    """Whether the file is a table by its suffix and its content."""
    return format_of_suffix(source.name) in _TABLE_SUFFIXES and table_format(source) in ("parquet", "text")


def is_query_list(source: ByteSource) -> bool:
    """Whether the file is called .txt and has a query on each line: no header, no tabs, and not the same columns everywhere."""
    name = source.name.lower()
    name = next((name.removesuffix(suffix) for suffix in COMPRESSED_SUFFIXES if name.endswith(suffix)), name)
    if not name.endswith(".txt") or table_format(source) != "text":
        return False
    lines = [line.strip() for _, line in islice(numbered_text_lines(source, limit=MAX_TEXT_BYTES), _SAMPLED_LINES)]
    first = next(filter(None, lines), "")
    several, share, _ = _fit(source, _detected_delimiter(source))
    is_table = several and share == 1 and len(lines) > 1
    return (
        bool(first) and not is_table and not any("\t" in line for line in lines) and normalised_name(first) not in _LIST_HEADERS
    )


def _open_query_list(source: ByteSource) -> SourceTable:
    def rows() -> NumberedCells:
        lines = numbered_text_lines(source, limit=MAX_TEXT_BYTES)
        return ((number, [line.strip()]) for number, line in lines if line.strip())

    return SourceTable(source.name, ("query",), rows, untyped=True)


def open_table(source: ByteSource, delimiter: str | None = None) -> SourceTable:
    """The table in the file."""
    return _READERS[table_format(source)](source, checked_delimiter(delimiter))


def open_frame(frame: Any, name: str) -> SourceTable:
    """The table in a data frame; row numbers from 1 are its lines."""
    if library_of(frame) is None:
        table = arrow_table(frame, name)
        return SourceTable(name, checked_names(table.column_names, name), lambda: _batch_rows(table.to_batches()))
    names = checked_names(column_names(frame), name)
    return SourceTable(name, names, lambda: enumerate(zip(*column_lists(frame), strict=True), start=1))


def checked_names(names: Sequence[Any], source: str, line: int | None = None) -> tuple[str, ...]:
    """The names of columns, each once; a column without a name is called by its place."""
    plain = [_checked_name(str(name).strip(), source, line) for name in names]
    filled = [name or f"column {place}" for place, name in enumerate(plain, start=1)]
    for name, count in Counter(filled).items():
        if count > 1:
            raise file_error("header-repeated", source=source, line=line, name=name)
    return tuple(filled)


def _checked_name(name: str, source: str, line: int | None) -> str:
    try:
        name.encode()
    except UnicodeEncodeError:
        raise file_error("text-surrogate", source=source, line=line, role="name", token="a column") from None
    return name


def _open_text(source: ByteSource, delimiter: str | None) -> SourceTable:
    if delimiter is None and is_query_list(source):
        return _open_query_list(source)
    char = delimiter or _detected_delimiter(source)
    first = next(_delimited_rows(source, char), None)
    if first is None:
        raise row_error("no-rows", source=source.name)
    names = checked_names(first[1], source.name, first[0])
    return SourceTable(source.name, names, lambda: islice(_delimited_rows(source, char), 1, None), untyped=True)


def _delimited_rows(source: ByteSource, delimiter: str) -> NumberedCells:
    """Every row that is not blank, with the line where it begins."""
    csv.field_size_limit(max(MAX_TEXT_BYTES, csv.field_size_limit()))
    lines = (line for _, line in numbered_text_lines(source, limit=MAX_TEXT_BYTES))
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    begun = 1
    try:
        for cells in reader:
            if any(map(str.strip, cells)):
                yield begun, cells
            begun = reader.line_num + 1
    except csv.Error as error:
        raise _quoting_error(str(error), source.name, begun) from None


def _quoting_error(reason: str, source: str, line: int) -> InputError:
    if "unexpected end" in reason:
        return file_error("quote-open", source=source, line=line)
    if "field limit" in reason or "larger than" in reason:
        return row_error("long-text", source=source, line=line)
    return InputError(f"the quotes are wrong ({reason})", fix='write a quote inside a field as ""', source=source, line=line)


def _detected_delimiter(source: ByteSource) -> str:
    """The delimiter that gives a header of several columns and, of several, the most rows as wide as it."""
    return max(_DELIMITERS, key=lambda char: _fit(source, char))


def _fit(source: ByteSource, delimiter: str) -> tuple[bool, float, int]:
    """Whether the header has several columns, the share of the first rows with as many, and their number."""
    widths: list[int] = []
    with suppress(InputError):
        for _, cells in islice(_delimited_rows(source, delimiter), _SAMPLED_LINES):
            widths.append(len(cells))
    if not widths:
        return False, 0.0, 0
    return widths[0] > 1, widths.count(widths[0]) / len(widths), widths[0]


def _open_json_lines(source: ByteSource, delimiter: str | None) -> SourceTable:
    def rows() -> Iterator[tuple[int, Any]]:
        return _objects(parsed_lines(source, limit=MAX_TEXT_BYTES, nan_is_null=True), source.name)

    return SourceTable(source.name, _keys(rows(), source.name), rows)


def _open_json(source: ByteSource, delimiter: str | None) -> SourceTable:
    content = JsonContent(source, nan_is_null=True)
    if not content.is_array:
        return _open_json_columns(content)
    return SourceTable(
        source.name, _keys(_objects(content.items(), source.name), source.name), lambda: _objects(content.items(), source.name)
    )


def _open_json_columns(content: JsonContent) -> SourceTable:
    """A table written column by column: lists of one length, or objects with the keys 0, 1, 2 …, as pandas writes them."""
    columns = {name: _json_column(values) for name, values in content.value.items()}
    if len(columns) < 2 or None in columns.values() or len({len(column or ()) for column in columns.values()}) > 1:
        raise InputError(
            "one object where a list of rows was expected",
            fix=f"write [ROW, ROW, …], with rows like {_EXAMPLE}",
            source=content.source,
        )
    first = next(iter(columns))
    rows = list(zip(*(column or () for column in columns.values()), strict=True))
    return SourceTable(content.source, tuple(columns), lambda: zip(content.lines_inside((first,)), rows, strict=True))


def _json_column(value: Any) -> list[Any] | None:
    if isinstance(value, dict) and list(value) == [str(at) for at in range(len(value))]:
        return list(value.values())
    return value if isinstance(value, list) else None


def _objects(items: Iterator[tuple[int, Any]], source: str) -> Iterator[tuple[int, Any]]:
    for line, item in items:
        if not isinstance(item, dict):
            raise file_error("json-shape", source=source, line=line, kind=json_type_name(item), expected=_EXAMPLE)
        yield line, item


def _keys(rows: Iterator[tuple[int, Any]], source: str) -> tuple[str, ...]:
    """The keys of all objects, in the order in which they come."""
    keys: dict[str, None] = {}
    for line, row in rows:
        for key in row:
            if key not in keys:
                keys[_checked_name(key, source, line)] = None
    return tuple(keys)


def _open_parquet_table(source: ByteSource, delimiter: str | None) -> SourceTable:
    file = open_parquet(source)
    names = list(file.schema_arrow.names)
    file.close()
    return SourceTable(
        source.name,
        checked_names(names, source.name),
        lambda: _batch_rows(parquet_batches(open_parquet(source), names, source.name)),
    )


def _batch_rows(batches: Iterator[Any]) -> NumberedCells:
    parts = (batch.slice(start, _ROWS_AT_ONCE) for batch in batches for start in range(0, batch.num_rows, _ROWS_AT_ONCE))
    rows = chain.from_iterable(zip(*(column.to_pylist() for column in part.columns), strict=True) for part in parts)
    return enumerate(rows, start=1)


_READERS: dict[str, Callable[[ByteSource, str | None], SourceTable]] = {
    "text": _open_text,
    "json": _open_json,
    "jsonl": _open_json_lines,
    "parquet": _open_parquet_table,
}
