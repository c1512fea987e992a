"""How hard chance is asked: as the commands do for a few hundred queries, less where there are thousands and less is enough."""

from __future__ import annotations

from ..analysis.compare.settings import ComparisonSettings
from ..analysis.segments.rows import SegmentSettings
from ..analysis.statistics.many import draws

MANY = 2_000
"""With more queries than this tests hardly change with more draws."""


def comparison_settings(n: int) -> ComparisonSettings:
    """For the differences between systems."""
    return ComparisonSettings(samples=100_000 if n <= MANY else 20_000, resamples=draws(n))


def segment_settings(n: int) -> SegmentSettings:
    """For segments against the rest."""
    return SegmentSettings(samples=draws(n), resamples=draws(n))
