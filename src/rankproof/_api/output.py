"""`report`, `export` and `plot` as functions."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Literal, Unpack

from rankproof._api.options import DataLike, DatasetOption, MeasuresOption, RunsLike
from rankproof._data.validation import BY, public
from rankproof._evaluation.options import EvaluateArguments, RunLike
from rankproof._plots.registry import PLOT_KINDS
from rankproof._registry import Option
from rankproof._render.formats import DEFAULT_MLFLOW_URI, EXPORT_FORMATS
from rankproof._results.decision_settings import (
    BASELINE,
    COSTS,
    JUDGEMENTS,
    LABELS_BY,
    LOOKS,
    MARGIN,
    PRIMARY,
    Completeness,
    LabelsBy,
)
from rankproof._statistics.options import Looks
from rankproof.errors import UsageError, for_message

if TYPE_CHECKING:
    from rankproof._api.values import Export, Plots, Report
    from rankproof._evaluation.evaluate import MeasuresLike
    from rankproof._results.experiment_result import ExperimentResult
    from rankproof.measures._base import Measure

KindsLike = str | Sequence[str]


@public
def report(
    data: DataLike,
    runs: RunsLike = None,
    measures: MeasuresOption = None,
    *,
    path: Annotated[
        str | os.PathLike[str] | None,
        Option(
            "the file to write; .png and .md get the decision and the table of systems, as a picture or as Markdown",
            role="output",
        ),
    ] = None,
    before: Annotated[
        Any,
        Option(
            "earlier results on the same data: what changed, for which queries and with which settings",
            typed=str,
            role="path",
            metavar="RESULTS",
        ),
    ] = None,
    dataset: DatasetOption = None,
    primary: Annotated[str | Measure | None, PRIMARY] = None,
    baseline: Annotated[str | None, BASELINE] = None,
    margin: Annotated[float | str | None, MARGIN] = None,
    costs: Annotated[Mapping[str, float] | None, COSTS] = None,
    labels_by: Annotated[LabelsBy | None, LABELS_BY] = None,
    looks: Annotated[Looks | None, LOOKS] = None,
    judgements: Annotated[Completeness | None, JUDGEMENTS] = None,
    **options: Unpack[EvaluateArguments],
) -> Report:
    """Results or runs as one HTML page."""
    from rankproof._analysis.compare.comparison import compare_inputs
    from rankproof._analysis.compare.summary import with_decision_settings
    from rankproof._analysis.inputs import input_from_results
    from rankproof._api.inputs import results_of
    from rankproof._api.values import Report
    from rankproof._io.open import path_text
    from rankproof._report.page import render_report
    from rankproof._report.summary import results_summary

    target = None if path is None else path_text(path, "path")
    stored = _results(data, runs, measures, dataset, options)
    settings: dict[str, Any] = {
        "primary": primary,
        "margin": margin,
        "baseline": baseline,
        "costs": costs,
        "labels_by": labels_by,
        "looks": looks,
        "judgements": judgements,
    }
    if before is not None:
        page = _changes_report(results_of(before), stored, settings)
    else:
        results = with_decision_settings(stored, **settings)
        decision = compare_inputs(input_from_results(results)).decision.sentences if results.is_judged else ()
        page = Report(render_report(results), None, decision, results_summary(results))
    return page if target is None else page.save(target)


def _changes_report(before: ExperimentResult, after: ExperimentResult, settings: Mapping[str, Any]) -> Report:
    from rankproof._analysis.changes.changes import change_sentences, compare_before_after
    from rankproof._api.values import Report
    from rankproof._report.changes_page import render_changes
    from rankproof._report.summary import changes_summary

    changes = compare_before_after(before, after, **settings)
    decision = () if changes.main is None else changes.main.decision.sentences
    return Report(render_changes(changes), None, (*change_sentences(changes)[:1], *decision), changes_summary(changes))


def _results(
    data: Any, runs: RunLike | None, measures: MeasuresLike, dataset: Any, options: EvaluateArguments
) -> ExperimentResult:
    """The results of an experiment, or those of judgements and runs."""
    from rankproof._analysis.run_files import results_from_runs
    from rankproof._api.inputs import analysis_input, dataset_of, results_of
    from rankproof._evaluation.result import Result

    if runs is None and not isinstance(data, Result):
        if measures is not None or dataset is not None or options:
            raise UsageError("measures, dataset and options are for judgements and runs, not for results", fix="leave them out")
        return results_of(data)
    inputs = analysis_input(data, runs, measures, options)
    return results_from_runs(inputs, None if dataset is None else dataset_of(dataset))


@public
def export(
    data: DataLike,
    runs: RunsLike = None,
    measures: MeasuresOption = None,
    *,
    path: Annotated[str | os.PathLike[str] | None, Option("the file to write", metavar="FILE")] = None,
    format: Annotated[
        str | None,
        Option(
            "output format",
            metavar="FORMAT",
            choices=EXPORT_FORMATS,
            unset="that of the suffix of the file, else csv",
        ),
    ] = None,
    to: Annotated[Literal["mlflow"] | None, Option("log to a tracking server instead of a file")] = None,
    tracking_uri: Annotated[str | None, Option("address of MLflow", metavar="URI", unset=DEFAULT_MLFLOW_URI, rare=True)] = None,
    experiment: Annotated[
        str | None, Option("experiment name in MLflow", metavar="NAME", unset="the name of the results", rare=True)
    ] = None,
    **options: Unpack[EvaluateArguments],
) -> Export:
    """Results or runs in another format, written to `path` if there is one.

    The measures are by default those of the results; latex, markdown and junit test nDCG@10, RR@10 and R@100.

    >>> import rankproof as rp
    >>> rp.export({"q1": {"d1": 1}}, {"bm25": {"q1": {"d1": 0.9}}}, "nDCG@10", path="values.csv")
    Export as csv: 105 bytes, in values.csv
    """
    from rankproof._analysis.inputs import MAIN_MEASURES
    from rankproof._api.values import Export
    from rankproof._evaluation.notes import value_notes
    from rankproof._io.open import path_text
    from rankproof._render.formats import RenderOptions, chosen_export

    if to not in (None, "mlflow"):
        raise UsageError(f"to cannot be {for_message(str(to))}", fix='pass to="mlflow", or path= to write a file')
    if to and (path is not None or format is not None):
        raise UsageError("to= logs to a server and writes no file", fix="leave out path= and format=, or to=")
    if not to and (tracking_uri or experiment):
        raise UsageError("tracking_uri= and experiment= are for MLflow", fix='add to="mlflow"')
    target = None if path is None else path_text(path, "path")
    name, writer = (str(to), None) if to else chosen_export(format, target)
    usual = MAIN_MEASURES if writer and writer.tests and measures is None else measures
    results = _exported_results(data, runs, usual, options)
    notes = [*value_notes(results.result.systems)]
    if writer is None:
        return _logged_to_mlflow(results, tracking_uri, experiment, notes)
    content = writer.write(results, RenderOptions(), notes.append)
    exported = Export(name, content, notes=tuple(dict.fromkeys(notes)))
    return exported if target is None else exported.save(target)


def _exported_results(data: Any, runs: RunLike | None, measures: MeasuresLike, options: EvaluateArguments) -> ExperimentResult:
    """The results, or those of judgements and runs, evaluated with these measures and options."""
    from rankproof._analysis.run_files import results_from_runs
    from rankproof._api.inputs import analysis_input, results_of
    from rankproof._evaluation.result import Result
    from rankproof._results.experiment_result import subset_results

    if runs is not None or isinstance(data, Result):
        return results_from_runs(analysis_input(data, runs, measures, options))
    results = results_of(data)
    queries = options.get("queries")
    kept = results if queries is None else subset_results(results, queries)
    again = measures is not None or bool(options.keys() - {"queries"})
    if not again and (queries is None or (not results.is_judged and results.answers is not None)):
        return kept
    inputs = analysis_input(results, None, measures, options)
    return replace(kept, result=inputs.result, rel=inputs.rel, judged_only=inputs.read_options.judged_only)


def _logged_to_mlflow(
    results: ExperimentResult, tracking_uri: str | None, experiment: str | None, notes: Sequence[str]
) -> Export:
    from rankproof._api.values import Export
    from rankproof._render.mlflow import log_to_mlflow

    done = log_to_mlflow(results, uri=tracking_uri or DEFAULT_MLFLOW_URI, experiment=experiment or results.name)
    known = [f"already logged, left unchanged: {', '.join(done.already_logged)}"] if done.already_logged else []
    return Export("mlflow", b"", logged=tuple(done.written), notes=(*notes, *known))


@public
def plot(
    data: DataLike,
    runs: RunsLike = None,
    measures: MeasuresOption = None,
    *,
    kind: Annotated[
        KindsLike, Option(f"{', '.join(PLOT_KINDS)}, several of them, or all", metavar="KINDS", typed=KindsLike, repeated=True)
    ] = "all",
    by: Annotated[str | None, BY._replace(description=f"segments: {BY.description}", repeated=False, unset="category")] = None,
    system: Annotated[str | None, Option("system of the plot `differences`", metavar="NAME", unset="the best")] = None,
    against: Annotated[
        str | None, Option("system to compare it with", metavar="NAME", unset="the one it builds on, else the baseline")
    ] = None,
    dataset: DatasetOption = None,
    width: Annotated[float, Option("width of a chart in inches", least=3, most=40, metavar="INCHES", rare=True)] = 7.0,
    **options: Unpack[EvaluateArguments],
) -> Plots:
    """Charts of the results, which show inline in a notebook."""
    from rankproof._analysis.inputs import checked_system
    from rankproof._api.inputs import analysis_input, with_run_texts
    from rankproof._api.values import Plot, Plots
    from rankproof._evaluation.notes import value_notes
    from rankproof._plots.charts import draw_plots
    from rankproof._plots.settings import PlotSettings

    asked = [kind] if isinstance(kind, str) else list(kind)
    if unknown := [item for item in asked if item not in (*PLOT_KINDS, "all")]:
        raise UsageError(f"unknown kind {for_message(str(unknown[0]))}", fix=f"choose from: {', '.join(PLOT_KINDS)}, all")
    inputs = with_run_texts(analysis_input(data, runs, measures, options), dataset)
    for name in (system, against):
        if name is not None:
            checked_system(inputs, name)
    settings = PlotSettings(width=width, by=by, system=system, against=against, all_measures=measures is not None)
    kinds = list(PLOT_KINDS) if "all" in asked else list(dict.fromkeys(asked))
    drawn = draw_plots(inputs, kinds, settings, "svg")
    charts = [Plot(item.name, item.content.decode(), item.missing) for item in drawn]
    left_out = (f"{chart.name}: {chart.missing}" for chart in charts if chart.missing)
    return Plots(tuple(chart for chart in charts if not chart.missing), (*value_notes(inputs.result.systems), *left_out))
