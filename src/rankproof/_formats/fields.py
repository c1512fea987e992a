"""Texts and cells as ids, scores, ranks and grades, and maps of grades."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from rankproof._data.qrels import Qrels, bounded_grade, checked_grade
from rankproof._data.row_errors import MAX_GRADE, row_error
from rankproof._data.run import checked_score
from rankproof._data.validation import checked_id
from rankproof._io.file_errors import file_error
from rankproof.errors import UsageError, for_message, type_phrase

_DECIMAL = re.compile(rb"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_INTEGER = re.compile(rb"[+-]?[0-9]+")
_NOT_FINITE = re.compile(rb"[+-]?(?:inf|infinity|nan)", re.IGNORECASE)


def parse_score(token: bytes, *, source: str = "", line: int | None = None) -> float:
    """A decimal in ASCII as a float64; other spellings that Python or C accept are errors."""
    if not _DECIMAL.fullmatch(token):
        code = "score-header" if _may_be_header(token, line) else "score-text"
        code = "score-infinite" if _NOT_FINITE.fullmatch(token) else code
        raise row_error(code, source=source, line=line, token=token.decode())
    score = float(token)
    if not math.isfinite(score):
        raise row_error("score-range", source=source, line=line, token=token.decode())
    return score


def _may_be_header(token: bytes, line: int | None) -> bool:
    return line == 1 and token[:1].isalpha()


def parse_rank(token: bytes) -> int | None:
    """The rank if it is a whole number of at most 18 digits, else None."""
    return int(token) if _INTEGER.fullmatch(token) and len(token.lstrip(b"+-")) <= 18 else None


def parse_grade(token: bytes, *, source: str = "", line: int | None = None) -> int:
    """An integer in ASCII as a grade."""
    if not _INTEGER.fullmatch(token):
        code = "grade-header" if _may_be_header(token, line) else "grade-text"
        raise row_error(code, source=source, line=line, token=token.decode())
    if len(token) > 4000:
        raise row_error("grade-bits", source=source, line=line, token=token.decode())
    return bounded_grade(int(token), source=source, line=line)


def id_of_value(value: object, column: str, *, source: str, line: int | None) -> str:
    """The value as an id: text, bytes as UTF-8, or an integer as its decimal text; null and floats are errors."""
    if value is None or is_nan(value):
        raise file_error("id-null", source=source, line=line, column=column)
    if isinstance(value, bytes):
        value = _decoded(value, column, source, line)
    if isinstance(value, float):
        raise file_error("id-float", source=source, line=line, column=column, token=repr(value))
    return checked_id(value, column, source=source, line=line)


def score_of_json(value: object, *, query: str, doc: str, source: str, line: int | None) -> float:
    """A JSON number as a score; an infinity is a number outside the range of float64."""
    if isinstance(value, float) and math.isinf(value):
        raise row_error("score-range", source=source, line=line, token=f"of document {doc} for query {query}")
    return checked_score(value, query=query, doc=doc, source=source, line=line)


def score_of_cell(value: object, *, query: str, doc: str, source: str, line: int | None) -> float:
    """The value of a typed column as a score; null is an error."""
    if value is None:
        raise file_error("score-null", source=source, line=line)
    if type(value).__name__ == "Decimal":
        value = float(str(value))
    return checked_score(value, query=query, doc=doc, source=source, line=line)


def score_of_rank(rank: int | None, *, source: str, line: int | None) -> float:
    """The score of a row in a table with ranks only: minus the rank."""
    if rank is None:
        raise row_error("rank-text", source=source, line=line)
    return -float(rank)


def rank_of_value(value: object) -> int | None:
    """The value as a rank if it is a whole number, also as float or text, else None."""
    if isinstance(value, str):
        whole, _, part = value.partition(".")
        return None if part.strip("0") else parse_rank(whole.encode(errors="replace"))
    if isinstance(value, np.integer | np.floating):
        value = value.item()
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or abs(value) >= 1 << 63:
        return None
    return value


def is_nan(value: object) -> bool:
    """Whether the value is a float NaN."""
    return isinstance(value, float | np.floating) and math.isnan(value)


def _decoded(value: bytes, column: str, source: str, line: int | None) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise file_error("encoding", source=source, line=line, encoding="UTF-8", reason=f"in a {column} id") from None


def json_type_name(value: object) -> str:
    """The JSON type of a value, for a message."""
    names = {dict: "an object", list: "a list", str: "text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")


GradeMap = Mapping[str, int]
_EXAMPLE = "write it like E=3,S=2,C=1,I=0"
_MAPPING_FIX = 'pass a mapping of text to integers, like {"E": 3, "S": 2, "C": 1, "I": 0}'
_LABEL_GRADE = re.compile(r"[+-]?[0-9]{1,18}")


def parse_grade_map(text: str) -> dict[str, int]:
    """The map of a text like `E=3,S=2`; labels are case-sensitive."""
    grades: dict[str, int] = {}
    for part in text.split(","):
        label, equals, grade = part.strip().rpartition("=")
        if not equals or not label or not _LABEL_GRADE.fullmatch(grade):
            raise UsageError(
                f'the part "{for_message(part)}" of grade map "{for_message(text)}" is not label=integer', fix=_EXAMPLE
            )
        if label in grades:
            raise UsageError(f'grade map names "{for_message(label)}" twice', fix="give each label one grade")
        if int(grade) > MAX_GRADE:
            raise UsageError(f"grade map has {grade}, above the limit of {MAX_GRADE}", fix=_EXAMPLE)
        grades[label] = int(grade)
    return grades


def checked_grade_map(grades: Any) -> GradeMap | None:
    """The map; anything but text to grades is an error."""
    if grades is None:
        return None
    if not isinstance(grades, Mapping):
        raise UsageError(f"the grade map is {type_phrase(grades)}", fix=_MAPPING_FIX)
    for label, grade in grades.items():
        if not isinstance(label, str):
            raise UsageError(f"the grade map has the label {for_message(repr(label))}, which is not text", fix=_MAPPING_FIX)
        if not isinstance(grade, int) or isinstance(grade, bool) or not -(1 << 63) <= grade <= MAX_GRADE:
            what = f'the grade map gives "{for_message(label)}" {for_message(repr(grade))}'
            raise UsageError(f"{what}, which is not an integer up to {MAX_GRADE}", fix=_MAPPING_FIX)
    return grades


def mapped_qrels(qrels: Mapping[Any, Any], grades: GradeMap, *, name: str) -> Qrels:
    """Judgements in memory with mapped grades."""
    checked_grade_map(grades)
    mapped = {query: _mapped(query, docs, grades, name) for query, docs in qrels.items()}
    found = Qrels.from_dict(mapped, source=name)
    found.repeats += getattr(qrels, "repeats", 0)
    found.judge_labels = getattr(qrels, "judge_labels", {})
    return found


def _mapped(query: object, docs: Any, grades: GradeMap, name: str) -> Any:
    if not isinstance(docs, Mapping):
        return docs
    return {
        doc: grade_of_value(value, grades, query=str(query), doc=str(doc), source=name, line=None) for doc, value in docs.items()
    }


def grade_of_text(token: str, grades: GradeMap | None, *, source: str, line: int | None) -> int:
    """The grade of a text: mapped if the map has it, else an integer."""
    if grades is not None and token in grades:
        return grades[token]
    if not token.strip():
        raise file_error("grade-empty", source=source, line=line)
    if grades is not None and not _LABEL_GRADE.fullmatch(token):
        raise file_error("grade-unmapped", source=source, line=line, token=token)
    return parse_grade(token.encode(), source=source, line=line)


def grade_of_value(value: object, grades: GradeMap | None, *, query: str, doc: str, source: str, line: int | None) -> int:
    """The grade of a value of JSON, Parquet, a frame or a dict; a map with the label 1 also maps 1.0."""
    if value is None or is_nan(value):
        raise file_error("grade-null", source=source, line=line, query=query, doc=doc)
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
