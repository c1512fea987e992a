"""Times of logs: ISO 8601, or seconds, milliseconds, microseconds or nanoseconds since 1970."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from typing import Any

# A time in seconds that is larger than one of these is in a smaller unit: seconds reach 1e11 in the year 5138.
_UNITS = ((1e17, 1e9), (1e14, 1e6), (1e11, 1e3))
_LARGEST = 1e21
"""No unit makes a time of larger numbers."""
_DATE_DIGITS = 8
_ZONE_NAMES = (" UTC", " GMT")


def seconds_since_1970(value: Any) -> float:
    """The time in seconds; NaN if the value is no time. A time without a zone is UTC."""
    if isinstance(value, str):
        value = value.strip()
        # Digits alone are ISO 8601 as well: 13 of them would be a date, an hour and minutes of the year 1762.
        if value.isdecimal() and len(value) != _DATE_DIGITS:
            return _number_of(value)
        try:
            value = datetime.fromisoformat(value[: -len(_ZONE_NAMES[0])] if value.endswith(_ZONE_NAMES) else value)
        except ValueError:
            return _number_of(value)
    if isinstance(value, datetime):
        # NaT of pandas is a datetime that is not equal to itself.
        if value != value:
            return math.nan
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day, tzinfo=UTC).timestamp()
    return _scaled(float(value)) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan


def _number_of(text: str) -> float:
    try:
        return _scaled(float(text))
    except ValueError:
        return math.nan


def _scaled(number: float) -> float:
    if not abs(number) < _LARGEST:
        return math.nan
    return next((number / scale for least, scale in _UNITS if abs(number) > least), number)
