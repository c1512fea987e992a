"""Changes against the baseline: one measure of a system now and as saved, over the queries of both."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rankproof._analysis.compare.decision_data import with_relevant_documents
from rankproof._analysis.decision.decide import MIN_QUERIES, margin_amount
from rankproof._analysis.gate.baseline import SavedValues
from rankproof._analysis.inputs import AnalysisInput
from rankproof._data.arrays import FloatArray
from rankproof._statistics.correction import CORRECTIONS
from rankproof._statistics.decision_rule import Margin
from rankproof._statistics.gate_rule import paired_change
from rankproof._statistics.intervals import Interval, enough_differ, mean_interval
from rankproof._statistics.means import are_even_weights, effective_size, weighted_mean
from rankproof.measures._base import Measure
from rankproof.measures._parse import parse_measure

SystemPairs = Sequence[tuple[SavedValues, SavedValues]]
"""Each system now and as saved."""


@dataclass(frozen=True, slots=True)
class BaselineChange:
    """One measure of one system before and now, on the queries of both that have a relevant document.

    `risk` is the chance that the true mean is more than `margin` worse; `p` is two-sided, `p_adjusted` is corrected over systems
    or segments. `error` is the standard error of the difference; a drop of `detectable` is significant with a chance of 80%.
    Without two queries these are None. `is_same` says that the rankings or answers are the same. `is_worse` is None if no query
    changed. `obstacle` says why nothing can be shown. `exploratory` marks a measure other than the primary one.
    """

    before: float
    now: float
    difference: float
    n: int
    margin: float
    risk: float | None = None
    p: float | None = None
    p_adjusted: float | None = None
    error: float | None = None
    detectable: float | None = None
    is_same: bool = False
    is_worse: bool | None = None
    ci: Interval | None = None
    obstacle: str = ""
    exploratory: bool = False


@dataclass(frozen=True, eq=False, slots=True)
class ChangeInput:
    """What changes of a measure are computed from: the input, the measure and the margin."""

    inputs: AnalysisInput
    measure: Measure
    margin: Margin | None

    def change(self, now: SavedValues, before: SavedValues, queries: Collection[str] | None = None) -> BaselineChange:
        """The change of a system, over all common queries or these; queries without a relevant document do not count."""
        name = str(self.measure)
        new, old = now.measures[name], before.measures[name]
        common = [query for query in sorted(new) if query in old and (queries is None or query in queries)]
        counted = with_relevant_documents(self.inputs, self.measure, common)
        common = [query for query, counts in zip(common, counted, strict=True) if counts]
        weights = self.inputs.result.weights
        share = None if weights is None else np.array([weights[query] for query in common])
        values = np.array([[new[query], old[query]] for query in common], np.float64).reshape(-1, 2)
        is_same = bool(now.digest) and now.digest == before.digest and new == old
        return replace(_change(values, share, self.measure, self.margin), is_same=is_same)


def changed_pairs(pairs: SystemPairs, measures: Sequence[str]) -> SystemPairs:
    """The systems with another value than saved for some query."""
    return [(now, before) for now, before in pairs if any(now.measures[name] != before.measures[name] for name in measures)]


def oriented(values: FloatArray, measure: Measure) -> FloatArray:
    """The values with higher ones better."""
    if measure.higher_is_better is not False:
        return values
    return 1.0 - values if measure.is_fraction else -values


def _change(values: FloatArray, weights: FloatArray | None, measure: Measure, margin: Margin | None) -> BaselineChange:
    """The change of the first column against the second."""
    n = len(values)
    if not n:
        return BaselineChange(0.0, 0.0, 0.0, 0, 0.0, obstacle=too_few(0.0, 0))
    now, before = (weighted_mean(column, weights) for column in values.T)
    better = oriented(values, measure)
    amount = margin_amount(margin, max(weighted_mean(column, weights) for column in better.T), measure)
    apart = values[:, 0] - values[:, 1]
    difference = weighted_mean(apart, weights)
    plain = BaselineChange(before, now, difference, n, amount, obstacle=obstacle(n, weights, margin, amount, measure))
    if n < 2:
        return plain
    change = paired_change(better[:, 0], better[:, 1], weights)
    return replace(
        plain,
        risk=change.risk(amount),
        p=change.p,
        p_adjusted=change.p,
        error=change.error,
        detectable=change.detectable,
        is_worse=change.difference < 0 if apart.any() else None,
        ci=mean_interval(apart, weights=weights) if enough_differ(apart, weights) else None,
    )


def obstacle(n: int, weights: FloatArray | None, margin: Margin | None, amount: float, measure: Measure) -> str:
    """Why nothing can be shown with these queries; empty if something can."""
    effective = effective_size(n, weights)
    if effective < MIN_QUERIES:
        return too_few(effective, n)
    if weights is not None and not are_even_weights(weights):
        return "weights are too uneven: sample queries in proportion to traffic and give no weights"
    if margin is not None or amount > 0:
        return ""
    return f"{measure} is 0 for every query" if measure.is_fraction else f"{measure} needs a margin: name it with --margin"


def too_few(effective: float, n: int) -> str:
    """That there are too few queries."""
    size = f"n = {n:,}" if effective == n else f"n = {n:,}, with weights worth {effective:.0f}"
    return f"the gate needs at least {MIN_QUERIES} queries ({size})"


def with_corrected_p(changes: Iterable[BaselineChange]) -> list[BaselineChange]:
    """The changes with p corrected by Holm over those that are not the same."""
    found = list(changes)
    tested = [at for at, change in enumerate(found) if change.p is not None and not change.is_same]
    corrected = CORRECTIONS["holm"](np.array([found[at].p for at in tested], np.float64)).tolist()
    for at, p in zip(tested, corrected, strict=True):
        found[at] = replace(found[at], p_adjusted=p)
    return found


def segment_changes(
    changes: ChangeInput, pairs: SystemPairs, segments: Mapping[str, Sequence[str]]
) -> list[tuple[str, str, BaselineChange]]:
    """System, segment and change of the measure in it; p is corrected over all segments of all systems."""
    keys = [(now, before, name) for now, before in pairs for name in segments]
    found = with_corrected_p(changes.change(now, before, frozenset(segments[name])) for now, before, name in keys)
    return [(now.name, name, change) for (now, _, name), change in zip(keys, found, strict=True)]


def change_input(inputs: AnalysisInput, measure: str, margin: Margin | None) -> ChangeInput:
    """What changes of a measure by name are computed from."""
    return ChangeInput(inputs, parse_measure(measure), margin)
