"""Texts that are cut and numbers that are rounded, so that the page stays small."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable

MAX_ANSWER_LENGTH = 4_000


def truncate(text: str, length: int) -> str:
    """The text cut at the length, with an ellipsis."""
    return text if len(text) <= length + 1 else f"{text[:length]}…"


def utf16_length(text: str) -> int:
    """The length of the text in UTF-16 units."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def text_size(texts: Iterable[str], length: int) -> int:
    """The size of the texts as JSON, each cut at the length."""
    return len(json.dumps([truncate(text, length) for text in texts]))


VALUE_DIGITS = 5


def round_number(value: float, digits: int = VALUE_DIGITS) -> float | int | None:
    """The rounded number, as an integer if it is one; None if it is not finite."""
    if not math.isfinite(value):
        return None
    near = round(value, digits)
    return int(near) if near == int(near) else near


def round_column(values: Iterable[float | None], digits: int = VALUE_DIGITS) -> list[float | int | None]:
    """The rounded numbers of a column; None stays None."""
    return [None if value is None else round_number(value, digits) for value in values]
