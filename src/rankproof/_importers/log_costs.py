"""Columns of RAG logs besides questions and answers: what an answer cost, and the groups of questions."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from rankproof._data.answers import AnswerUsage
from rankproof._formats.source_table import SourceTable
from rankproof._importers.builder import plain_value
from rankproof._importers.cells import TableCell, is_count, object_in
from rankproof.errors import for_message

NUMBERS: Mapping[str, tuple[str, float]] = {
    "time in seconds": ("latency_ms", 1000.0),
    "time in milliseconds": ("latency_ms", 1.0),
    "tokens of prompts": ("tokens_in", 1.0),
    "tokens of replies": ("tokens_out", 1.0),
    "tokens": ("tokens", 1.0),
    "money": ("cost", 1.0),
}
"""What a column holds, the field of AnswerUsage, and the factor to its unit; of two for one field, the later one counts."""
_MODEL = "language model"
_USAGE = ("usage", "token_usage", "usage_metadata")
_SAMPLED_ROWS = 20
COSTS = (*NUMBERS, _MODEL)
_MOST_GROUPS, _LONGEST_GROUP = 20, 60


def with_usage(table: SourceTable) -> SourceTable:
    """The table with the numbers of its objects of usage, such as that of OpenAI's API, as columns; others stay as they are."""
    columns = [name for name in table.names if name.lower() in _USAGE]
    own = dict.fromkeys(
        key
        for _, row in islice(table.rows() if columns else (), _SAMPLED_ROWS)
        for column in columns
        for key, value in (object_in(row.get(column)) or {}).items()
        if is_count(value) and key not in table.names
    )
    if not own:
        return table

    def rows() -> Iterator[tuple[int, dict[str, Any]]]:
        for line, row in table.rows():
            usage = {key: value for column in columns for key, value in (object_in(row.get(column)) or {}).items() if key in own}
            yield line, {**{name: value for name, value in row.items() if name not in columns}, **usage}

    return SourceTable(table.source, (*(name for name in table.names if name not in columns), *own), rows)


def cost_columns(table: SourceTable, roles: Mapping[str, str]) -> dict[str, str]:
    """The columns of costs by what they hold: those in which most values are numbers, or a model's name.

    A text or NaN among numbers is then an error of its row: a cost must not become unknown without a word.
    """
    columns = {role: roles[role] for role in COSTS if role in roles}
    fitting = dict.fromkeys(columns, 0)
    for _, row in table.rows():
        for role, name in columns.items():
            cell = TableCell(row.get(name), name, table.source, None)
            fits = _is_name(cell.value) if role == _MODEL else _number(cell) is not None
            fitting[role] += 0 if cell.is_missing else 1 if fits else -1
    return {role: name for role, name in columns.items() if fitting[role] > 0}


def usage_of(row: Mapping[str, Any], columns: Mapping[str, str], source: str, line: int) -> AnswerUsage | None:
    """What the answer of a row cost; None if the row does not say it. A number below 0 is an error."""
    values: dict[str, Any] = {}
    for role, (field, factor) in NUMBERS.items():
        cell = TableCell(row.get(columns.get(role, "")), columns.get(role, ""), source, line)
        number = _number(cell)
        if cell.is_missing:
            continue
        if number is None or not 0 <= number < math.inf:
            what = for_message(str(cell.value)) if number is None else f"{number:g}"
            raise cell.error(f"is {what}", "write a number of at least 0, or leave it empty")
        values[field] = factor * number
    if _MODEL in columns and _is_name(model := row.get(columns[_MODEL])):
        values["model"] = str(model).strip()
    return AnswerUsage(**values) if values else None


def group_columns(table: SourceTable, names: Iterable[str], known: Collection[str]) -> dict[str, str]:
    """The columns whose values make groups: 2 to 20 short values, each of which but few rows lack or have alone."""
    values: dict[str, dict[Any, int]] = {name: {} for name in names if name and name not in known}
    rows = 0
    for _, row in table.rows():
        rows += 1
        for name, counts in tuple(values.items()):
            value = plain_value(row.get(name))
            if value is None or value == "":
                continue
            if not _is_group(value) or len(counts) > _MOST_GROUPS:
                del values[name]
                continue
            counts[value] = counts.get(value, 0) + 1
    return {name: name for name, counts in values.items() if 2 <= len(counts) <= min(_MOST_GROUPS, rows // 2)}


def _is_group(value: Any) -> bool:
    return isinstance(value, bool) or (isinstance(value, str) and len(value) <= _LONGEST_GROUP and "\n" not in value)


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip()) and len(value) <= _LONGEST_GROUP and "\n" not in value


def _number(cell: TableCell) -> float | None:
    """The number in a cell, also as text; None for anything else."""
    value = cell.value
    if isinstance(value, bool):
        return None
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return None if math.isnan(number) else number
