"""What every plot of an evaluation begins with: its options, the systems in their order, the measures, and the notes."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from .._charts.figure import drawable
from .._charts.layout import missing_chart
from .._charts.model import Chart, Medium
from ..analysis.evidence import Evidence
from ..analysis.measured import worth
from ..analysis.statistics.bootstrap import Interval
from ..analysis.statistics.many import how_made
from ..analysis.wording import counted
from ..evaluation import MeasureResult
from ..measures import Measure

Key = TypeVar("Key", bound=Hashable)
NO_MEAN = "No measure is a mean."
_POINTS = 72.0


@dataclass(frozen=True, slots=True)
class PlotSettings:
    """`width` of a figure in inches; `by` is the field of segments; `system` and `against` are the two of the differences.

    `every` says that charts of one measure are drawn for each that was evaluated, not for the first alone.
    """

    width: float = 7.0
    dpi: int = 200
    by: str | None = None
    system: str | None = None
    against: str | None = None
    every: bool = False

    @property
    def medium(self) -> Medium:
        """A file of that width, in points, with its title in the picture."""
        return Medium(self.width * _POINTS, text=8.5, small=7.5, large=10.5, clean=drawable)


def systems_of(evidence: Evidence) -> list[str]:
    """The systems in the order of the experiment; without one the best first, by the first measure."""
    names = list(evidence.systems)
    if evidence.rungs:
        return names
    values = {system.name: next(iter(system.measures.values())) for system in evidence.result.systems}
    return sorted(names, key=lambda name: worth(values[name]), reverse=True)


def of_measure(evidence: Evidence, measure: str) -> dict[str, MeasureResult]:
    """System to its values of one measure."""
    found = {system.name: system.measures[measure] for system in evidence.result.systems}
    return {name: found[name] for name in systems_of(evidence)}


def means_of(evidence: Evidence, settings: PlotSettings) -> list[str]:
    """The measures whose means over queries can be drawn one by one: all that were named, else the first."""
    measures = evidence.result.systems[0].measures
    found = [name for name, one in measures.items() if one.summary == "mean"]
    return found if settings.every else found[:1]


def part_name(chart: str, measure: str, settings: PlotSettings) -> str:
    """What one of several charts of a kind is called."""
    plain = "".join(char if char.isascii() and (char.isalnum() or char in "@.-") else "-" for char in measure)
    return f"{chart}-{plain.strip('-')}" if settings.every else chart


def missing(evidence: Evidence, settings: PlotSettings, name: str, title: str, why: str, *, queries: int | None = None) -> Chart:
    """A picture that says in words why there is no chart."""
    count = len(evidence.result.queries) if queries is None else queries
    return missing_chart(settings.medium, name, title, [where(evidence, count)], why)


def where(evidence: Evidence, queries: int) -> str:
    """The data, and how many queries the values run over."""
    return f"{evidence.dataset or evidence.name}, n = {counted(queries, 'query', 'queries')}"


def full_name(measure: Measure) -> str:
    """The measure as it is written, and in words."""
    return f"{measure}: {measure.title}"


def how_intervals(values: Mapping[Key, MeasureResult], ranges: Mapping[Key, Interval | None]) -> str:
    """The method of the intervals and its count, or that there is no interval."""
    made = how_made(values, ranges)
    if made is None:
        return "no intervals: they take a mean over two queries or more, not all of one value"
    return f"whiskers: 95% intervals ({made})"


def value_name(measure: Measure) -> str:
    """The name of an axis whose best end is its upper one."""
    return f"{measure} ({'less is better, ' if measure.higher_is_better is False else ''}better upwards)"
