"""Values of the systems in an evidence: those that it holds, and those that an analysis needs besides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..data.run import Run
from ..errors import UsageError
from ..evaluation import MeasureResult, Result, evaluate_runs
from ..measures import Measure, parse
from .evidence import Evidence

Values = dict[str, dict[str, MeasureResult]]
"""System to measure, as it was asked for, to values."""


def measured(evidence: Evidence, measures: Sequence[str], runs: Mapping[str, Run] | None = None) -> Values:
    """The measures of the evidence's systems, or of other runs by the same rules; what is there is not evaluated again."""
    asked = {name: str(parse(name).with_rel(evidence.rel)) for name in measures}
    result = evidence.result
    if runs is not None or any(full not in system.measures for full in asked.values() for system in result.systems):
        result = evaluate_runs(evidence.qrels, evidence.runs if runs is None else runs, list(asked), evidence.options)
    return {system.name: {name: system.measures[full] for name, full in asked.items()} for system in result.systems}


def main_measure(evidence: Evidence) -> str:
    """The first measure whose value is a share of 1."""
    return shares(evidence)[0]


def shares(evidence: Evidence) -> list[str]:
    """Every measure whose value is a mean from 0 to 1, so that percentage points make sense."""
    measures = evidence.result.systems[0].measures
    found = [name for name, one in measures.items() if one.measure.is_share]
    if not found:
        raise UsageError(f"{', '.join(measures)} is no mean from 0 to 1", fix="name one with -m, such as nDCG@10")
    return found


def refuse_no_share(evidence: Evidence, measure: str) -> str:
    """The measure's name, refused where its value is no share of 1."""
    if not parse(measure).is_share:
        raise UsageError(f"{measure} is no mean from 0 to 1", fix=f"choose from: {', '.join(shares(evidence))}")
    return measure


SAME = 1e-12
"""Means that differ by no more than this differ by the order in which they were summed."""


def worth(one: MeasureResult) -> float:
    """A value that is higher where it is better."""
    return -one.value if one.measure.higher_is_better is False else one.value


def is_contest(measure: Measure) -> bool:
    """Whether the measure says which system is better: a count does not."""
    return measure.kind != "count" and measure.higher_is_better is not None


def leaders(values: Mapping[str, float]) -> list[str]:
    """The systems that have the highest value, more than one where they tie."""
    highest = max(values.values())
    return [name for name, value in values.items() if value >= highest - SAME]


def best_of(values: Mapping[str, MeasureResult]) -> str:
    """The system with the best value; the first of equal ones."""
    return max(values, key=lambda name: worth(values[name]))


def deepest_recall(result: Result) -> str | None:
    """The recall that looks deepest, the ceiling of what comes after; None where there is none."""
    measures = result.systems[0].measures
    found = [name for name, one in measures.items() if one.measure.name == "R"]
    return max(found, key=lambda name: measures[name].measure.parameters()["cutoff"] or 0, default=None)
