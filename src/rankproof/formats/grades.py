"""Grades that are written as letters or other text, mapped to integers: `E=3,S=2,C=1,I=0`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..data.qrels import Qrels, checked_grade
from ..data.refusals import MAX_GRADE
from ..errors import UsageError, shown
from .faults import fault
from .trec import parse_grade
from .values import is_nan

GradeMap = Mapping[str, int]
_EXAMPLE = "write it like E=3,S=2,C=1,I=0"
_MAPPING = 'pass a mapping of text to integers, like {"E": 3, "S": 2, "C": 1, "I": 0}'
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


def checked_grade_map(grades: Any) -> GradeMap | None:
    """The map, where it is one of text to grades."""
    if grades is None:
        return None
    if not isinstance(grades, Mapping):
        raise UsageError(f"the grade map is a {type(grades).__name__}", fix=_MAPPING)
    for label, grade in grades.items():
        if not isinstance(label, str):
            raise UsageError(f"the grade map has the label {shown(repr(label))}, which is not text", fix=_MAPPING)
        if not isinstance(grade, int) or isinstance(grade, bool) or not -(1 << 63) <= grade <= MAX_GRADE:
            what = f'the grade map gives "{shown(label)}" {shown(repr(grade))}'
            raise UsageError(f"{what}, which is no integer up to {MAX_GRADE}", fix=_MAPPING)
    return grades


def mapped_qrels(qrels: Mapping[Any, Any], grades: GradeMap, *, name: str) -> Qrels:
    """Judgements in memory, their grades mapped."""
    checked_grade_map(grades)
    mapped = {query: _mapped(query, docs, grades, name) for query, docs in qrels.items()}
    found = Qrels.from_dict(mapped, source=name)
    found.repeats += getattr(qrels, "repeats", 0)
    found.marks = getattr(qrels, "marks", {})
    return found


def _mapped(query: object, docs: Any, grades: GradeMap, name: str) -> Any:
    if not isinstance(docs, Mapping):
        return docs
    return {
        doc: grade_of_value(value, grades, query=str(query), doc=str(doc), source=name, line=None) for doc, value in docs.items()
    }


def grade_of_text(token: str, grades: GradeMap | None, *, source: str, line: int | None) -> int:
    """The grade that the text stands for: mapped where the map has it, else an integer."""
    if grades is not None and token in grades:
        return grades[token]
    if not token.strip():
        raise fault("grade-empty", source=source, line=line)
    if grades is not None and not _INTEGER.fullmatch(token):
        raise fault("grade-unmapped", source=source, line=line, token=token)
    return parse_grade(token.encode(), source=source, line=line)


def grade_of_value(value: object, grades: GradeMap | None, *, query: str, doc: str, source: str, line: int | None) -> int:
    """The grade that a value of JSON, Parquet, a frame or a dict stands for; a map may know a whole float as an integer."""
    if value is None or is_nan(value):
        raise fault("grade-null", source=source, line=line, query=query, doc=doc)
    if grades is not None and not isinstance(value, bool):
        label = next((label for label in _labels(value) if label in grades), None)
        if label is not None:
            return grades[label]
        if isinstance(value, str):
            return grade_of_text(value, grades, source=source, line=line)
    return checked_grade(value, query=query, doc=doc, source=source, line=line)


def _labels(value: Any) -> tuple[str, ...]:
    plain = value.item() if isinstance(value, np.integer | np.floating) else value
    if isinstance(plain, float) and plain.is_integer():
        return str(plain), str(int(plain))
    return (str(plain),) if isinstance(plain, str | int | float) else ()
