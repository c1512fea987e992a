"""TREC text: qrels of four columns, runs of six, and how their lines are read.

This is the readable definition of the text that the native reader streams. Only LF, CRLF and CR end a line; only ASCII white
space separates columns; a line that begins with `#` is a comment; a byte-order mark at the start is skipped.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Protocol

from ..data.qrels import Judgement, bounded_grade
from ..data.refusals import MAX_LINE_BYTES, refusal
from ..data.run import RunRow
from ..data.source import ByteStream, Source
from ..errors import InputError

BLOCK_BYTES = 1 << 20
_BOM = b"\xef\xbb\xbf"
_DECIMAL = re.compile(rb"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_INTEGER = re.compile(rb"[+-]?[0-9]+")
_NOT_FINITE = re.compile(rb"[+-]?(?:inf|infinity|nan)", re.IGNORECASE)
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


def read_blocks(stream: ByteStream, size: int = BLOCK_BYTES) -> Iterator[bytes]:
    """The stream's bytes in blocks, to its end."""
    buffer = bytearray(size)
    view = memoryview(buffer)
    while count := stream.readinto(view):
        yield bytes(view[:count])


def numbered_lines(source: Source) -> Iterator[tuple[int, bytes]]:
    """Every line that holds a row, with its number from 1."""
    number, rest, started, ended = 0, b"", False, False
    stream = source.open()
    try:
        for block in read_blocks(stream):
            rest += block
            if not started:
                _refuse_utf16(rest, source)
            if not started and len(rest) >= len(_BOM):
                rest, started = rest.removeprefix(_BOM), True
            lines = rest.splitlines(keepends=True)
            rest = lines.pop() if lines else b""
            for line in lines:
                number += 1
                if row := _row(line, number, source):
                    yield number, row
            if len(rest) > MAX_LINE_BYTES + 2:
                raise refusal("long-line", source=source.name, line=number + 1)
            ended = True
    finally:
        stream.close()
    if not ended:
        raise refusal("empty", source=source.name)
    for line in rest.removeprefix(b"" if started else _BOM).splitlines():
        number += 1
        if row := _row(line, number, source):
            yield number, row


def _row(line: bytes, number: int, source: Source) -> bytes:
    """The line without its end, empty when it is blank or a comment."""
    line = line.rstrip(b"\r\n")
    if len(line) > MAX_LINE_BYTES:
        raise refusal("long-line", source=source.name, line=number)
    if line.startswith(b"#") or not line.strip():
        return b""
    if not line.isascii():
        _refuse_bad_utf8(line, number, source)
    return line


def _refuse_utf16(start: bytes, source: Source) -> None:
    if start.startswith(_UTF16_MARKS):
        raise refusal("utf16", source=source.name)


def _refuse_bad_utf8(line: bytes, number: int, source: Source) -> None:
    try:
        line.decode()
    except UnicodeDecodeError as error:
        raise refusal("utf8", source=source.name, line=number, byte=line[error.start], column=error.start + 1) from None


def parse_score(token: bytes, *, source: str = "", line: int | None = None) -> float:
    """A decimal in ASCII as a float64; nothing else that Python or C would take for a number."""
    if not _DECIMAL.fullmatch(token):
        code = "score-infinite" if _NOT_FINITE.fullmatch(token) else "score-text"
        raise refusal(code, source=source, line=line, token=token.decode())
    score = float(token)
    if not math.isfinite(score):
        raise refusal("score-range", source=source, line=line, token=token.decode())
    return score


def parse_rank(token: bytes) -> int | None:
    """The rank column where it is a whole number of at most 18 digits, else None."""
    return int(token) if _INTEGER.fullmatch(token) and len(token.lstrip(b"+-")) <= 18 else None


def parse_grade(token: bytes, *, source: str = "", line: int | None = None) -> int:
    """An integer in ASCII as a grade."""
    if not _INTEGER.fullmatch(token):
        raise refusal("grade-text", source=source, line=line, token=token.decode())
    if len(token) > 4000:
        raise refusal("grade-bits", source=source, line=line, token=token.decode())
    return bounded_grade(int(token), source=source, line=line)


def run_columns_refusal(found: int, *, source: str, line: int) -> InputError:
    """The error for a line of a run that has not its six columns."""
    code = "run-is-qrels" if found == 4 and line == 1 else "run-columns"
    return refusal(code, source=source, line=line, found=found)


def run_rows(source: Source) -> Iterator[RunRow]:
    """The rows of a TREC run.

    The tag is the rest of the line. Where that makes more than six columns the rank must be a whole number: otherwise an id
    holds white space, and the columns are not where they should be.
    """
    for line, text in numbered_lines(source):
        columns = text.split(maxsplit=5)
        found = len(text.split())
        if found < 6 or (found > 6 and parse_rank(columns[3]) is None):
            raise run_columns_refusal(found, source=source.name, line=line)
        query, _, doc, rank, score, tag = columns
        value = parse_score(score, source=source.name, line=line)
        yield RunRow(query.decode(), doc.decode(), value, parse_rank(rank), line, tag.rstrip().decode())


class GradeReader(Protocol):
    """What turns the text of a grade into the grade."""

    def __call__(self, token: bytes, /, *, source: str, line: int | None) -> int: ...


def qrels_columns_refusal(found: int, *, source: str, line: int) -> InputError:
    """The error for a line of qrels that has not four columns."""
    code = {3: "qrels-three", 6: "qrels-is-run"}.get(found, "qrels-columns")
    return refusal(code, source=source, line=line, found=found)


def qrels_rows(source: Source, grade_of: GradeReader = parse_grade) -> Iterator[Judgement]:
    """The judgements of TREC qrels."""
    for line, text in numbered_lines(source):
        columns = text.split()
        if len(columns) != 4:
            raise qrels_columns_refusal(len(columns), source=source.name, line=line)
        query, _, doc, grade = columns
        yield Judgement(query.decode(), doc.decode(), grade_of(grade, source=source.name, line=line), line)
