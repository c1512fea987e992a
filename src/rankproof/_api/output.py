"""`report`, `plot` and `fuse` as functions."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Unpack

from rankproof._analysis.compare.comparison import compare_inputs
from rankproof._analysis.inputs import checked_system, input_from_results
from rankproof._api.inputs import DataLike, analysis_input, dataset_of, results_of, with_run_texts
from rankproof._api.values import Plot, Plots, Report
from rankproof._data.ordering import Order
from rankproof._data.run import Run
from rankproof._evaluation.coerce import Coercion, QrelsLike, RunLike
from rankproof._evaluation.evaluate import MeasuresLike
from rankproof._evaluation.inputs import read_source
from rankproof._evaluation.notes import value_notes
from rankproof._evaluation.options import EvaluateArguments, EvaluateOptions, make_read_options
from rankproof._evaluation.result import Result
from rankproof._formats.columns import ColumnNames
from rankproof._fusion.fuse import check_some_judged
from rankproof._fusion.fuse import fit_fusion as fit_runs
from rankproof._fusion.fuse import fuse as fuse_runs
from rankproof._fusion.method import FittedFusion
from rankproof._results.experiment_result import ExperimentResult
from rankproof.errors import UsageError, for_message
from rankproof.measures._base import Measure


def report(
    data: DataLike,
    runs: RunLike | None = None,
    measures: MeasuresLike = None,
    *,
    path: str | os.PathLike[str] | None = None,
    before: Any = None,
    dataset: Any = None,
    primary: str | Measure | None = None,
    baseline: str | None = None,
    margin: float | None = None,
    costs: Mapping[str, float] | None = None,
    **options: Unpack[EvaluateArguments],
) -> Report:
    """Results or runs as one HTML page, written to `path` if there is one.

    `data` is an ExperimentResult or a results folder; or judgements, with `runs` as {name: run} and `dataset` for their texts.
    `before` are earlier results on the same data: the page then says what changed, for which queries and with which settings.
    `primary`, `baseline`, `margin` and `costs` are those of `compare`. A path with the suffix .png or .md gets the decision and
    the table of systems, as a picture or as Markdown.
    """
    from rankproof._analysis.compare.summary import with_decision_settings
    from rankproof._report.page import render_report
    from rankproof._report.summary import results_summary

    stored = _results(data, runs, measures, dataset, options)
    settings: dict[str, Any] = {"primary": primary, "margin": margin, "baseline": baseline, "costs": costs}
    if before is not None:
        page = _changes_report(results_of(before), stored, settings)
    else:
        results = with_decision_settings(stored, **settings)
        decision = compare_inputs(input_from_results(results)).decision.sentences if results.is_judged else ()
        page = Report(render_report(results), None, decision, results_summary(results))
    return page if path is None else page.save(os.fspath(path))


def _changes_report(before: ExperimentResult, after: ExperimentResult, settings: Mapping[str, Any]) -> Report:
    from rankproof._analysis.changes.changes import change_sentences, compare_before_after
    from rankproof._report.changes_page import render_changes
    from rankproof._report.summary import changes_summary

    changes = compare_before_after(before, after, **settings)
    decision = () if changes.main is None else changes.main.decision.sentences
    return Report(render_changes(changes), None, (*change_sentences(changes)[:1], *decision), changes_summary(changes))


def _results(
    data: Any, runs: RunLike | None, measures: MeasuresLike, dataset: Any, options: EvaluateArguments
) -> ExperimentResult:
    """The results of an experiment, or those of judgements and runs."""
    if runs is None and not isinstance(data, Result):
        if measures is not None or dataset is not None or options:
            raise UsageError("measures, dataset and options are for judgements and runs, not for results", fix="leave them out")
        return results_of(data)
    from rankproof._analysis.run_files import results_from_runs

    found = analysis_input(data, runs, measures, options)
    return results_from_runs(found, None if dataset is None else dataset_of(dataset))


def plot(
    data: DataLike,
    runs: RunLike | None = None,
    measures: MeasuresLike = None,
    *,
    kind: str | Sequence[str] = "all",
    by: str | None = None,
    system: str | None = None,
    against: str | None = None,
    dataset: Any = None,
    width: float = 7.0,
    **options: Unpack[EvaluateArguments],
) -> Plots:
    """Charts of the results, which show inline in a notebook.

    `kind` is one or several of bars, pareto, latency, recall, differences, segments and precision-recall, or all. `by` is the
    field of the segments; `system` and `against` are the systems of the differences. `dataset` has the queries of runs. `width`
    is in inches.
    """
    from rankproof._plots.charts import draw_plots
    from rankproof._plots.inputs import PlotSettings
    from rankproof._plots.registry import PLOT_KINDS

    asked = [kind] if isinstance(kind, str) else list(kind)
    if unknown := [one for one in asked if one not in (*PLOT_KINDS, "all")]:
        raise UsageError(f"unknown kind {for_message(str(unknown[0]))}", fix=f"choose from: {', '.join(PLOT_KINDS)}, all")
    inputs = with_run_texts(analysis_input(data, runs, measures, options), dataset)
    for name in (system, against):
        if name is not None:
            checked_system(inputs, name)
    settings = PlotSettings(width=width, by=by, system=system, against=against, all_measures=measures is not None)
    kinds = list(PLOT_KINDS) if "all" in asked else list(dict.fromkeys(asked))
    drawn = draw_plots(inputs, kinds, settings, "svg")
    charts = [Plot(one.name, one.content.decode(), one.missing) for one in drawn]
    left_out = (f"{chart.name}: {chart.missing}" for chart in charts if chart.missing)
    return Plots(tuple(chart for chart in charts if not chart.missing), (*value_notes(inputs.result.systems), *left_out))


def fuse(
    runs: Sequence[RunLike] | Mapping[str, RunLike],
    method: str = "rrf",
    *,
    k: float = 60,
    weights: Sequence[float] | None = None,
    norm: str = "min-max",
    gamma: float = 0.5,
    sigma: float = 0.01,
    phi: float = 0.95,
    alpha: float = 0.5,
    window: int = 5,
    fitted: FittedFusion | None = None,
    depth: int | None = None,
    order: Order = "score",
    lower_is_better: bool = False,
    name: str | None = None,
    query: str | None = None,
    doc: str | None = None,
    score: str | None = None,
) -> Run:
    """Fuses several runs into one, by a rank or score fusion method.

    `rrf` gives weight / (k + rank); `combsum` gives weight x normalised score; `rankproof fuse --help` lists all methods and
    normalisations. A setting applies to the methods that use it. `fitted` is what `fit_fusion` learned, for a trained method.
    With `lower_is_better`, scores are negated first; `order` "rank" is for methods that only use ranks. A query that is missing
    from a run is an empty ranking. `depth` limits the documents of each query. `query`, `doc` and `score` name the columns of
    tables.
    """
    return fuse_runs(
        _read_runs(runs, ColumnNames(query, doc, score), order, lower_is_better=lower_is_better),
        method,
        k=k,
        weights=weights,
        norm=norm,
        gamma=gamma,
        sigma=sigma,
        phi=phi,
        alpha=alpha,
        window=window,
        fitted=fitted,
        depth=depth,
        order=order,
        lower_is_better=lower_is_better,
        name=name,
    )


def fit_fusion(
    method: str,
    qrels: QrelsLike,
    runs: Sequence[RunLike] | Mapping[str, RunLike],
    *,
    segments: int = 10,
    order: Order = "score",
    lower_is_better: bool = False,
) -> FittedFusion:
    """What a trained fusion method learns of each run from judged queries, for `fuse`; grades from 1 up are relevant.

    Queries are paired by id. A judged query that a run lacks counts as an empty ranking, queries without judgements are ignored.
    Fuse other queries than those that the method learned from: on these, its measures are too high.
    """
    from rankproof._api.programs import qrels_of

    judgements = qrels_of(qrels)
    read = _read_runs(runs, ColumnNames(), order, lower_is_better=lower_is_better)
    check_some_judged(judgements, read)
    return fit_runs(method, judgements, read, order=order, lower_is_better=lower_is_better, segments=segments)


def _read_runs(
    runs: Sequence[RunLike] | Mapping[str, RunLike], columns: ColumnNames, order: Order, *, lower_is_better: bool
) -> list[Run]:
    if isinstance(runs, str | bytes) or not isinstance(runs, Mapping | Sequence):
        raise UsageError("runs is not a list of runs", fix="pass a list of runs, or {name: run}")
    coercion = Coercion(columns)
    named = runs.items() if isinstance(runs, Mapping) else ((f"run {at}", run) for at, run in enumerate(runs, start=1))
    sources = {str(label): coercion.run(run, str(label)) for label, run in named}
    coercion.check_columns()
    reading = EvaluateOptions(make_read_options(order=order, lower_is_better=lower_is_better))
    return [read_source(source, label, reading) for label, source in sources.items()]
