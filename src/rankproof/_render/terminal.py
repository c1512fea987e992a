"""Tables on a terminal, split into blocks if they are too wide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from io import StringIO
from textwrap import wrap

from rich.box import SIMPLE
from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from rankproof._data.table import Table
from rankproof._io.escape import for_terminal
from rankproof._render.formats import RenderOptions
from rankproof._render.table import ShownCell, shown_head, shown_rows

_GAP = 3
_BAR = 24
_LEAST_TEXT = 24
_HEIGHT = 25
_UNLIMITED_WIDTH = 1 << 16
_EIGHTHS = ("", "▏", "▎", "▍", "▌", "▋", "▊", "▉")
_BEST = "bold green"
_ARROW = "> "


def wrapped(text: str, width: int) -> list[str]:
    """The text in lines of at most this many columns; a longer word is broken, except a path, which people copy."""
    lines: list[str] = []
    for line in wrap(for_terminal(text), width, break_on_hyphens=False, break_long_words=False):
        while cell_len(line) > width and "/" not in line:
            head = set_cell_size(line, width).rstrip()
            lines.append(head)
            line = line[len(head) :]
        lines.append(line)
    return lines


def fits_width(table: Table, options: RenderOptions) -> bool:
    """Whether the table fits in one block."""
    return len(_Sheet(table).blocks(options)) == 1


class _Sheet:
    """The texts of a table with their widths; a row has its cells behind its name."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.head = [_with_marks(cell) for cell in shown_head(table)]
        self.rows = [[_with_marks(cell) for cell in row] for row in shown_rows(table)]
        names = (self.head[0], *(row[0] for row in self.rows))
        self.names_width = max(cell_len(cell.text) for cell in names) + (len(_ARROW) if table.highlighted else 0)
        self.widths = [0, *(self._width(at) for at in range(1, len(self.head)))]

    def _width(self, at: int) -> int:
        return _GAP + max(cell_len(cell.text) + cell.best for cell in (self.head[at], *(row[at] for row in self.rows)))

    def cut_texts(self, options: RenderOptions) -> None:
        """Shortens the column of texts, such as those of queries, if the table then fits in one block."""
        at = next((at for at, column in enumerate(self.table.columns) if column.name == "text" and at), 0)
        space = self.widths[at] - _GAP + options.width - self.names_width - sum(self.widths)
        if not at or space < _LEAST_TEXT or space >= self.widths[at] - _GAP:
            return
        for row in self.rows:
            if cell_len(row[at].text) > space:
                row[at] = row[at]._replace(text=f"{set_cell_size(row[at].text, space - 1).rstrip(' …')}…")
        self.widths[at] = self._width(at)

    def blocks(self, options: RenderOptions) -> list[range]:
        """Ranges of columns that fit beside the row names."""
        space = options.width - (min(self.names_width, options.width // 2) if options.wrap else self.names_width)
        blocks, start, used = [], 1, 0
        for at, width in enumerate(self.widths[1:], start=1):
            if at > start and used + width > space:
                blocks.append(range(start, at))
                start, used = at, 0
            used += width
        return [*blocks, range(start, len(self.head))]


def _with_marks(cell: ShownCell) -> ShownCell:
    """The cell with its marks as text, safe for a terminal."""
    return cell._replace(text=for_terminal(f"{cell.text} {cell.marks}" if cell.marks else cell.text))


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

    def summary(self, table: Table, *, bars: Bars | None = None) -> None:
        """Adds the table in as many blocks as the width needs, with bars on the right if they fit."""
        sheet = _Sheet(table)
        sheet.cut_texts(self._options)
        blocks = sheet.blocks(self._options)
        needed = sheet.names_width + sum(sheet.widths)
        shown_bars = bars if bars is not None and len(blocks) == 1 and bars.fit(needed, self._options) else None
        for columns in blocks:
            block = _empty_table()
            for cell in (sheet.head[0], *sheet.head[columns.start : columns.stop]):
                block.add_column(Text(cell.text), justify="left" if cell.is_text else "right", overflow="fold")
            if shown_bars:
                block.add_column(Text(for_terminal(shown_bars.title)), min_width=_BAR)
            for at, (name, *cells) in enumerate(sheet.rows):
                shown = map(self._cell, cells[columns.start - 1 : columns.stop - 1])
                first = self._row_name(name.text, at in table.highlighted)
                block.add_row(first, *shown, *([_bar(shown_bars.shares[at])] if shown_bars else []))
            self._console.print(block)
            self.line()

    def queries(self, table: Table) -> None:
        """Adds a table with a row per query and a summary as the last row."""
        sheet = _Sheet(table)
        folds = self._options.wrap and sheet.names_width > self._options.width // 2
        for columns in sheet.blocks(self._options):
            places, block = (0, *columns), _empty_table(show_footer=True)
            last = sheet.rows[-1]
            for at in places:
                footer = self._cell(last[at]) if at else Text(last[at].text)
                block.add_column(Text(sheet.head[at].text), footer=footer, justify="right" if at else "left", overflow="fold")
            rows = [[row[at].text for at in places] for row in sheet.rows[:-1]]
            # One row of many lines: rich needs far less time for it than for thousands of rows.
            for row in rows if folds else [["\n".join(column) for column in zip(*rows, strict=True)]]:
                block.add_row(*map(Text, row))
            self._console.print(block)
            self.line()

    def text(self) -> str:
        """The collected text without spaces at line ends."""
        return "\n".join(line.rstrip(" ") for line in self._file.getvalue().split("\n"))

    def _row_name(self, name: str, is_highlighted: bool) -> Text:
        """The row name, highlighted in bold, or by an arrow without colour."""
        if is_highlighted and not self._options.colour:
            return Text(_ARROW + name)
        return Text(name, style="bold" if is_highlighted else "")

    def _cell(self, cell: ShownCell) -> Text:
        """The cell, with the best marked by colour, or by a star without colour."""
        if self._options.colour:
            return Text(cell.text, style=_BEST if cell.best else "")
        return Text(f"*{cell.text}" if cell.best else cell.text)


def _empty_table(*, show_footer: bool = False) -> RichTable:
    return RichTable(
        box=SIMPLE, show_edge=False, pad_edge=False, show_footer=show_footer, header_style="bold", border_style="dim"
    )


def _bar(share: float | None) -> Text:
    eighths = round((share or 0.0) * _BAR * 8)
    return Text("█" * (eighths // 8) + _EIGHTHS[eighths % 8], style="cyan")
