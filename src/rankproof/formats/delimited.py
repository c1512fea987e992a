"""CSV and TSV: rows of fields after RFC 4180, with the line that each row begins in.

A field in quotes may hold the delimiter, line ends and doubled quotes; a quote inside a field without quotes is text. Spaces
belong to the field. Where the file is written again, fields are exact data, so that ids are read back as they were: nothing is
done to those that a spreadsheet would take for a formula.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..data.refusals import MAX_LINE_BYTES
from ..errors import UsageError, shown
from .faults import fault

Lines = Iterator[tuple[int, str]]
Row = tuple[int, list[str], bool]
_QUOTE = '"'


def split_rows(lines: Lines, delimiter: str, source: str) -> Iterator[Row]:
    """Each row that is not blank: its first line, its fields, and whether it begins with a bare #."""
    for number, line in lines:
        text = line.rstrip("\r\n")
        if not text.strip():
            continue
        fields = text.split(delimiter) if _QUOTE not in text else _Quoted(number, line, lines, delimiter, source).fields()
        yield number, fields, text.startswith("#")


class _Quoted:
    """One row with quotes in it, read on over as many lines as they need."""

    def __init__(self, number: int, line: str, lines: Lines, delimiter: str, source: str) -> None:
        self.number, self.line, self.lines, self.delimiter, self.source = number, line, lines, delimiter, source
        self.first, self.at = number, 0

    def fields(self) -> list[str]:
        found: list[str] = []
        while True:
            found.append(self._quoted() if self.line.startswith(_QUOTE, self.at) else self._bare())
            rest = self.line[self.at :]
            if not rest.strip("\r\n"):
                return found
            if not rest.startswith(self.delimiter):
                raise fault("quote-text", source=self.source, line=self.number, column=self.at + 1)
            self.at += len(self.delimiter)

    def _bare(self) -> str:
        end = self.line.find(self.delimiter, self.at)
        field = self.line[self.at :].rstrip("\r\n") if end < 0 else self.line[self.at : end]
        self.at += len(field)
        return field

    def _quoted(self) -> str:
        opened, parts, size = self.number, [], 0
        self.at += 1
        while True:
            end = self.line.find(_QUOTE, self.at)
            if end < 0:
                parts.append(self.line[self.at :])
                size += len(parts[-1])
                self._next_line(opened, size)
                continue
            parts.append(self.line[self.at : end])
            doubled = self.line.startswith(_QUOTE, end + 1)
            self.at = end + 1 + doubled
            if not doubled:
                return "".join(parts)
            parts.append(_QUOTE)

    def _next_line(self, opened: int, size: int) -> None:
        if size > MAX_LINE_BYTES:
            raise fault("field-long", source=self.source, line=opened)
        following = next(self.lines, None)
        if following is None:
            raise fault("quote-open", source=self.source, line=opened)
        self.number, self.line = following
        self.at = 0


def checked_delimiter(delimiter: str | None) -> str | None:
    """The delimiter as one character; `\\t` in letters is a tab."""
    char = "\t" if delimiter in ("\\t", "tab") else delimiter
    if char is not None and not isinstance(char, str):
        raise UsageError(f"a delimiter cannot be a {type(char).__name__}", fix='name one character, like ";" or "\\t"')
    if char is not None and (len(char) != 1 or char.isalnum() or char in '"\r\n#+-.'):
        raise UsageError(f'"{shown(char)}" cannot be a delimiter', fix='name one character, like ";" or "\\t"')
    return char


def joined(fields: Iterable[str], delimiter: str) -> str:
    """One row, with its end; fields that need quotes have them."""
    return delimiter.join(_written(field, delimiter) for field in fields) + "\n"


def _written(field: str, delimiter: str) -> str:
    plain = field and not field.startswith(("#", "\ufeff")) and not any(char in field for char in (delimiter, _QUOTE, "\n", "\r"))
    return field if plain else _QUOTE + field.replace(_QUOTE, _QUOTE * 2) + _QUOTE
