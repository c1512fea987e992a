"""Two systems query by query: how much one gains over the other, the largest gain first."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._charts.differences import differences_chart
from .._charts.model import Chart, Medium
from .._charts.text import fitted
from ..analysis.evidence import Evidence, known_system
from ..analysis.measured import best_of
from ..analysis.statistics.bootstrap import Interval
from ..analysis.statistics.intervals import mean_interval, method_words
from ..analysis.statistics.many import draws
from ..analysis.statistics.paired import differences as apart
from ..analysis.wording import amount
from ..data.arrays import FloatArray
from ..errors import UsageError
from ..evaluation import MeasureResult
from ..measures import Measure
from .inputs import NO_MEAN, PlotSettings, full_name, means_of, missing, of_measure, part_name, where

_TITLE = "Differences between two systems, query by query"
_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Gaps:
    """What one system has more than the other on each query, the most first; `interval` is that of the mean."""

    one: str
    other: str
    queries: tuple[str, ...]
    sizes: FloatArray
    interval: Interval | None

    @property
    def counts(self) -> tuple[int, int, int]:
        """On how many queries it is higher, equal and lower."""
        higher, lower = int((self.sizes > 0).sum()), int((self.sizes < 0).sum())
        return higher, len(self.sizes) - higher - lower, lower


def differences(evidence: Evidence, settings: PlotSettings) -> list[Chart]:
    """A figure for each measure."""
    names = means_of(evidence, settings)
    why = "There is one system only: a difference takes two." if len(evidence.systems) < 2 else ""
    if why or not names:
        return [missing(evidence, settings, "differences", _TITLE, why or NO_MEAN)]
    return [_chart(evidence, name, settings) for name in names]


def gaps_of(evidence: Evidence, measure: str, settings: PlotSettings) -> Gaps:
    """The two systems' common queries, and how far apart they are on each."""
    values = of_measure(evidence, measure)
    one, other = _pair(evidence, values, settings)
    mine, theirs = values[one].per_query, values[other].per_query
    queries = sorted(query for query in mine if query in theirs)
    sizes = apart(np.array([mine[query] for query in queries]), np.array([theirs[query] for query in queries]))
    order = sorted(range(len(queries)), key=lambda at: (-sizes[at], queries[at]))
    return Gaps(one, other, tuple(queries[at] for at in order), sizes[order], _interval(sizes, values[one].measure))


def _interval(sizes: FloatArray, measure: Measure) -> Interval | None:
    """The interval of the comparison: that of differences in the order of query ids."""
    low, high = measure.range
    within = (low - high, high - low)
    return mean_interval(sizes, resamples=draws(len(sizes)), within=within) if len(sizes) else None


def _pair(evidence: Evidence, values: dict[str, MeasureResult], settings: PlotSettings) -> tuple[str, str]:
    """The systems asked for; else the best, and what it is measured against or the best of the others."""
    other = known_system(evidence, settings.against) if settings.against else None
    one = known_system(evidence, settings.system) if settings.system else None
    one = one or _best(values, other)
    below = next((rung.over for rung in evidence.rungs if rung.name == one), None)
    other = other or below or _best(values, one)
    if one == other:
        raise UsageError("a system is held against itself", fix="name two systems with --system and --against")
    return one, other


def _best(values: dict[str, MeasureResult], other: str | None) -> str:
    return best_of({name: one for name, one in values.items() if name != other})


def _chart(evidence: Evidence, name: str, settings: PlotSettings) -> Chart:
    gaps, medium = gaps_of(evidence, name, settings), settings.medium
    measure = of_measure(evidence, name)[gaps.one].measure
    one, other = medium.names([gaps.one, gaps.other], 14 * medium.text)
    title = f"{one} less {other} on each query, {full_name(measure)}"
    if not gaps.queries:
        return missing(evidence, settings, "differences", title, "The two systems have no query in common.", queries=0)
    higher, equal, lower = gaps.counts
    said = f"{one} is higher on {higher:,}, equal on {equal:,} and lower on {lower:,} queries; {_mean(gaps, measure)}"
    notes = [where(evidence, len(gaps.queries)), said, *_ends(gaps, medium)]
    keys = (f"{one} higher ({higher:,})", f"{other} higher ({lower:,})", f"equal ({equal:,})")
    sizes = gaps.sizes.tolist()
    chart = part_name("differences", name, settings)
    return differences_chart(medium, chart, title, notes, sizes, keys, f"difference in {measure}")


def _mean(gaps: Gaps, measure: Measure) -> str:
    mean = float(gaps.sizes.mean())
    n = len(gaps.sizes)
    words = f"mean {'+' if mean > 0 else ''}{amount(mean, measure)}"
    if gaps.interval is None:
        return words
    low, high = (amount(end, measure).removesuffix(" pp") for end in gaps.interval)
    return f"{words} (95% interval {low} to {high}; {method_words('bca', draws(n), n, n)})"


def _ends(gaps: Gaps, medium: Medium) -> list[str]:
    """The queries that differ most, by name."""
    pairs = list(zip(gaps.queries, gaps.sizes.tolist(), strict=True))
    gains, losses = [one for one in pairs if one[1] > 0][:_SHOWN], [one for one in pairs[::-1] if one[1] < 0][:_SHOWN]
    told = [
        f"{words}: {_listed(found, medium)}" for words, found in (("largest gains", gains), ("largest losses", losses)) if found
    ]
    return ["; ".join(told)] if told else []


def _listed(found: list[tuple[str, float]], medium: Medium) -> str:
    return ", ".join(f"{fitted(medium.clean(query), 8.5 * medium.text, medium.text)} {size:+.2f}" for query, size in found)
