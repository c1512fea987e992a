"""Repeated runs of one system, `a`, `a#2` and `a#3`: the value of a query is the mean over them."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np

from rankproof._evaluation.notes import FEW_JUDGED, TIED_SCORES, Note
from rankproof._evaluation.result import MeasureResult, Result, SystemResult

RunType = TypeVar("RunType")
REPEATED_RUNS = "repeated-runs"
_REPEAT = re.compile(r"(.+)#(\d+)", re.DOTALL)


def repeat_name(system: str, number: int) -> str:
    """The name of a repeat, from 1: `a`, `a#2`, `a#3`."""
    return system if number == 1 else f"{system}#{number}"


def repeated_system(name: str, names: Collection[str]) -> str:
    """The system that a run repeats, if its first run is among the names; else the name itself."""
    match = _REPEAT.fullmatch(name)
    return match[1] if match and int(match[2]) > 1 and match[1] in names else name


def runs_of_systems(runs: Mapping[str, RunType], systems: Collection[str]) -> dict[str, RunType]:
    """The runs of these systems with their repeats."""
    return {name: runs[name] for name in runs if repeated_system(name, runs) in systems}


def joined_repeats(result: Result) -> Result:
    """The result with the repeated runs of a system as one system, whose value of a query is the mean over them."""
    groups: dict[str, list[SystemResult]] = {}
    names = {system.name for system in result.systems}
    for system in result.systems:
        groups.setdefault(repeated_system(system.name, names), []).append(system)
    if len(groups) == len(result.systems):
        return result
    return replace(result, systems=tuple(_joined_system(name, group) for name, group in groups.items()))


def _joined_system(name: str, group: Sequence[SystemResult]) -> SystemResult:
    if len(group) == 1:
        return group[0]
    # The first run may come after a repeat.
    first = next(system for system in group if system.name == name)
    ordered = [first, *(system for system in group if system is not first)]
    measures = {key: _joined_measure([system.measures[key] for system in ordered]) for key in first.measures}
    text = f"{len(group)} runs of this system: the value of a query is the mean over them"
    bounded = (FEW_JUDGED, TIED_SCORES)
    notes = (replace(note, text=f"first run: {note.text}") if note.code in bounded else note for note in first.notes)
    return replace(first, measures=measures, notes=(*notes, Note(REPEATED_RUNS, len(group), text)))


def _joined_measure(results: Sequence[MeasureResult]) -> MeasureResult:
    by_query: dict[str, list[float]] = {}
    weights: dict[str, float] = {}
    for result in results:
        for query, value in result.per_query.items():
            by_query.setdefault(query, []).append(value)
        if result.weights is not None:
            weights.update(zip(result.query_ids, result.weights.tolist(), strict=True))
    values = np.array([math.fsum(own) / len(own) for own in by_query.values()])
    of_queries = np.array([weights[query] for query in by_query]) if weights else None
    measure = results[0].measure
    repeats = {query: np.array(own) for query, own in by_query.items()}
    return MeasureResult(measure, measure.summarise(values, of_queries), tuple(by_query), values, of_queries, repeats=repeats)
