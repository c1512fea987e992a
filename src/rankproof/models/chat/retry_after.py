"""How long a server asks to be left alone: the header Retry-After, which is a number of seconds or a date."""

from __future__ import annotations

import re
from datetime import UTC, datetime

_SECONDS = re.compile(r"\d{1,9}(?:\.\d{1,9})?", re.ASCII)


def seconds_asked(header: str, now: datetime | None = None) -> float | None:
    """Seconds from now, 0 for a date that is past; None where the header is missing or says nothing of sense."""
    from email.utils import parsedate_to_datetime

    text = header.strip()
    if _SECONDS.fullmatch(text):
        return float(text)
    if text.startswith("-"):
        return 0.0 if _SECONDS.fullmatch(text[1:]) else None
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, IndexError, OverflowError):
        return None
    at = date if date.tzinfo else date.replace(tzinfo=UTC)
    return max((at - (now or datetime.now(UTC))).total_seconds(), 0.0)
