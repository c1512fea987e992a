"""`correlate` and `stability` as functions."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, Annotated, Any, Unpack

from rankproof._analysis.options import FLIP, POOLS, ROUNDS, SPLITS
from rankproof._api.options import DataLike, RunsLike
from rankproof._data.table import Table
from rankproof._data.validation import FILES, NAMED_FILES, SEED, public
from rankproof._evaluation.options import EvaluateArguments, EvaluateOptions, QrelsLike, make_evaluate_options
from rankproof._registry import Option
from rankproof._results.decision_settings import COSTS, LABELS_BY, MARGIN, PRIMARY, LabelsBy
from rankproof._statistics.options import ALPHA, PERSISTENCE
from rankproof.errors import UsageError, for_message, type_phrase

if TYPE_CHECKING:
    from rankproof._analysis.correlate import SystemOrder
    from rankproof._analysis.inputs import AnalysisInput
    from rankproof._api.values import Correlation, Stability
    from rankproof._data.qrels import Qrels
    from rankproof._data.run import Run
    from rankproof._evaluation.evaluate import MeasuresLike
    from rankproof.measures._base import Measure


@public
def correlate(
    data: Annotated[Any, Option("runs as {name: run}, results, or judgements with runs", typed=NAMED_FILES)],
    runs: RunsLike = None,
    measures: Annotated[
        MeasuresLike, Option("measures that order the systems", typed=FILES, unset="rankings are compared")
    ] = None,
    *,
    other_qrels: Annotated[
        QrelsLike | None, Option("other judgements: compare the orders by both", typed=str, metavar="FILE")
    ] = None,
    persistence: Annotated[
        float, Option("persistence of the overlap: how likely a user reads the next document", above=0, below=1, metavar="P")
    ] = PERSISTENCE,
    **options: Unpack[EvaluateArguments],
) -> Correlation:
    """How much rankings, or orders of systems, agree: rank-biased overlap with its bounds, Kendall's tau and tau-AP.

    With runs alone, or results, the rankings of each two systems, by query and as means. With judgements, runs and
    `measures`, the orders of the systems by each two measures. With `other_qrels`, the orders by both judgements.
    """
    from rankproof._analysis.correlate import correlate_rankings
    from rankproof._api.inputs import analysis_input, with_value_notes
    from rankproof._api.values import Correlation

    if measures is None and other_qrels is None:
        if runs is not None:
            raise UsageError(
                "measures is missing", fix="pass two measures to order systems, or the runs alone for their rankings"
            )
        chosen = make_evaluate_options(options)
        return Correlation(tuple(correlate_rankings(_runs_of(data, chosen), chosen.read_options, p=persistence)))
    inputs = analysis_input(data, runs, measures, options)
    other = None if other_qrels is None else read_other_judgements(other_qrels)
    return Correlation(with_value_notes(order_tables(inputs, other, persistence), inputs))


def _runs_of(data: Any, options: EvaluateOptions) -> Mapping[str, Run]:
    """The runs by name: those of results, or the given ones."""
    from rankproof._api.inputs import holds_results, results_of
    from rankproof._evaluation.sources import RunSources
    from rankproof._evaluation.user_forms import Coercion

    if holds_results(data):
        parts = data.values() if isinstance(data, Mapping) else data if isinstance(data, list | tuple) else [data]
        return named_runs([(result.name, {run.name: run.run for run in result.system_runs}) for result in map(results_of, parts)])
    coercion = Coercion(options.files.columns)
    if isinstance(data, Mapping):
        sources = {str(name): coercion.run(run, str(name)) for name, run in data.items()}
    elif isinstance(data, Sequence) and not isinstance(data, str):
        sources = coercion.runs(data, tuple)
    else:
        raise UsageError("data is not a list of runs", fix="pass {name: run}, a list of runs, or results")
    coercion.check_columns()
    return RunSources(sources, options)


def named_runs(runs_of_experiments: Sequence[tuple[str, Mapping[str, Run]]]) -> dict[str, Run]:
    """The runs of several experiments; a name that occurs twice has that of its experiment before it."""
    names = [name for _, runs in runs_of_experiments for name in runs]
    named: dict[str, Run] = {}
    for experiment, runs in runs_of_experiments:
        for name, run in runs.items():
            label = f"{experiment}/{name}" if names.count(name) > 1 else name
            if label in named:
                raise UsageError(f"two systems are called {for_message(label)}", fix="compare experiments with different names")
            named[label] = run
    return named


def read_other_judgements(qrels: QrelsLike) -> Qrels:
    """The other judgements, with their path or `other qrels` as name."""
    from rankproof._evaluation.sources import read_judgements
    from rankproof._evaluation.user_forms import Coercion

    return read_judgements(Coercion().qrels(qrels), EvaluateOptions())


def order_tables(inputs: AnalysisInput, other: Qrels | None, p: float) -> list[Table]:
    """The orders of the systems by each two measures, or by each measure with both judgements."""
    from rankproof._analysis.correlate import correlate_orders, ordering_measures, system_order
    from rankproof._analysis.stability import on_common_queries

    measures = [str(measure) for measure in ordering_measures(inputs.result)]
    if other is None:
        if len(measures) < 2:
            raise UsageError(
                "two measures are needed for two orders", fix="pass two, such as -m nDCG@10,AP, or --other-qrels FILE"
            )
        orders = [system_order(inputs.result, measure, measure) for measure in measures]
        return correlate_orders(list(combinations(orders, 2)), p=p)
    if not measures:
        raise UsageError("no measure says which system is better", fix="pass one, such as -m nDCG@10")
    own, theirs = on_common_queries(inputs, other)
    labels = _labels(inputs.qrels.source, other.source)
    pairs: list[tuple[SystemOrder, SystemOrder]] = []
    for measure in measures:
        own_order, other_order = (
            system_order(inputs_of_side.result, measure, f"{measure} by {label}")
            for inputs_of_side, label in zip((own, theirs), labels, strict=True)
        )
        pairs.append((own_order, other_order))
    first, *others = correlate_orders(pairs, p=p)
    return [_noted(first, len(own.result.queries), len(inputs.result.queries)), *others]


def _labels(own: str, other: str) -> tuple[str, str]:
    """Short names of two files of judgements."""
    short = os.path.basename(own), os.path.basename(other)
    return short if short[0] != short[1] else (own, other) if own != other else ("judgements", "other judgements")


def _noted(table: Table, common: int, queries: int) -> Table:
    if common == queries:
        return table
    note = f"{queries - common:,} of {queries:,} queries are left out because the other judgements lack them: n = {common:,}"
    return replace(table, notes=(*table.notes, note))


@public
def stability(
    data: DataLike,
    runs: RunsLike = None,
    *,
    primary: Annotated[str | Measure | None, PRIMARY] = None,
    margin: Annotated[float | str | None, MARGIN] = None,
    costs: Annotated[Mapping[str, float] | None, COSTS] = None,
    labels_by: Annotated[LabelsBy | None, LABELS_BY] = None,
    other_qrels: Annotated[
        QrelsLike | Sequence[QrelsLike], Option("judgements of another judge", metavar="FILE", repeated=True)
    ] = (),
    splits: Annotated[int, SPLITS] = 1_000,
    flip: Annotated[float, FLIP] = 0.1,
    rounds: Annotated[int, ROUNDS] = 50,
    pools: Annotated[Sequence[int], POOLS] = (10, 20, 50),
    alpha: Annotated[float, ALPHA] = 0.05,
    seed: Annotated[int, SEED] = 0,
    **options: Unpack[EvaluateArguments],
) -> Stability:
    """Whether the decision of `compare` stands with half of the queries, changed grades, other judges and a shallower pool."""
    from rankproof._analysis.inputs import MAIN_MEASURES
    from rankproof._analysis.options import StabilityOptions
    from rankproof._analysis.stability import stability as check
    from rankproof._api.inputs import analysis_input, with_value_notes
    from rankproof._api.values import Stability

    if isinstance(pools, str | bytes) or not isinstance(pools, Iterable):
        raise UsageError(f"pools is {type_phrase(pools)}", fix="pass a list of depths, such as [10, 20]")
    settings = StabilityOptions(splits, flip, rounds, tuple(pools), alpha, seed)
    inputs = analysis_input(data, runs, None if primary is None else [primary], options, usual=MAIN_MEASURES[:1])
    sources = list(other_qrels) if isinstance(other_qrels, list | tuple) else [other_qrels]
    others = [read_other_judgements(source) for source in sources]
    tables = check(inputs, others, settings, primary=primary, margin=margin, costs=costs, labels_by=labels_by)
    return Stability(with_value_notes(tables, inputs))
