"""In which order systems are drawn, and which measures."""

from __future__ import annotations

from ..analysis.evidence import Evidence
from ..analysis.measured import worth
from ..evaluation import MeasureResult
from .sheet import PlotSettings


def systems_of(evidence: Evidence) -> list[str]:
    """As the ladder is climbed; without a ladder the best first, by the first measure."""
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
    """The measures whose means over queries can be drawn one by one: all that were asked for, else the first."""
    measures = evidence.result.systems[0].measures
    found = [name for name, one in measures.items() if one.summary == "mean"]
    return found if settings.every else found[:1]


def part_name(chart: str, measure: str, settings: PlotSettings) -> str:
    """What one of several charts of a kind is called."""
    plain = "".join(char if char.isascii() and (char.isalnum() or char in "@.-") else "-" for char in measure)
    return f"{chart}-{plain.strip('-')}" if settings.every else chart
