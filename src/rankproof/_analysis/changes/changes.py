"""`Changes`: two results of the same data compared, system by system."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from rankproof._analysis.answers.inputs import answer_input_from_results
from rankproof._analysis.changes.joined_results import Labels, MatchedSystem, joined_results, matched_systems
from rankproof._analysis.compare.comparison import Comparison, compare_inputs
from rankproof._analysis.compare.summary import with_decision_settings
from rankproof._analysis.compare.tables import PairRecord
from rankproof._analysis.inputs import AnalysisInput, input_from_results, join_inputs
from rankproof._results.experiment_result import ExperimentResult
from rankproof.errors import UsageError
from rankproof.measures._base import Measure

LABELS: Labels = ("before", "after")


@dataclass(frozen=True, eq=False, slots=True)
class Changes:
    """Two results: their systems as one, the systems of both, and the comparisons of rankings and of answers.

    The decision of `comparison` is between all systems of both, as in `rankproof compare BEFORE AFTER`; its tests are those of
    each system after against before. It is None without judgements, and where no measure says which system is better.
    """

    before: ExperimentResult
    after: ExperimentResult
    labels: Labels
    matched: tuple[MatchedSystem, ...]
    joined: ExperimentResult
    inputs: AnalysisInput
    comparison: Comparison | None
    answers: Comparison | None

    @property
    def main(self) -> Comparison | None:
        """The comparison of rankings, else that of answers."""
        return self.comparison or self.answers

    def pair(self, system: MatchedSystem, measure: str | None = None, of: Comparison | None = None) -> PairRecord | None:
        """A system after against before, by the primary measure or another; None if it was not tested."""
        found = of or self.main
        if found is None:
            return None
        wanted = (system.after, system.before, measure or found.primary)
        return next((pair for pair in found.pairs if (pair.system, pair.other, pair.measure) == wanted), None)


def compare_before_after(
    before: ExperimentResult,
    after: ExperimentResult,
    *,
    labels: Labels = LABELS,
    primary: str | Measure | None = None,
    baseline: str | None = None,
    margin: float | None = None,
    costs: Mapping[str, float] | None = None,
) -> Changes:
    """Compare two results of the same data; different data are an error. The settings are those of `compare`."""
    if labels[0] == labels[1]:
        raise UsageError("the two results have the same name", fix="give each its own name with --name")
    before, after = (one if primary is None else with_decision_settings(one, primary=primary) for one in (before, after))
    judged = before.is_judged or after.is_judged
    found = [input_from_results(one, needs_judgements=judged) for one in (before, after)]
    old, new = ([run.name for run in one.system_runs] for one in (before, after))
    matched = matched_systems(old, new, labels)
    inputs = join_inputs([replace(one, name=label) for one, label in zip(found, labels, strict=True)])
    pairs = [(one.after, one.before) for one in matched]
    comparison = None
    if judged and _has_primary(inputs):
        comparison = compare_inputs(inputs, primary=primary, baseline=baseline, margin=margin, costs=costs, pairs=pairs)
    return Changes(
        before,
        after,
        labels,
        matched,
        joined_results(before, after, labels, matched),
        inputs,
        comparison,
        _compared_answers(before, after, labels, pairs),
    )


def _has_primary(inputs: AnalysisInput) -> bool:
    """Whether a measure of all systems says which is better."""
    first, *others = inputs.result.systems
    return any(
        one.summary == "mean" and one.measure.has_winner and all(name in other.measures for other in others)
        for name, one in first.measures.items()
    )


def _compared_answers(
    before: ExperimentResult, after: ExperimentResult, labels: Labels, pairs: Sequence[tuple[str, str]]
) -> Comparison | None:
    """The answers by the measures of both; None where one has none, or nothing is left to compare."""
    if before.answers is None or after.answers is None:
        return None
    names = [name for name in before.answers.systems[0].measures if name in after.answers.systems[0].measures]
    if not names:
        return None
    each = [answer_input_from_results(one, names).inputs for one in (before, after)]
    queries = tuple(dict.fromkeys(query for one in each for query in one.result.queries))
    found = [
        replace(one, name=label, result=replace(one.result, queries=queries)) for one, label in zip(each, labels, strict=True)
    ]
    try:
        return compare_inputs(join_inputs(found), pairs=pairs)
    except UsageError:
        return None
