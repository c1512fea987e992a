"""Changes against the baseline: one comparison of the systems now with the systems as saved."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rankproof._analysis.compare.comparison import Comparison, compare_inputs
from rankproof._analysis.compare.pairs import CompareOptions
from rankproof._analysis.compare.tables import PairRecord
from rankproof._analysis.gate.baseline import SavedValues
from rankproof._analysis.inputs import AnalysisInput
from rankproof._evaluation.result import MeasureResult, SystemResult
from rankproof._statistics.correction import CORRECTIONS, SamplingOptions
from rankproof._statistics.intervals import Interval
from rankproof._statistics.means import weighted_mean
from rankproof._statistics.paired import differences
from rankproof._statistics.permutation import randomisation_p
from rankproof.measures._parse import parse_measure

SystemPairs = Sequence[tuple[SavedValues, SavedValues]]
"""Each system now and as saved."""


@dataclass(frozen=True, slots=True)
class BaselineChange:
    """One measure of one system before and now, on the queries of both; `p` is two-sided, `p_adjusted` is corrected.

    `is_worse` is None if no query changed. `exploratory` marks a measure other than the primary one.
    """

    before: float
    now: float
    difference: float
    n: int
    p: float
    p_adjusted: float
    is_worse: bool | None
    ci: Interval | None = None
    exploratory: bool = False


def changed_pairs(pairs: SystemPairs, measures: Sequence[str]) -> SystemPairs:
    """The systems with another value than saved for some query."""
    return [(now, before) for now, before in pairs if any(now.measures[name] != before.measures[name] for name in measures)]


def compare_with_saved(
    inputs: AnalysisInput, changed: SystemPairs, measures: Sequence[str], options: SamplingOptions, *, primary: str
) -> Comparison | None:
    """The comparison of the systems with the saved versions of those that changed; None if there is only one system."""
    names = _saved_names(inputs, changed)
    saved = tuple(_saved_system(names[now.name], before, measures) for now, before in changed)
    joined = replace(inputs, result=replace(inputs.result, systems=(*inputs.result.systems, *saved)))
    if len(joined.systems) < 2:
        return None
    return compare_inputs(
        joined,
        primary=primary,
        measures=measures,
        baseline=next(iter(names.values())) if len(names) == 1 else None,
        pairs=tuple(names.items()) if names else None,
        options=CompareOptions(alpha=options.alpha, samples=options.samples, seed=options.seed),
    )


def _saved_names(inputs: AnalysisInput, pairs: SystemPairs) -> dict[str, str]:
    """System to the name of its saved version, which no other system has."""
    found: dict[str, str] = {}
    for now, before in pairs:
        name = f"{before.name} (baseline)"
        while name in inputs.systems or name in found.values():
            name += " (baseline)"
        found[now.name] = name
    return found


def _saved_system(name: str, saved: SavedValues, measures: Sequence[str]) -> SystemResult:
    return SystemResult(name, {measure: _measure_result(measure, saved.measures[measure]) for measure in measures}, ())


def _measure_result(name: str, per_query: Mapping[str, float]) -> MeasureResult:
    measure, values = parse_measure(name), np.fromiter(per_query.values(), np.float64)
    return MeasureResult(measure, measure.summarise(values), tuple(per_query), values)


def tested_change(comparison: Comparison, now: SavedValues, measure: str) -> BaselineChange:
    """The change of a measure as the comparison tested it."""
    pair = next(pair for pair in comparison.pairs if pair.measure == measure and pair.system == now.name)
    return _as_change(pair)


def _as_change(pair: PairRecord) -> BaselineChange:
    return BaselineChange(
        before=pair.other_value,
        now=pair.value,
        difference=pair.difference,
        n=pair.n,
        p=pair.p,
        p_adjusted=pair.p_adjusted,
        is_worse=_is_worse(pair),
        ci=pair.ci,
        exploratory=pair.exploratory,
    )


def no_change(one: MeasureResult, *, exploratory: bool = False) -> BaselineChange:
    """The change of a measure with the same value for every query, which needs no test."""
    return BaselineChange(one.value, one.value, 0.0, one.queries, 1.0, 1.0, None, exploratory=exploratory)


def _is_worse(pair: PairRecord) -> bool | None:
    if pair.ties == pair.n:
        return None
    return (pair.difference > 0) if parse_measure(pair.measure).higher_is_better is False else pair.difference < 0


def segment_changes(
    inputs: AnalysisInput, pairs: SystemPairs, measure: str, segments: Mapping[str, Sequence[str]], options: SamplingOptions
) -> list[tuple[str, str, BaselineChange]]:
    """System, segment and change of the measure in it; p is corrected by Holm over all segments of all systems."""
    weights = inputs.result.weights
    found = [
        (now.name, name, _segment_change(now.measures[measure], before.measures[measure], queries, weights, options))
        for now, before in pairs
        for name, queries in segments.items()
    ]
    if not found:
        return []
    sign = -1.0 if parse_measure(measure).higher_is_better is False else 1.0
    corrected = CORRECTIONS["holm"](np.array([change.p for *_, change in found])).tolist()
    return [
        (system, name, replace(change, p_adjusted=p, is_worse=None if change.is_worse is None else sign * change.difference < 0))
        for (system, name, change), p in zip(found, corrected, strict=True)
    ]


def _segment_change(
    now: Mapping[str, float],
    before: Mapping[str, float],
    queries: Iterable[str],
    weights: Mapping[str, float] | None,
    options: SamplingOptions,
) -> BaselineChange:
    """The change on the queries of a segment that both have, with the p of the sign-flip test, not corrected."""
    shared = sorted(query for query in queries if query in before and query in now)
    if not shared:
        return BaselineChange(0.0, 0.0, 0.0, 0, 1.0, 1.0, None)
    values = np.array([[now[query], before[query]] for query in shared], np.float64)
    share = np.ones(len(shared)) if weights is None else np.array([weights[query] for query in shared])
    apart = differences(values[:, 0], values[:, 1])
    p = float(randomisation_p(values * (share / share.mean())[:, None], options.samples, options.seed)[0, 1])
    before_mean, now_mean, mean = (weighted_mean(column, share) for column in (values[:, 1], values[:, 0], apart))
    return BaselineChange(before_mean, now_mean, mean, len(shared), p, p, mean < 0 if apart.any() else None)
