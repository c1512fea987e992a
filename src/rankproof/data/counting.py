"""How many there are of something, in words."""

from __future__ import annotations


def counted(count: int, one: str, more: str = "") -> str:
    """The number before its noun, as in `1 query` and `2 queries`; the words may go on with a verb (`1 query has`)."""
    return f"{count:,} {one if count == 1 else more or f'{one}s'}"
