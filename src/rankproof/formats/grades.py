"""Grades that are written as letters or other text, mapped to integers: `E=3,S=2,C=1,I=0`."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ..data.qrels import checked_grade
from ..data.refusals import MAX_GRADE
from ..errors import UsageError, shown
from .faults import fault
from .trec import parse_grade

GradeMap = Mapping[str, int]
_EXAMPLE = "write it like E=3,S=2,C=1,I=0"
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")


def parse_grade_map(text: str) -> dict[str, int]:
    """The map that `E=3,S=2` says; its labels are case-sensitive."""
    grades: dict[str, int] = {}
    for part in text.split(","):
        label, equals, grade = part.strip().rpartition("=")
        if not equals or not label or not _INTEGER.fullmatch(grade):
            raise UsageError(f'grade map "{shown(text)}" has a part "{shown(part)}" that is no label=integer', fix=_EXAMPLE)
        if label in grades:
            raise UsageError(f'grade map names "{shown(label)}" twice', fix="give each label one grade")
        if int(grade) > MAX_GRADE:
            raise UsageError(f"grade map has {grade}, above the limit of {MAX_GRADE}", fix=_EXAMPLE)
        grades[label] = int(grade)
    return grades


def grade_of_text(token: str, grades: GradeMap | None, *, source: str, line: int | None) -> int:
    """The grade that the text stands for: mapped where the map has it, else an integer."""
    if grades is None:
        return parse_grade(token.encode(), source=source, line=line)
    if token in grades:
        return grades[token]
    if not _INTEGER.fullmatch(token):
        raise fault("grade-unmapped", source=source, line=line, token=token)
    return parse_grade(token.encode(), source=source, line=line)


def grade_of_value(value: object, grades: GradeMap | None, *, query: str, doc: str, source: str, line: int | None) -> int:
    """The grade that a value of JSON, Parquet or a frame stands for."""
    if value is None:
        raise fault("grade-null", source=source, line=line, query=query, doc=doc)
    if grades is not None and isinstance(value, str | int | float) and not isinstance(value, bool):
        if str(value) in grades:
            return grades[str(value)]
        if isinstance(value, str):
            return grade_of_text(value, grades, source=source, line=line)
    return checked_grade(value, query=query, doc=doc, source=source, line=line)
