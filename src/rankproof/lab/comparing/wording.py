"""A difference in words."""

from __future__ import annotations

from ...errors import shown
from .differences import Difference

_LEAST = 0.05
"""Ends of an interval nearer to 0 than so many percentage points are told with one more digit."""


def said(one: Difference, measure: str) -> str:
    """A difference in words: better and by how much, or that none is shown."""
    names = shown(one.one), shown(one.other)
    if one.is_real:
        better, worse = names if one.mean > 0 else names[::-1]
        repeats = ", in every pair of repeats" if one.pairs > 1 else ""
        return f"{better} is better than {worse} by {points(abs(one.mean))} {measure} {bounds(one)}{repeats}"
    why = f"{bounds(one)} pp" if one.interval else "the same on every query" if one.mean == 0 else "no interval"
    doubt = "not in every pair of repeats" if one.repeated else "by a single training"
    repeats = f", but {doubt}" if one.is_sure else ""
    return f"no difference in {measure} between {names[0]} and {names[1]} is shown ({why}{repeats})"


def points(value: float) -> str:
    """Percentage points."""
    return f"{100 * value:.1f} pp"


def bounds(one: Difference) -> str:
    """The interval of a difference in percentage points; of a better one, both ends as gains."""
    if one.interval is None:
        return "no interval"
    low, high = (100 * end for end in one.interval)
    if one.is_real and one.mean < 0:
        low, high = -high, -low
    digits = 1 if min(abs(low), abs(high)) >= _LEAST else 2
    return f"[{low:z.{digits}f}, {high:z.{digits}f}]"
