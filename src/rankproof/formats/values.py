"""Values that are not text (of JSON, Parquet and frames) as ids and scores."""

from __future__ import annotations

import math

from ..data.ids import checked_id
from ..data.refusals import refusal
from ..data.run import checked_score
from .faults import fault


def id_of_value(value: object, column: str, *, source: str, line: int | None) -> str:
    """The value as an id: text as it is, an integer as its decimal text; null and floats are refused."""
    if value is None:
        raise fault("id-null", source=source, line=line, column=column)
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


def kind_name(value: object) -> str:
    """What a value is, in JSON's words."""
    names = {dict: "an object", list: "a list", str: "text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")
