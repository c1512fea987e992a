"""The folder of what users did with live rankings: result.json, a summary for lists, and the report page."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from rankproof._data import format_versions
from rankproof._data.table import CellValue, Column, ColumnKind, Table
from rankproof._io import strict_json
from rankproof._io.escape import escape_json
from rankproof._io.files import RESULT_FILE, check_replaceable, open_plain_file, replace_folder, write_blocks
from rankproof._io.open import open_folder_source, read_all_bytes
from rankproof._io.strict_json import JsonObject, has_own_digest, plain_record, with_digest
from rankproof._results.result_json import DECISION_FILE, REPORT_FILE
from rankproof._results.summary_file import summary_content

LIVE_FORMAT: Final = "rankproof-online"
_DAMAGED_FIX = "the file is damaged: run rankproof online again"
_HEAD_BYTES = 200
_KIND = "results folder of rankproof online"


@dataclass(frozen=True, slots=True)
class LiveColumn:
    """A column of a table."""

    name: str
    kind: ColumnKind
    about: str


@dataclass(frozen=True, slots=True)
class LiveTable:
    """A table of the result; an interval is a list of two numbers."""

    name: str
    title: str
    columns: tuple[LiveColumn, ...]
    rows: tuple[tuple[Any, ...], ...]
    notes: tuple[str, ...]
    highlighted: tuple[int, ...]

    def table(self) -> Table:
        """The table as pages show it."""
        columns = tuple(Column(column.name, column.kind, column.about) for column in self.columns)
        rows = tuple(tuple(tuple(cell) if isinstance(cell, list) else cell for cell in row) for row in self.rows)
        return Table(self.name, self.title, columns, rows, notes=self.notes, highlighted=frozenset(self.highlighted))


@dataclass(frozen=True, slots=True)
class LiveDocument:
    """The result.json of live traffic: the decision in words and as JSON, and the tables behind it."""

    name: str
    made: str
    kind: str
    measure: str
    sentences: tuple[str, ...]
    notes: tuple[str, ...]
    facts: Mapping[str, Any]
    decision: Mapping[str, Any]
    tables: tuple[LiveTable, ...]
    format: str = LIVE_FORMAT
    schema: int = format_versions.LIVE_RESULTS


def live_table(table: Table) -> LiveTable:
    """A table as result.json holds it."""
    columns = tuple(LiveColumn(column.name, column.kind, column.about) for column in table.columns)
    return LiveTable(table.name, table.title, columns, table.rows, table.notes, tuple(sorted(table.highlighted)))


def is_live_folder(path: str) -> bool:
    """Whether the folder is one of `rankproof online`."""
    try:
        with open_plain_file(os.path.join(path, RESULT_FILE), path) as file:
            return f'"format": "{LIVE_FORMAT}"'.encode() in file.read(_HEAD_BYTES)
    except (OSError, ValueError):
        return False


def _may_replace(path: str) -> bool:
    """Whether the folder holds nothing but what `rankproof online` writes."""
    return is_live_folder(path) and {RESULT_FILE, DECISION_FILE, REPORT_FILE}.issuperset(os.listdir(path))


def check_live_folder(path: str) -> None:
    """Refuses, before any work is done, a path that `save_live_results` could not write to."""
    check_replaceable(path, _may_replace, kind=_KIND)


def save_live_results(document: LiveDocument, path: str, report: str, summary: Mapping[str, Any]) -> None:
    """Writes the folder atomically, and replaces an older one."""
    plain = plain_record(document)
    ordered = {"format": plain.pop("format"), "schema": plain.pop("schema"), **plain}
    text = escape_json(json.dumps(ordered, ensure_ascii=False, indent=1, allow_nan=False)) + "\n"
    with replace_folder(path, _may_replace, kind=_KIND) as folder:
        write_blocks(os.path.join(folder, RESULT_FILE), [with_digest(text.encode(errors="backslashreplace"))])
        write_blocks(os.path.join(folder, REPORT_FILE), [report.encode(errors="backslashreplace")])
        write_blocks(os.path.join(folder, DECISION_FILE), [summary_content(summary, folder, [RESULT_FILE])])


def load_live_results(folder: str) -> LiveDocument:
    """The result of a folder; a file that was changed is an error."""
    path = os.path.join(folder, RESULT_FILE)
    content = read_all_bytes(open_folder_source(folder, RESULT_FILE))
    values = JsonObject(
        strict_json.parse_strict_json(content.decode(errors="replace"), source=path), path, damaged_fix=_DAMAGED_FIX
    )
    if (version := values.member("schema", int)) != (known := format_versions.LIVE_RESULTS):
        fix = format_versions.other_version_fix(version, known, "run rankproof online again")
        raise values.error(format_versions.other_version(version, known), fix)
    if not has_own_digest(content):
        raise values.error("the file was changed after it was written", "run rankproof online again")
    document = values.read(LiveDocument)
    for at, table in enumerate(document.tables):
        if any(len(row) != len(table.columns) or not all(map(_is_cell, row)) for row in table.rows):
            raise values.error(f"tables[{at}].rows do not fit the columns")
    return document


def _is_cell(cell: CellValue | list[Any]) -> bool:
    """Whether a value of JSON is a cell: a text, a number, null, or an interval."""
    if isinstance(cell, list):
        return len(cell) == 2 and all(isinstance(end, int | float) for end in cell)
    return cell is None or isinstance(cell, str | int | float)
