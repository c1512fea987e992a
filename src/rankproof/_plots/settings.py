"""The settings of plots, and the systems, measures and notes that all of them share."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from rankproof._analysis.inputs import AnalysisInput
from rankproof._analysis.values import oriented_value
from rankproof._charts.figure import drawable
from rankproof._charts.layout import missing_chart
from rankproof._charts.model import Chart, Medium
from rankproof._data.text import pluralise
from rankproof._evaluation.result import MeasureResult
from rankproof._statistics.intervals import Interval, describe_interval_method
from rankproof.measures._base import Measure

Key = TypeVar("Key", bound=Hashable)
NO_MEAN = "No evaluated measure is a mean over the queries."
_POINTS = 72.0


@dataclass(frozen=True, slots=True)
class PlotSettings:
    """`width` is in inches; `by` is the field of the segments; `system` and `against` are compared in the differences.

    `all_measures` draws the charts of one measure for every measure, not only for the first.
    """

    width: float = 7.0
    dpi: int = 200
    by: str | None = None
    system: str | None = None
    against: str | None = None
    all_measures: bool = False

    @property
    def medium(self) -> Medium:
        """The medium of a file, in points, with titles."""
        return Medium(self.width * _POINTS, text=8.5, small=7.5, large=10.5, clean=drawable)


def systems_of(inputs: AnalysisInput) -> list[str]:
    """The systems in the order of the experiment; for run files the best first, by the first measure."""
    names = list(inputs.systems)
    if inputs.system_runs:
        return names
    values = {system.name: next(iter(system.measures.values())) for system in inputs.result.systems}
    return sorted(names, key=lambda name: oriented_value(values[name]), reverse=True)


def of_measure(inputs: AnalysisInput, measure: str) -> dict[str, MeasureResult]:
    """The values of one measure by system."""
    by_name = {system.name: system.measures[measure] for system in inputs.result.systems}
    return {name: by_name[name] for name in systems_of(inputs)}


def means_of(inputs: AnalysisInput, settings: PlotSettings) -> list[str]:
    """The measures that are means over queries: all, or the first."""
    measures = inputs.result.systems[0].measures
    means = [name for name, measure in measures.items() if measure.summary == "mean"]
    return means if settings.all_measures else means[:1]


def part_name(chart: str, measure: str, settings: PlotSettings) -> str:
    """The file name of a chart of one measure."""
    plain = "".join(char if char.isascii() and (char.isalnum() or char in "@.-") else "-" for char in measure)
    return f"{chart}-{plain.strip('-')}" if settings.all_measures else chart


def missing(
    inputs: AnalysisInput, settings: PlotSettings, name: str, title: str, why: str, *, queries: int | None = None
) -> Chart:
    """A chart that only shows the reason why there is nothing to draw."""
    count = len(inputs.result.queries) if queries is None else queries
    return missing_chart(settings.medium, name, title, [where(inputs, count)], why)


def where(inputs: AnalysisInput, queries: int) -> str:
    """The dataset and the number of queries."""
    return f"{inputs.dataset or inputs.name}, n = {pluralise(queries, 'query', 'queries')}"


def full_name(measure: Measure) -> str:
    """The name and the title of the measure."""
    return f"{measure}: {measure.title}"


def how_intervals(ranges: Mapping[Key, Interval | None]) -> str:
    """The method of the intervals, or why there are none."""
    if not any(ranges.values()):
        return "no intervals: they need a mean, and at least two queries with different values"
    return f"whiskers: 95% intervals ({describe_interval_method()})"


def value_name(measure: Measure) -> str:
    """The name of an axis whose upper end is the best."""
    return f"{measure} ({'lower is better, ' if measure.higher_is_better is False else ''}better upwards)"
