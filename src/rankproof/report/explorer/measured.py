"""The measures of the table, and their values by query."""

from __future__ import annotations

from typing import Any

from ...evaluation import MeasureResult, Result
from ...experiment.rung import Climb
from ...measures import Measure
from .numbers import column

Column = list[float | int | None]
EXPLAINED = frozenset(("nDCG", "DCG", "RR", "P", "R", "AP", "Success"))
"""Those that the page's script counts again; explorer-measures.js has one function for each."""


def measures_of(climb: Climb) -> dict[str, Measure]:
    """Every measure of the rankings, then those of answers."""
    return {
        name: one.measure
        for result in (climb.result, climb.answers)
        if result is not None
        for system in result.systems
        for name, one in system.measures.items()
    }


def described(measure: Measure) -> dict[str, Any]:
    """What the script must know to name a measure, to sort by it and to count it again."""
    gain = getattr(measure, "gain", None)
    return {
        "name": str(measure),
        "kind": measure.name,
        "title": measure.title,
        "definition": measure.definition,
        "higher": measure.higher_is_better,
        "share": measure.range == (0.0, 1.0),
        "cutoff": getattr(measure, "cutoff", None),
        "rel": max(getattr(measure, "least", 1), 0),
        "gain": gain if gain is None or isinstance(gain, str) else [list(pair) for pair in gain],
        "explained": measure.name in EXPLAINED and not _odd(gain),
    }


def values_of(climb: Climb, measures: list[str]) -> list[list[Column | None]]:
    """By system and measure, a value for each query of the climb; None where a system has nothing of that measure."""
    return [[_column(climb, rung.name, name) for name in measures] for rung in climb.rungs]


def _column(climb: Climb, system: str, measure: str) -> Column | None:
    found = _found(climb.result, system, measure) or _found(climb.answers, system, measure)
    if found is None:
        return None
    known = found.per_query
    return column(known.get(query) for query in climb.queries)


def _found(result: Result | None, system: str, measure: str) -> MeasureResult | None:
    systems = () if result is None else result.systems
    return next((one.measures[measure] for one in systems if one.name == system and measure in one.measures), None)


def _odd(gain: object) -> bool:
    """Whether gains by hand give a worth to grades that the page does not hold, or less than none."""
    return isinstance(gain, tuple) and any(grade < 1 or worth < 0 for grade, worth in gain)
