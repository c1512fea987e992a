"""Numbers as short as the page needs them."""

from __future__ import annotations

import math
from collections.abc import Iterable

DIGITS = 5


def shortened(value: float, digits: int = DIGITS) -> float | int | None:
    """The number to that many digits after the point, whole ones without a point; None where it is none."""
    if not math.isfinite(value):
        return None
    near = round(value, digits)
    return int(near) if near == int(near) else near


def column(values: Iterable[float | None], digits: int = DIGITS) -> list[float | int | None]:
    """The same for a column, None where there is no value."""
    return [None if value is None else shortened(value, digits) for value in values]
