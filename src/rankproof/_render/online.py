"""What a log of live search says, as text and JSON: the decision, then the tables behind it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol

from rankproof._analysis.online.tables import ROWS, TREND
from rankproof._data.table import Table
from rankproof._io.escape import escape_json
from rankproof._render.formats import RenderOptions
from rankproof._render.table import TABLE_RENDERERS, as_text, plain_tables
from rankproof._render.terminal import TablePrinter, wrapped

_SHOWN_LOOKS = 7


class LiveAnswer(Protocol):
    """What a log says: sentences, the answer first, and the tables behind them."""

    @property
    def sentences(self) -> tuple[str, ...]: ...
    @property
    def tables(self) -> tuple[Table, ...]: ...
    def to_dict(self) -> dict[str, Any]: ...


def render_online(result: LiveAnswer, view: str, options: RenderOptions) -> str:
    """The result in the format of this name; the terminal shows the last days of the trend, and no counts of rows."""
    if view == "json":
        plain = {**result.to_dict(), "tables": plain_tables(result.tables)}
        return escape_json(json.dumps(plain, ensure_ascii=False, indent=1, allow_nan=False)) + "\n"
    if view != "table":
        return TABLE_RENDERERS[view](_with_decision(result.tables, result.sentences), options)
    printer = TablePrinter(options)
    for sentence in result.sentences:
        for line in wrapped(sentence, options.width):
            printer.line(line)
    printer.line()
    return printer.text() + as_text([_shown(table) for table in result.tables if table.name != ROWS], options)


def _with_decision(tables: Sequence[Table], sentences: Sequence[str]) -> list[Table]:
    """The tables, the first one with the decision."""
    first, *others = tables
    return [replace(first, sentences=tuple(sentences), verdict_first=True), *others]


def _shown(table: Table) -> Table:
    """The table without the older looks of the trend."""
    if table.name != TREND or len(table.rows) <= _SHOWN_LOOKS:
        return table
    kept = range(len(table.rows) - _SHOWN_LOOKS, len(table.rows))
    return replace(table.with_rows(kept), title=f"{table.title}, the last looks")
