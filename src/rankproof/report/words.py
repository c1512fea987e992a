"""What several sections say in the same words."""

from __future__ import annotations

from collections.abc import Sequence

from ..analysis.statistics.bootstrap import Interval
from ..analysis.wording import amount
from ..data.counting import shown_time
from ..errors import shown
from ..evaluation import MeasureResult
from ..views.grid import ABSENT, shown_number


def listed(names: Sequence[str], most: int = 6) -> str:
    """Names in a sentence: a, b and c; the last of many are counted."""
    safe = [shown(name) for name in names[:most]]
    if len(names) > most:
        safe = [*safe[:-1], f"{len(names) - most + 1} others"]
    return safe[0] if len(safe) == 1 else f"{', '.join(safe[:-1])} and {safe[-1]}"


def milliseconds(value: float) -> str:
    """A time, as in 20.4 ms; seconds where there are many."""
    return f"{shown_time(value)} ms" if value < 10_000 else f"{shown_time(value / 1000)} s"


def megabytes(size: int) -> str:
    """A size in memory."""
    return f"{shown_time(size / 1e6)} MB" if size >= 100_000 else f"{size / 1000:.1f} kB"


def signed(difference: float, one: MeasureResult) -> str:
    """A difference of means with its sign, in percentage points where the measure is a share."""
    size = amount(difference, one.measure)
    return f"+{size}" if difference > 0 and size != amount(0.0, one.measure) else size


def between(interval: Interval | None, one: MeasureResult) -> str:
    """An interval in words; nothing where there is none."""
    if interval is None:
        return ""
    low, high = (shown_number(end, one) for end in interval)
    return f"95% interval {low} to {high}"


def span_text(interval: Interval | None) -> str:
    """An interval in a cell."""
    return ABSENT if interval is None else f"{interval[0]:.4f}–{interval[1]:.4f}"


def sentence_of(note: str) -> str:
    """A note as a sentence."""
    return f"{note[:1].upper()}{note[1:]}{'' if note.endswith(('.', '?', '!', '…')) else '.'}"
