"""What is said of segments: which is the lowest, which is told from the rest, and how that was found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from ...errors import shown
from ...evaluation import MeasureResult
from ..statistics.correction import NAMES, level_of
from ..statistics.intervals import FEW, method_words
from ..statistics.limits import least_label_p, shortage
from ..wording import brief, counted, few, p_words
from .rows import LEAST, Row, SegmentSettings


def agreement(rows: Sequence[Row], systems: Sequence[str], measure: str, settings: SegmentSettings) -> list[str]:
    """Which segment has the lowest value for most systems, and for how many that is told; where some have too few queries for
    a claim, it is the lowest of the others, and said to be.
    """
    lowest = [
        min((row for row in rows if row.system == system and row.n >= LEAST), key=lambda row: row.value, default=None)
        for system in systems
    ]
    counts = Counter(row.segment for row in lowest if row is not None)
    if not counts:
        return []
    name, times = counts.most_common(1)[0]
    told = sum(row is not None and row.segment == name and row.verdict(settings.alpha) == "lower" for row in lowest)
    surely = f"for {told} of them lower than the rest beyond chance" if told else "but for none of them beyond chance"
    among = f" of the segments with {LEAST} or more queries" if any(row.n < LEAST for row in rows) else ""
    return [f"{shown(name)} has the lowest {measure}{among} for {times} of {len(systems)} systems, {surely}."]


def warnings(rows: Sequence[Row]) -> tuple[str, ...]:
    """The segments that have too few queries for a claim, or for an interval to rely on."""
    small = sorted(row.segment for row in rows if row.n < LEAST)
    rough = sorted(row.segment for row in rows if LEAST <= row.n < FEW)
    found = []
    if small:
        found.append(f"segments of fewer than {LEAST} queries, too few to claim anything: {len(small)} ({few(small)})")
    if rough:
        found.append(f"segments of fewer than {FEW} queries, whose intervals are rough: {len(rough)} ({few(rough)})")
    return tuple(found)


def limits(rows: Sequence[Row], values: Mapping[str, MeasureResult], settings: SegmentSettings) -> Iterator[str]:
    """Why no segment could be told from the rest, whatever its values."""
    tested = [row for row in rows if row.p is not None]
    if tested:
        least = min(least_label_p(values[row.system].queries, row.n, settings.samples) for row in tested)
        lacking = shortage(least, level_of(settings.alpha, len(tested), settings.correction, len(tested)))
        if lacking is not None:
            yield f"no segment can be told from the rest: {lacking}"


def said(rows: Sequence[Row], measure: str, settings: SegmentSettings) -> tuple[str, ...]:
    """What can be said of one system's segments."""
    real = [row for row in rows if row.p is not None and row.p <= settings.alpha and row.difference]
    if len(rows) == 1:
        return (f"All queries of {shown(rows[0].system)} are in one segment: there is no rest.",)
    if not real:
        return (f"No segment of {shown(rows[0].system)} can be told from the rest.",)
    return tuple(_told(row, measure) for row in real)


def _told(row: Row, measure: str) -> str:
    assert row.difference is not None
    assert row.rest is not None
    assert row.p is not None
    word = "lower" if row.difference < 0 else "higher"
    return (
        f"{shown(row.system)} is {word} on {shown(row.segment)} (n = {row.n}): {measure} {brief(row.value)} against"
        f" {brief(row.rest)} on the rest, {row.difference:+.4f}, {p_words(row.p)}."
    )


def how(rows: Sequence[Row], tests: int, settings: SegmentSettings) -> str:
    """How it was done, in a sentence."""
    corrected = NAMES[settings.correction] + (
        "" if settings.correction == "none" else f" over {counted(tests, 'test')} (every segment of every system)"
    )
    sizes = [row.n for row in rows]
    intervals = method_words("bca", settings.resamples, min(sizes), max(sizes))
    return (
        f"How: permutation of labels ({settings.samples:,} deals), two-sided, alpha {settings.alpha:g}, {corrected};"
        f" {settings.percent} intervals ({intervals}); seed {settings.seed};"
        f" segments of fewer than {LEAST} queries, or with so few others, are not tested."
    )
