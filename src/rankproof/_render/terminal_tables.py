"""Grids as rich tables on a terminal, split into blocks if they are too wide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from io import StringIO

from rich.box import SIMPLE
from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from rankproof._io.escape import for_terminal
from rankproof._render.grid import Cell, Grid, RenderOptions

_GAP = 3
_BAR = 24
_HEIGHT = 25
_UNLIMITED_WIDTH = 1 << 16
_EIGHTHS = ("", "▏", "▎", "▍", "▌", "▋", "▊", "▉")
_BEST = "bold green"
_ARROW = "> "


def fits_width(grid: Grid, options: RenderOptions) -> bool:
    """Whether the grid fits in one block."""
    return len(_blocks(grid, options)) == 1


@dataclass(frozen=True, slots=True)
class Bars:
    """A bar for each row; a share is from 0 to 1, None for no bar."""

    title: str
    shares: Sequence[float | None]

    def fit(self, used: int, options: RenderOptions) -> bool:
        """Whether there is a bar and enough space."""
        return any(self.shares) and used + _GAP + max(_BAR, cell_len(self.title)) <= options.width


class TablePrinter:
    """Collects lines and tables as text, coloured or plain by the options."""

    def __init__(self, options: RenderOptions) -> None:
        self._options = options
        self._file = StringIO()
        self._console = Console(
            file=self._file,
            width=options.width if options.wrap else _UNLIMITED_WIDTH,
            height=_HEIGHT,
            force_terminal=options.colour,
            force_jupyter=False,
            color_system="standard" if options.colour else None,
            highlight=False,
            markup=False,
            emoji=False,
            legacy_windows=False,
        )

    def line(self, text: str = "", *, style: str = "") -> None:
        """Adds a line of text, wrapped between words if the options say so."""
        self._console.print(Text(for_terminal(text), style=style))

    def paragraph(self, text: str, *, style: str = "") -> None:
        """Adds indented text, always wrapped between words."""
        self._console.print(Padding(Text(for_terminal(text), style=style), (0, 0, 0, 4)), width=self._options.width)

    def summary(self, grid: Grid, *, bars: Bars | None = None) -> None:
        """Adds the grid in as many blocks as the width needs, with bars on the right if they fit."""
        blocks = _blocks(grid, self._options)
        shown_bars = bars if bars is not None and len(blocks) == 1 and bars.fit(_needed_width(grid), self._options) else None
        for columns in blocks:
            part, table = grid.part(columns), _empty_table()
            table.add_column(_name(part.corner), overflow="fold")
            for at, name in enumerate(part.columns):
                table.add_column(_name(name), justify="left" if at in part.words else "right", overflow="fold")
            if shown_bars:
                table.add_column(_name(shown_bars.title), min_width=_BAR)
            for at, (name, cells) in enumerate(zip(part.rows, part.cells, strict=True)):
                first = self._row_name(name, at in part.highlighted)
                table.add_row(first, *map(self._cell, cells), *([_bar(shown_bars.shares[at])] if shown_bars else []))
            self._console.print(table)
            self.line()

    def queries(self, grid: Grid) -> None:
        """Adds a grid with a row per query and a summary as the last row."""
        folds = self._options.wrap and _names_width(grid) > self._options.width // 2
        for columns in _blocks(grid, self._options):
            part, table = grid.part(columns), _empty_table(show_footer=True)
            table.add_column(_name(part.corner), footer=_name(part.rows[-1]), overflow="fold")
            for name, last in zip(part.columns, part.cells[-1], strict=True):
                table.add_column(_name(name), footer=self._cell(last), justify="right", overflow="fold")
            rows = [
                (for_terminal(name), *(cell.text for cell in cells)) for name, cells in zip(part.rows, part.cells, strict=True)
            ][:-1]
            for row in rows if folds else [["\n".join(column) for column in zip(*rows, strict=True)]]:
                table.add_row(*map(Text, row))
            self._console.print(table)
            self.line()

    def text(self) -> str:
        """The collected text without spaces at line ends."""
        return "\n".join(line.rstrip(" ") for line in self._file.getvalue().split("\n"))

    def _row_name(self, name: str, is_highlighted: bool) -> Text:
        """The row name, highlighted in bold, or by an arrow without colour."""
        if is_highlighted and not self._options.colour:
            return Text(_ARROW + for_terminal(name))
        return Text(for_terminal(name), style="bold" if is_highlighted else "")

    def _cell(self, cell: Cell) -> Text:
        """The cell, with the best marked by colour, or by a star without colour."""
        if self._options.colour:
            return Text(for_terminal(cell.text), style=_BEST if cell.best else "")
        return Text(for_terminal(f"*{cell.text}" if cell.best else cell.text))


def _empty_table(*, show_footer: bool = False) -> Table:
    return Table(box=SIMPLE, show_edge=False, pad_edge=False, show_footer=show_footer, header_style="bold", border_style="dim")


def _name(text: str) -> Text:
    return Text(for_terminal(text))


def _bar(share: float | None) -> Text:
    eighths = round((share or 0.0) * _BAR * 8)
    return Text("█" * (eighths // 8) + _EIGHTHS[eighths % 8], style="cyan")


def _blocks(grid: Grid, options: RenderOptions) -> list[range]:
    """Ranges of columns that fit beside the row names."""
    names = _names_width(grid)
    space = options.width - (min(names, options.width // 2) if options.wrap else names)
    blocks, start, used = [], 0, 0
    for index, width in enumerate(_widths(grid)):
        if index > start and used + width > space:
            blocks.append(range(start, index))
            start, used = index, 0
        used += width
    return [*blocks, range(start, len(grid.columns))]


def _needed_width(grid: Grid) -> int:
    return _names_width(grid) + sum(_widths(grid))


def _names_width(grid: Grid) -> int:
    return max(cell_len(for_terminal(name)) for name in (grid.corner, *grid.rows)) + (len(_ARROW) if grid.highlighted else 0)


def _widths(grid: Grid) -> list[int]:
    heads = [cell_len(for_terminal(name)) for name in grid.columns]
    return [
        _GAP + max(head, *(cell_len(for_terminal(row[at].text)) + row[at].best for row in grid.cells))
        for at, head in enumerate(heads)
    ]
