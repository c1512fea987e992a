"""The same systems measured with other judgements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rankproof._analysis.inputs import AnalysisInput, check_judged
from rankproof._data.qrels import Qrels
from rankproof._evaluation.evaluate import evaluate_runs
from rankproof._evaluation.result import runs_of_systems
from rankproof.errors import UsageError, for_message
from rankproof.measures._base import Measure


def check_rankings(inputs: AnalysisInput) -> None:
    """Refuses an input whose values cannot be measured again: answers, or a system without rankings."""
    check_judged(inputs)
    missing = [name for name in inputs.systems if name not in inputs.runs]
    for system in inputs.system_runs:
        if system.name in missing:
            _ = system.run  # Says that rankings are not stored, and how to store them.
    if missing:
        raise UsageError(f"the rankings of {for_message(missing[0])} are not known", fix="pass judgements and runs, or results")


def with_judgements(
    inputs: AnalysisInput,
    qrels: Qrels,
    queries: Sequence[str] | None = None,
    measures: Sequence[Measure] | None = None,
) -> AnalysisInput:
    """The input measured with these judgements, on these queries or on its own, by these measures or by its own."""
    measures = measures or [measure.measure for measure in inputs.result.systems[0].measures.values()]
    chosen = tuple(inputs.result.queries if queries is None else queries)
    weights = inputs.result.weights
    kept = None if weights is None else {query: weights[query] for query in chosen}
    options = replace(inputs.options, queries=chosen, weights=kept)
    result = evaluate_runs(qrels, runs_of_systems(inputs.runs, inputs.systems), measures, options)
    return replace(inputs, qrels=qrels, result=result)


def on_common_queries(
    inputs: AnalysisInput, other: Qrels, measures: Sequence[Measure] | None = None
) -> tuple[AnalysisInput, AnalysisInput]:
    """The input, and the input with other judgements, both on the queries that both have judged."""
    check_rankings(inputs)
    common = [query for query in inputs.result.queries if query in other]
    if not common:
        what = f"{for_message(other.source)} has no judgement of the queries of {for_message(inputs.name)}"
        raise UsageError(what, fix="pass judgements of the same queries")
    own = inputs if len(common) == len(inputs.result.queries) else with_judgements(inputs, inputs.qrels, common, measures)
    return own, with_judgements(inputs, other, common, measures)
