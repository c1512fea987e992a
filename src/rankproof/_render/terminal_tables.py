"""Grids set as rich tables: split into blocks rather than cut, with every foreign name made visible."""

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
    """Whether the grid needs one block only."""
    return len(_blocks(grid, options)) == 1


@dataclass(frozen=True, slots=True)
class Bars:
    """A bar for each row; its share of the whole is from 0 to 1, None where it has none."""

    title: str
    shares: Sequence[float | None]

    def fit(self, used: int, options: RenderOptions) -> bool:
        """Whether there is something to draw and room for it."""
        return any(self.shares) and used + _GAP + max(_BAR, cell_len(self.title)) <= options.width


class TablePrinter:
    """Collects lines and tables as text, coloured or plain as the look says."""

    def __init__(self, options: RenderOptions) -> None:
        self._look = options
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
        """A line of text, wrapped between words where lines must fold."""
        self._console.print(Text(for_terminal(text), style=style))

    def paragraph(self, text: str, *, style: str = "") -> None:
        """Text indented and wrapped between words, to the width of the look in any case."""
        self._console.print(Padding(Text(for_terminal(text), style=style), (0, 0, 0, 4)), width=self._look.width)

    def summary(self, grid: Grid, *, bars: Bars | None = None) -> None:
        """The grid in as many blocks as the width asks for; bars stand right of their rows where there is room."""
        blocks = _blocks(grid, self._look)
        drawn = bars if bars is not None and len(blocks) == 1 and bars.fit(_needed_width(grid), self._look) else None
        for columns in blocks:
            part, table = grid.part(columns), _empty_table()
            table.add_column(_name(part.corner), overflow="fold")
            for at, name in enumerate(part.columns):
                table.add_column(_name(name), justify="left" if at in part.words else "right", overflow="fold")
            if drawn:
                table.add_column(_name(drawn.title), min_width=_BAR)
            for at, (name, cells) in enumerate(zip(part.rows, part.cells, strict=True)):
                first = self._row_name(name, at in part.highlighted)
                table.add_row(first, *map(self._cell, cells), *([_bar(drawn.shares[at])] if drawn else []))
            self._console.print(table)
            self.line()

    def queries(self, grid: Grid) -> None:
        """The same for a grid that has a row for each query and a summary below."""
        folds = self._look.wrap and _names_width(grid) > self._look.width // 2
        for columns in _blocks(grid, self._look):
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
        """All that was collected, without blanks at line ends."""
        return "\n".join(line.rstrip(" ") for line in self._file.getvalue().split("\n"))

    def _row_name(self, name: str, is_strong: bool) -> Text:
        """A row that stands out does so by its name: bold, or behind an arrow where there is no colour."""
        if is_strong and not self._look.colour:
            return Text(_ARROW + for_terminal(name))
        return Text(for_terminal(name), style="bold" if is_strong else "")

    def _cell(self, cell: Cell) -> Text:
        """The best stands out by colour, or by a star where there is none."""
        if self._look.colour:
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
    """Runs of columns that fit beside the row names."""
    names = _names_width(grid)
    room = options.width - (min(names, options.width // 2) if options.wrap else names)
    blocks, start, used = [], 0, 0
    for index, width in enumerate(_widths(grid)):
        if index > start and used + width > room:
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
