"""Ignores what differs between two runs of a command: times and sizes in memory."""

from __future__ import annotations

import re
from collections.abc import Iterator

_UNITS = r"(?:ms|s|MB)"
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_WITH_UNIT = re.compile(rf"(?<![\w.])\d+\.\d+(?= ?{_UNITS}\b)")
_KEYED = re.compile(r"('(?:mean|p50|p95)': )\d+(?:\.\d+)?")
_RATIO = re.compile(r"\b\d+(?= times (?:slower|faster)\b)")
_OF_TIMES = re.compile(rf"(?:^|\s){_UNITS}(?:\s|$)|queries/s")
_CELL = re.compile(r"\S+(?: \S+)*")
_RULE = re.compile(r"\s*─[─\s]*$")
_FACTOR = 20

Span = tuple[int, int]


def settled(text: str) -> str:
    """The text without times: numbers under a header of times, decimals before a unit, ratios of times, and their padding."""
    return re.sub(r"[\s─]+", " ", "\n".join(_settled_lines(text.splitlines())))


def near(old: str, new: str) -> bool:
    """Whether two measured numbers are of much the same size: within a factor of 20."""
    before, after = (float(one.replace(",", "")) for one in (old, new))
    return before == after or (before * after > 0 and 1 / _FACTOR <= before / after <= _FACTOR)


def _settled_lines(lines: list[str]) -> Iterator[str]:
    header = ""
    for at, line in enumerate(lines):
        if at + 1 < len(lines) and _RULE.match(lines[at + 1]):
            header = line
        elif not line.strip():
            header = ""
        plain = _settled_row(line, header) if header and line is not header else _settled_latex(line, lines)
        yield _RATIO.sub("0", _KEYED.sub(r"\g<1>0", _WITH_UNIT.sub("0", plain)))


def _settled_row(line: str, header: str) -> str:
    """A row with 0 for every number that stands under a header of times."""
    cells = list(_CELL.finditer(header))
    columns = [cell.span() for cell in cells if _OF_TIMES.search(cell[0])]
    others = [cell.span() for cell in cells if not _OF_TIMES.search(cell[0])]
    return _CELL.sub(lambda cell: _NUMBER.sub("0", cell[0]) if _nearest(cell, columns, others) else cell[0], line)


def _nearest(cell: re.Match[str], columns: list[Span], others: list[Span]) -> bool:
    """Whether the header that the cell stands under, flush left or right, is one of times."""

    def distance(span: Span) -> int:
        return min(abs(span[0] - cell.start()), abs(span[1] - cell.end()))

    return min(map(distance, columns), default=1 << 20) < min(map(distance, others), default=1 << 20)


def _settled_latex(line: str, lines: list[str]) -> str:
    """A row of a LaTeX table, whose header is the first of its rows."""
    if not _is_row(line):
        return line
    header = next(filter(_is_row, lines)).removesuffix("\\\\").split(" & ")
    cells = line.removesuffix("\\\\").split(" & ")
    if len(cells) != len(header):
        return line
    return " & ".join(
        _NUMBER.sub("0", cell) if _OF_TIMES.search(name) and cell is not name else cell
        for name, cell in zip(header, cells, strict=True)
    )


def _is_row(line: str) -> bool:
    return " & " in line and line.endswith("\\\\")
