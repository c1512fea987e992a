"""Texts and cells as ids, scores and ranks."""

from __future__ import annotations

import math
import re

import numpy as np

from rankproof._data.row_errors import row_error
from rankproof._data.run import checked_score
from rankproof._data.validation import checked_id
from rankproof._io.file_errors import file_error

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
