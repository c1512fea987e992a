"""The elements of a page (sections, charts, figures), the phrases they share, and the addresses that numbers lead to."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from markupsafe import Markup

from rankproof._analysis.values import format_points
from rankproof._charts.draw import svg_of
from rankproof._charts.model import Chart, Medium
from rankproof._data.table import CellValue, Table
from rankproof._data.text import in_a_sentence, shown_time
from rankproof._evaluation.result import MeasureResult
from rankproof.errors import for_message


@dataclass(frozen=True, slots=True)
class SvgChart:
    """A chart as SVG with a title and a text alternative.

    `narrow` is the chart for a phone, None if the first fits; `small` charts are laid out side by side. Of charts with a
    `measure`, the page shows those of its measure. `parts` are counts in words with their addresses, empty for a count of 0.
    """

    title: str
    svg: Markup
    about: str
    narrow: Markup | None = None
    small: bool = False
    measure: str = ""
    parts: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class KeyFigure:
    """A key number with its label and a remark."""

    label: str
    value: str
    about: str = ""


@dataclass(frozen=True, slots=True)
class FoldedText:
    """A preformatted text, folded under its title."""

    title: str
    text: str


@dataclass(frozen=True, slots=True)
class MeasureTerm:
    """A term with its meaning; `aside` follows in small print."""

    word: str
    title: str
    meaning: str
    aside: str = ""


@dataclass(frozen=True, slots=True)
class MovedDocument:
    """A document that moved: its grade (None if unjudged) and the colour level of it, its ranks and how it moved in words."""

    id: str
    kind: str
    ranks: str
    words: str
    grade: str | None
    level: int
    title: str
    snippet: str


@dataclass(frozen=True, slots=True)
class ChangedQuery:
    """A query with its values before and after; `link` opens it in the table of queries, `more` documents are left out."""

    id: str
    text: str
    values: str
    difference: str
    kind: str
    documents: tuple[MovedDocument, ...]
    more: int
    link: str = ""


@dataclass(frozen=True, slots=True)
class ChangedSystem:
    """The queries of a system that changed most, in titled lists."""

    name: str
    summary: str
    lists: tuple[tuple[str, tuple[ChangedQuery, ...]], ...]
    is_open: bool = False


@dataclass(frozen=True, slots=True)
class Section:
    """A section of the page; `key` is its anchor, `question` the question it answers.

    The fields are in page order. `folded` tables and `texts` are collapsed, with `is_folded` the whole section is;
    `has_move_legend` adds the legend of rank moves, `has_waterfall` the differences between two systems query by query. Of the
    tables `by_measure`, the page shows that of its measure.
    """

    key: str
    title: str
    question: str
    lead: str = ""
    figures: tuple[KeyFigure, ...] = ()
    sentences: tuple[str, ...] = ()
    points: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    charts: tuple[SvgChart, ...] = ()
    changed: tuple[ChangedSystem, ...] = ()
    by_measure: tuple[tuple[str, Table], ...] = ()
    tables: tuple[Table, ...] = ()
    folded: tuple[Table, ...] = ()
    texts: tuple[FoldedText, ...] = ()
    terms: tuple[MeasureTerm, ...] = ()
    has_move_legend: bool = False
    has_waterfall: bool = False
    is_folded: bool = False


def join_names(names: Sequence[str], most: int = 6) -> str:
    """Names in a sentence, as in "a, b and c"; those beyond `most` are counted."""
    safe = [for_message(name) for name in names[:most]]
    if len(names) > most:
        safe = [*safe[:-1], f"{len(names) - most + 1} others"]
    return in_a_sentence(safe)


def format_milliseconds(value: float) -> str:
    """A time in milliseconds, or in seconds from 10 s."""
    return f"{shown_time(value)} ms" if value < 10_000 else f"{shown_time(value / 1000)} s"


def signed_difference(difference: float, measured: MeasureResult) -> str:
    """A signed difference of means, in percentage points if the measure lies between 0 and 1."""
    size = format_points(difference, measured.measure)
    return f"+{size}" if difference > 0 and size != format_points(0.0, measured.measure) else size


_PLAIN_WORD = re.compile("[a-z]+(?=[ ,;])(?! =)")


def as_sentence(note: str) -> str:
    """A note as a sentence with a full stop, and with a capital unless it starts with a name or a symbol."""
    start = note[:1].upper() if _PLAIN_WORD.match(note) else note[:1]
    return f"{start}{note[1:]}{'' if note.endswith(('.', '?', '!', '…')) else '.'}"


WIDE_CHART_WIDTH, NARROW_CHART_WIDTH, PANEL_CHART_WIDTH = 880.0, 340.0, 340.0
MANY_SYSTEMS = 10
"""With more systems than this, the page leaves out what every pair or every system has, so that it stays small."""


def chart_of_widths(
    draw: Callable[[Medium], Chart], title: str, about: str, systems: int, *, width: float = WIDE_CHART_WIDTH, measure: str = ""
) -> SvgChart:
    """A chart in its width and, unless it has many systems, drawn again for a phone."""
    narrow = svg_of(draw(Medium(NARROW_CHART_WIDTH))) if systems <= MANY_SYSTEMS else None
    return SvgChart(title, svg_of(draw(Medium(width))), about, narrow, measure=measure)


def queries_link(*repeated: tuple[str, str], **parameters: str | None) -> str:
    """The address of the table of queries with these parameters, of docs/report.md; those that are None are left out."""
    pairs = [(name, value) for name, value in (*parameters.items(), *repeated) if value is not None]
    return f"#queries?{urlencode(pairs, errors='replace')}"


def pair_link(system: str, other: str | None, measure: str | None = None) -> str:
    """The queries with the largest losses of a system to another; alone, those where it is worst."""
    if other is None or other == system:
        return queries_link(a=system, sort="value", measure=measure)
    return queries_link(a=system, b=other, sort="difference", measure=measure)


RowLinks = Callable[[Mapping[str, CellValue]], Mapping[str, str]]
"""The addresses of the cells of a row by the name of their column, from the cells by the name of their column."""


def linked(table: Table, links_of: RowLinks) -> Table:
    """The table with the addresses of its cells."""
    places = {column.name: at for at, column in reversed(list(enumerate(table.columns)))}
    rows: Sequence[Mapping[str, CellValue]] = table.records()
    links = {
        (row, places[name]): link for row, record in enumerate(rows) for name, link in links_of(record).items() if name in places
    }
    return replace(table, links=links)


def with_system_links(table: Table, systems: Collection[str]) -> Table:
    """The table with an address for each system of its column `system` and in each column of a system: its worst queries.

    A table with addresses stays.
    """
    if table.links:
        return table

    def links(row: Mapping[str, CellValue]) -> dict[str, str]:
        named = {"system": row["system"]} if "system" in row else {name: name for name in row}
        return {column: pair_link(str(name), None) for column, name in named.items() if name in systems}

    return linked(table, links)
