"""Lines, each with its number: where they end, how long they may be, and the marks that a text may begin with."""

from __future__ import annotations

from collections.abc import Iterator

from ..data.refusals import MAX_LINE_BYTES, refusal
from ..data.source import Source
from .streams import read_blocks

BOM = b"\xef\xbb\xbf"
UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


def numbered_text(source: Source, *, limit: int = MAX_LINE_BYTES) -> Iterator[tuple[int, str]]:
    """Every line as text with its end, for the formats whose rows may go over several lines."""
    for number, line in raw_lines(source, limit=limit):
        yield number, decoded(line, number, source.name)


def raw_lines(source: Source, *, limit: int = MAX_LINE_BYTES) -> Iterator[tuple[int, bytes]]:
    """Every line with its end (LF, CRLF or CR) and its number from 1; a byte-order mark at the start is skipped."""
    for number, begun in enumerate(_lines(source, limit + len(BOM) + len(b"\r\n")), start=1):
        line = begun.removeprefix(BOM) if number == 1 else begun
        if len(line) > limit and len(line.rstrip(b"\r\n")) > limit:
            raise refusal("long-line", source=source.name, line=number)
        yield number, line


def decoded(line: bytes, number: int, name: str) -> str:
    """The line as text; a byte that is not UTF-8 is refused with its place."""
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        raise refusal("utf8", source=name, line=number, byte=line[error.start], column=error.start + 1) from None


def _lines(source: Source, most: int) -> Iterator[bytes]:
    """The lines with their ends; of one that is over `most` bytes perhaps the beginning only."""
    rest, begun = b"", False
    stream = source.open()
    try:
        for block in read_blocks(stream):
            rest += block
            if not begun and rest.startswith(UTF16_MARKS):
                raise refusal("utf16", source=source.name)
            *lines, rest = rest.splitlines(keepends=True)
            begun = begun or bool(lines)
            yield from lines
            if len(rest) > most:
                yield rest
    finally:
        stream.close()
    if not begun and not rest:
        raise refusal("empty", source=source.name)
    yield from rest.splitlines(keepends=True)
