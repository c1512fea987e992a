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
    found = _REPEAT.fullmatch(name)
    return found[1] if found and int(found[2]) > 1 and found[1] in names else name


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


def _joined_measure(each: Sequence[MeasureResult]) -> MeasureResult:
    found: dict[str, list[float]] = {}
    weights: dict[str, float] = {}
    for one in each:
        for query, value in one.per_query.items():
            found.setdefault(query, []).append(value)
        if one.weights is not None:
            weights.update(zip(one.query_ids, one.weights.tolist(), strict=True))
    values = np.array([math.fsum(own) / len(own) for own in found.values()])
    of_queries = np.array([weights[query] for query in found]) if weights else None
    measure = each[0].measure
    repeats = {query: np.array(own) for query, own in found.items()}
    return MeasureResult(measure, measure.summarise(values, of_queries), tuple(found), values, of_queries, repeats=repeats)
