"""Counts and times as text."""

from __future__ import annotations


def counted(count: int, one: str, more: str = "") -> str:
    """The number before its noun, as in `1 query` and `2 queries`; the words may go on with a verb (`1 query has`)."""
    return f"{count:,} {one if count == 1 else more or f'{one}s'}"


def shown_time(value: float) -> str:
    """Three digits or so: 0.012, 1.23, 45.6, 789."""
    return f"{value:.0f}" if value >= 99.95 else f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"
