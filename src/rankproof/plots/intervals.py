"""How the intervals of a chart were made, in words."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TypeVar

from ..analysis.statistics.bootstrap import Interval
from ..analysis.statistics.many import how_made
from ..evaluation import MeasureResult

Key = TypeVar("Key", bound=Hashable)


def how(values: Mapping[Key, MeasureResult], ranges: Mapping[Key, Interval | None]) -> str:
    """The method and its count, or that there is no interval."""
    made = how_made(values, ranges)
    if made is None:
        return "no intervals: they take a mean over two queries or more, not all of one value"
    return f"whiskers: 95% intervals ({made})"
