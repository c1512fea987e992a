"""How hard chance is asked: as the commands do for a few hundred queries, less where there are thousands and less is enough."""

from __future__ import annotations

from ..analysis.compare.settings import ComparisonSettings
from ..analysis.segments.rows import SegmentSettings

_CELLS = 10_000_000
MANY = 2_000
"""With more queries than this intervals and tests hardly change with more draws."""


def draws(n: int, most: int) -> int:
    """How often n queries are drawn again: `most`, but no more than ten million drawings, and a thousand at least."""
    return max(1_000, min(most, _CELLS // max(n, 1)))


def comparison_settings(n: int) -> ComparisonSettings:
    """For the differences between systems."""
    return ComparisonSettings(samples=100_000 if n <= MANY else 20_000, resamples=draws(n, 10_000))


def segment_settings(n: int) -> SegmentSettings:
    """For segments against the rest."""
    return SegmentSettings(samples=draws(n, 10_000), resamples=draws(n, 10_000))
