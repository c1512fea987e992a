"""Values that are not text (of JSON, Parquet and frames) as ids, scores and ranks."""

from __future__ import annotations

import math

import numpy as np

from ..data.ids import checked_id
from ..data.refusals import refusal
from ..data.run import checked_score
from .faults import fault
from .trec import parse_rank


def id_of_value(value: object, column: str, *, source: str, line: int | None) -> str:
    """The value as an id: text as it is, bytes as UTF-8, an integer as its decimal text; null and floats are refused."""
    if value is None or is_nan(value):
        raise fault("id-null", source=source, line=line, column=column)
    if isinstance(value, bytes):
        value = _decoded(value, column, source, line)
    if isinstance(value, float):
        raise fault("id-float", source=source, line=line, column=column, token=repr(value))
    return checked_id(value, column, source=source, line=line)


def score_of_json(value: object, *, query: str, doc: str, source: str, line: int | None) -> float:
    """The number in JSON as a score; an infinity there can only be one that a float64 cannot hold."""
    if isinstance(value, float) and math.isinf(value):
        raise refusal("score-range", source=source, line=line, token=f"of document {doc} for query {query}")
    return checked_score(value, query=query, doc=doc, source=source, line=line)


def score_of_cell(value: object, *, query: str, doc: str, source: str, line: int | None) -> float:
    """The value of a typed column as a score; null is refused."""
    if value is None:
        raise fault("score-null", source=source, line=line)
    if type(value).__name__ == "Decimal":
        value = float(str(value))
    return checked_score(value, query=query, doc=doc, source=source, line=line)


def score_of_rank(rank: int | None, *, source: str, line: int | None) -> float:
    """What stands for the score in a table that has ranks only: minus the rank, so that the better rank is the higher."""
    if rank is None:
        raise refusal("rank-text", source=source, line=line)
    return -float(rank)


def rank_of_value(value: object) -> int | None:
    """The value as a rank where it is a whole number, be it a float or text, else None."""
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
    """Whether the value is the float that is no number."""
    return isinstance(value, float | np.floating) and math.isnan(value)


def _decoded(value: bytes, column: str, source: str, line: int | None) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise fault("encoding", source=source, line=line, encoding="UTF-8", reason=f"in a {column} id") from None


def kind_name(value: object) -> str:
    """What a value is, in JSON's words."""
    names = {dict: "an object", list: "a list", str: "text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")
