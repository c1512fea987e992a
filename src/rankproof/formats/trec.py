"""TREC text: qrels of four columns, runs of six, and how their lines are read.

This is the readable definition of the text that the native reader streams. Only LF, CRLF and CR end a line; only ASCII white
space separates columns; a line that begins with `#` is a comment; a byte-order mark at the start is skipped.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Protocol

from ..data.marks import SHORTEST, mark_of
from ..data.qrels import Judgement, bounded_grade
from ..data.refusals import refusal
from ..data.run import RunRow
from ..data.source import Source
from ..errors import InputError
from .lines import decoded, raw_lines

_DECIMAL = re.compile(rb"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_INTEGER = re.compile(rb"[+-]?[0-9]+")
_NOT_FINITE = re.compile(rb"[+-]?(?:inf|infinity|nan)", re.IGNORECASE)


def numbered_lines(source: Source) -> Iterator[tuple[int, bytes]]:
    """Every line that holds a row, with its number from 1."""
    for number, line in raw_lines(source):
        row = line.rstrip(b"\r\n")
        if row.startswith(b"#") or not row.strip():
            continue
        if not row.isascii():
            decoded(row, number, source.name)
        yield number, row


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

    The tag is the rest of the line. Where that makes more than six columns, a rank that is no whole number or a tag that begins
    with a number is refused: then an id holds white space, and the columns are not where they should be.
    """
    for line, text in numbered_lines(source):
        found = text.split()
        if len(found) < 6 or (len(found) > 6 and (parse_rank(found[3]) is None or _DECIMAL.fullmatch(found[5]))):
            raise run_columns_refusal(len(found), source=source.name, line=line)
        query, _, doc, rank, score, tag = text.split(maxsplit=5)
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
    """The judgements of TREC qrels; the second column counts where it names a machine."""
    for line, text in numbered_lines(source):
        columns = text.split()
        if len(columns) != 4:
            raise qrels_columns_refusal(len(columns), source=source.name, line=line)
        query, mark, doc, grade = columns
        value = grade_of(grade, source=source.name, line=line)
        yield Judgement(query.decode(), doc.decode(), value, line, mark_of(mark.decode()) if len(mark) > SHORTEST else "")
