"""The grid of cells behind every table, and the options of rendering."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rankproof._evaluation.result import MeasureResult, Result

MISSING = "–"


@dataclass(frozen=True, slots=True)
class Cell:
    """The text of a cell, whether it is the best of its measure, and its superscript letters."""

    text: str
    best: bool = False
    marks: str = ""


@dataclass(frozen=True, slots=True)
class GridColumn:
    """A column; the highest `drop_order` is dropped first if the width is too small."""

    title: str
    cells: tuple[Cell, ...]
    drop_order: int


@dataclass(frozen=True, slots=True)
class Grid:
    """Cells by row and column; `corner` is the title of the row names.

    `words` are the indices of text columns, `highlighted` those of highlighted rows.
    """

    corner: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[tuple[Cell, ...], ...]
    words: frozenset[int] = frozenset()
    highlighted: frozenset[int] = frozenset()

    def transposed(self, corner: str) -> Grid:
        """The grid with rows and columns swapped."""
        return Grid(corner, self.columns, self.rows, tuple(zip(*self.cells, strict=True)))

    def part(self, columns: range) -> Grid:
        """A range of columns with all rows."""
        cells = tuple(row[columns.start : columns.stop] for row in self.cells)
        words = frozenset(at - columns.start for at in self.words if at in columns)
        return Grid(self.corner, self.rows, self.columns[columns.start : columns.stop], cells, words, self.highlighted)


def format_value(value: float, one: MeasureResult) -> str:
    """A value with four decimals, or a sum as an integer; a summary of no values is missing."""
    if math.isnan(value):
        return MISSING
    return f"{value:.0f}" if one.summary == "sum" else f"{value:.4f}"


def measure_label(name: str, one: MeasureResult) -> str:
    """The measure's name, with the summary in brackets unless it is a mean."""
    return name if one.summary == "mean" else f"{name} ({one.summary})"


def summary_grid(result: Result) -> Grid:
    """A row per system, a column per measure."""
    first = result.systems[0].measures
    columns = tuple(measure_label(name, one) for name, one in first.items())
    by_measure = [_summary_cells([system.measures[name] for system in result.systems]) for name in first]
    return Grid("system", tuple(system.name for system in result.systems), columns, tuple(zip(*by_measure, strict=True)))


def query_grid(result: Result, name: str) -> Grid:
    """One measure: a row per query, a column per system, and the summary as the last row."""
    ones = [system.measures[name] for system in result.systems]
    columns = [_column(one, result.queries) for one in ones]
    last = _summary_cells(ones)
    rows = (*result.queries, summary_label(ones))
    cells = (*zip(*columns, strict=True), last)
    return Grid("query", rows, tuple(system.name for system in result.systems), cells)


def system_grid(result: Result, index: int) -> Grid:
    """One system: a row per query, a column per measure, and the summary as the last row."""
    measures = result.systems[index].measures
    ones = list(measures.values())
    columns = [_column(one, result.queries) for one in ones]
    last = tuple(Cell(format_value(one.value, one)) for one in ones)
    rows = (*result.queries, summary_label(ones))
    return Grid("query", rows, tuple(measure_label(*item) for item in measures.items()), (*zip(*columns, strict=True), last))


def summary_label(ones: Sequence[MeasureResult]) -> str:
    """The name of the summary row."""
    kinds = {one.summary for one in ones}
    return {"mean": "mean", "sum": "sum", "geometric": "geometric mean"}[kinds.pop()] if len(kinds) == 1 else "overall"


def _column(one: MeasureResult, queries: Sequence[str]) -> list[Cell]:
    values = one.per_query
    return [Cell(format_value(values[query], one) if query in values else MISSING) for query in queries]


def _summary_cells(ones: Sequence[MeasureResult]) -> tuple[Cell, ...]:
    """The summaries of one measure; the best are marked unless all are equal or the measure has no direction."""
    texts = [format_value(one.value, one) for one in ones]
    measure = ones[0].measure
    known = [text for text in texts if text != MISSING]
    top = (min if measure.higher_is_better is False else max)(known, key=float, default=MISSING)
    has_best = len(set(known)) > 1 and measure.kind != "count" and measure.higher_is_better is not None
    return tuple(Cell(text, has_best and text == top) for text in texts)


@dataclass(frozen=True, slots=True)
class RenderOptions:
    """Options for printing; `width` is the number of characters per line, and `wrap` wraps longer lines.

    `rel` is the relevance threshold, which names of trec_eval leave out. `summary` is False for values of queries alone.
    `trec_names` are names in the output of trec_eval, by measure.
    """

    per_query: bool = False
    width: int = 80
    wrap: bool = False
    colour: bool = False
    verbose: bool = False
    rel: int = 1
    summary: bool = True
    trec_names: Mapping[str, str] = field(default_factory=dict)
