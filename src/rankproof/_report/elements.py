"""Section, HtmlTable, phrases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from markupsafe import Markup

from rankproof._analysis.values import format_points
from rankproof._data.table import Table
from rankproof._data.text import shown_time
from rankproof._evaluation.result import MeasureResult
from rankproof._render.grid import MISSING, Grid, format_value
from rankproof._render.table import table_grid
from rankproof._statistics.intervals import Interval
from rankproof.errors import for_message


@dataclass(frozen=True, slots=True)
class HtmlTable:
    """A grid under its caption; `abouts` say what columns mean, `heats` colour cells by row and column, from 0 to 9.

    `notes` stand below it. `told` are sentences that stand before it.
    """

    caption: str
    grid: Grid
    column_notes: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    colour_levels: Mapping[tuple[int, int], int] = field(default_factory=dict)
    sentences: tuple[str, ...] = ()

    def colour_class(self, row: int, column: int) -> str:
        """The class of a cell that has a colour."""
        level = self.colour_levels.get((row, column))
        return "" if level is None else f"heat heat-{level}"


def html_table(table: Table, *, sentences: bool = False) -> HtmlTable:
    """An analysis' table; its sentences too where nothing else on the page says them."""
    abouts = {column.name: column.about for column in table.columns if column.about}
    return HtmlTable(table.title, table_grid(table), abouts, table.notes, sentences=table.sentences if sentences else ())


@dataclass(frozen=True, slots=True)
class SvgChart:
    """A drawing as SVG, and the same in words for those who cannot see it.

    `narrow` is the same drawing for a phone, None where the first fits one; `small` charts stand side by side.
    """

    title: str
    svg: Markup
    about: str
    narrow: Markup | None = None
    small: bool = False


@dataclass(frozen=True, slots=True)
class KeyFigure:
    """A number that must not be missed: what it is, its value, and what must be known beside it."""

    label: str
    value: str
    about: str = ""


@dataclass(frozen=True, slots=True)
class FoldedText:
    """A text of its own lines, folded under its title."""

    title: str
    text: str


@dataclass(frozen=True, slots=True)
class MeasureTerm:
    """A word and what it means; `aside` is shown small behind it."""

    word: str
    title: str
    meaning: str
    aside: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the page; `key` is its anchor, `question` what it answers.

    What must be read first stands first: the lead, figures, sentences, points of a list, warnings, then charts, then tables.
    `folded` tables and texts are shown when asked for; `key_of_ways` says that its small charts show moves, which need a key.
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
    tables: tuple[HtmlTable, ...] = ()
    folded: tuple[HtmlTable, ...] = ()
    texts: tuple[FoldedText, ...] = ()
    terms: tuple[MeasureTerm, ...] = ()
    has_move_legend: bool = False


def join_names(names: Sequence[str], most: int = 6) -> str:
    """Names in a sentence: a, b and c; the last of many are counted."""
    safe = [for_message(name) for name in names[:most]]
    if len(names) > most:
        safe = [*safe[:-1], f"{len(names) - most + 1} others"]
    return safe[0] if len(safe) == 1 else f"{', '.join(safe[:-1])} and {safe[-1]}"


def format_milliseconds(value: float) -> str:
    """A time, as in 20.4 ms; seconds where there are many."""
    return f"{shown_time(value)} ms" if value < 10_000 else f"{shown_time(value / 1000)} s"


def format_megabytes(size: int) -> str:
    """A size in memory."""
    return f"{shown_time(size / 1e6)} MB" if size >= 100_000 else f"{size / 1000:.1f} kB"


def signed_difference(difference: float, one: MeasureResult) -> str:
    """A difference of means with its sign, in percentage points where the measure is a share."""
    size = format_points(difference, one.measure)
    return f"+{size}" if difference > 0 and size != format_points(0.0, one.measure) else size


def interval_phrase(interval: Interval | None, one: MeasureResult) -> str:
    """An interval in words; nothing where there is none."""
    if interval is None:
        return ""
    low, high = (format_value(end, one) for end in interval)
    return f"95% interval {low} to {high}"


def interval_cell(interval: Interval | None) -> str:
    """An interval in a cell."""
    return MISSING if interval is None else f"{interval[0]:.4f}–{interval[1]:.4f}"


def as_sentence(note: str) -> str:
    """A note as a sentence."""
    return f"{note[:1].upper()}{note[1:]}{'' if note.endswith(('.', '?', '!', '…')) else '.'}"


WIDE_CHART_WIDTH, NARROW_CHART_WIDTH, PANEL_CHART_WIDTH = 880.0, 340.0, 340.0
