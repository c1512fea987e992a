"""`doctor` and `gate` as functions."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Unpack

from rankproof._analysis.doctor.check import DoctorInput, doctor_input_from_analysis, doctor_input_from_dataset
from rankproof._analysis.gate.anchor import next_baseline, not_saved
from rankproof._analysis.gate.baseline import Baseline, baseline_json, make_baseline, read_baseline
from rankproof._analysis.gate.gate import evaluated_measures, recorded_gate
from rankproof._analysis.gate.result import GateResult
from rankproof._analysis.gate.rules import GateOptions, Unsure
from rankproof._analysis.gate.self_test import self_test as check_repeats
from rankproof._analysis.inputs import MAIN_MEASURES, AnalysisInput, check_same_dataset
from rankproof._api.analyses import listed
from rankproof._api.inputs import DataLike, GroupsLike, analysis_input, dataset_of, groupings, has_only_answers, holds_results
from rankproof._api.values import DoctorReport
from rankproof._data.dataset import Dataset, Queries
from rankproof._evaluation.evaluate import MeasuresLike
from rankproof._evaluation.notes import value_notes
from rankproof._evaluation.options import EvaluateArguments, EvaluateOptions
from rankproof._evaluation.sources import read_judgements
from rankproof._evaluation.user_forms import Coercion, QrelsLike, RunLike
from rankproof._io.files import write_blocks
from rankproof._results.experiment_result import Completeness, LabelsBy
from rankproof.errors import UsageError, for_message, type_phrase
from rankproof.measures._base import Measure


def doctor(
    data: DataLike,
    runs: RunLike | None = None,
    *,
    dataset: Any = None,
    train: Queries | str | os.PathLike[str] | None = None,
    train_qrels: QrelsLike | None = None,
    **options: Unpack[EvaluateArguments],
) -> DoctorReport:
    """The findings of the checks of a dataset, of runs on it, or of results.

    `data` is a Dataset, the path of one, or `sample`; or judgements with `runs`; or results. `train` and `train_qrels` are the
    queries and judgements that a model was trained on.
    """
    from rankproof._analysis.doctor.doctor import run_checks

    inputs = _doctor_input(data, runs, dataset, options)
    if train is not None:
        inputs = replace(inputs, training=_queries(train), parts=inputs.parts | {"training queries"})
    if train_qrels is not None:
        qrels = read_judgements(Coercion().qrels(train_qrels), EvaluateOptions())
        inputs = replace(inputs, trained_on=qrels, parts=inputs.parts | {"training judgements"})
    return DoctorReport((run_checks(inputs),))


def _doctor_input(data: DataLike, runs: RunLike | None, dataset: Any, options: EvaluateArguments) -> DoctorInput:
    own = dataset_of(data) if _is_dataset(data) else None
    if own is not None and dataset is not None:
        raise UsageError("data and --dataset are two datasets", fix="specify one of them")
    texts = own if dataset is None else dataset_of(dataset)
    if own is not None and runs is None:
        return doctor_input_from_dataset(own, rel=options.get("rel", 1))
    inputs = analysis_input(data if own is None else own.qrels, runs, None, options)
    if texts is not None:
        check_same_dataset(texts, texts.name, inputs)
    return doctor_input_from_analysis(inputs, texts)


def _is_dataset(data: Any) -> bool:
    from rankproof._formats.read import SAMPLE, is_irds_name
    from rankproof._io.files import is_results_folder

    if isinstance(data, Dataset) or not isinstance(data, str | os.PathLike):
        return isinstance(data, Dataset)
    path = os.fspath(data)
    return path == SAMPLE or is_irds_name(path) or (os.path.isdir(path) and not is_results_folder(path))


def _queries(queries: Any) -> Queries:
    from rankproof._formats.texts import read_queries
    from rankproof._io.open import open_source

    if isinstance(queries, Queries):
        return queries
    if isinstance(queries, str | os.PathLike):
        return read_queries(open_source(os.fspath(queries)))
    raise UsageError(f"train cannot be {type_phrase(queries)}", fix="pass Queries, or the path of a JSONL file")


def gate(
    data: DataLike,
    runs: RunLike | None = None,
    measures: MeasuresLike = None,
    *,
    baseline: Any = None,
    save: str | os.PathLike[str] | None = None,
    primary: str | Measure | None = None,
    thresholds: str | Sequence[str] = (),
    max_drops: Mapping[str, float] | None = None,
    accept_loss: bool = False,
    self_test: bool = False,
    log: str | os.PathLike[str] | None = None,
    systems: str | Sequence[str] = (),
    by: GroupsLike = None,
    margin: float | str | None = None,
    unsure: Unsure = "warn",
    labels_by: LabelsBy | None = None,
    judgements: Completeness | None = None,
    seed: int = 0,
    **options: Unpack[EvaluateArguments],
) -> GateResult:
    """Whether the systems are shown to be as good as the baseline: passed, failed, or unsure.

    `baseline` is a file that `save` or `rankproof gate --save` wrote, results as for `data`, or runs on the same judgements.
    `save` is the file to write as the next baseline, if the gate passes; without a measure, baseline or threshold it has nDCG@10,
    RR@10 and R@100, or the measures of the answers if only they were measured. `thresholds` are bounds such as "nDCG@10>=0.45",
    `max_drops` the largest drop of a measure. `primary` is the measure whose significant drop fails, by default that of the
    experiment, else nDCG@10, else the first that ranks systems. `margin` is the drop that does not matter, by default 0.02, or
    10% of the higher mean if that is less. With `unsure="fail"` an unsure gate stops the build too. A file that is saved again
    keeps its first values as the anchor, and a large loss against them raises an alarm, which the file keeps; `accept_loss` makes
    the newest baseline the anchor.
    `log` is a file of JSON lines that counts comparisons on the same queries; from ten on a note has their corrected gain.
    `self_test` says how often a gate on repeats of the same system, or on two runs of it, fails by chance.
    On values of a machine judge a pass is unsure, unless `labels_by="people"` says that its labels are people's. `systems` are by
    default all. `by` adds checks of segments. `judgements="complete"` says that no relevant document is unjudged.

    >>> import rankproof as rp
    >>> qrels = {f"q{at}": {"d1": 1} for at in range(40)}
    >>> run = {query: {"d1": 0.9} for query in qrels}
    >>> rp.gate(qrels, run, save="baseline.json").notes[0]
    'baseline.json: saved run with nDCG@10, RR@10, R@100 on 40 queries'
    >>> rp.gate(qrels, run, baseline="baseline.json").outcome
    'passed'
    """
    from rankproof._io.open import path_text

    if self_test and (baseline is not None or save is not None or log is not None):
        raise UsageError("a self-test compares a system with itself", fix="leave out baseline=, save= and log=")
    if baseline is None and not thresholds and save is None and not self_test:
        raise UsageError("no requirement", fix="specify a baseline (--baseline), thresholds= or a file to save=")
    if max_drops is not None and not isinstance(max_drops, Mapping):
        raise UsageError(f"max_drops cannot be {type_phrase(max_drops)}", fix='pass {measure: drop}, such as {"nDCG@10": 0.02}')
    if not isinstance(thresholds, Iterable):
        raise UsageError(f"thresholds cannot be {type_phrase(thresholds)}", fix='pass a text or texts, such as "nDCG@10>=0.45"')
    target = None if save is None else path_text(save, "save")
    settings = GateOptions.of(
        thresholds=[thresholds] if isinstance(thresholds, str) else thresholds,
        max_drops=max_drops,
        primary=primary,
        margin=margin,
        unsure=unsure,
        labels_by=labels_by,
        judgements=judgements,
        seed=seed,
    )
    saved = None if baseline is None else _baseline(baseline, data if runs is not None else None, measures, options)
    usual = None if saved is not None or thresholds or has_only_answers(data) else MAIN_MEASURES
    chosen = evaluated_measures(listed(usual if measures is None else measures), saved, settings)
    inputs = analysis_input(data, runs, chosen or None, options, needs_rankings=False)
    segments = () if by is None else tuple(groupings(inputs, by))
    names = [systems] if isinstance(systems, str) else systems
    if self_test:
        return replace(check_repeats(inputs, settings, systems=names), notes=tuple(value_notes(inputs.result.systems)))
    is_file = isinstance(baseline, str | os.PathLike) and not holds_results(baseline)
    gated = recorded_gate(
        inputs,
        saved,
        settings,
        systems=names,
        groupings=segments,
        path=os.fspath(baseline) if is_file else None,
        accept_loss=accept_loss,
        log=None if log is None else path_text(log, "log"),
    )
    kept = () if target is None else tuple(_saved_notes(inputs, target, names, gated, accept_loss=accept_loss))
    return replace(gated, notes=(*value_notes(inputs.result.systems), *gated.notes, *kept))


def _saved_notes(
    inputs: AnalysisInput, path: str, systems: Sequence[str], gate: GateResult, *, accept_loss: bool
) -> Iterator[str]:
    """Writes the values of the systems as a baseline if the gate passed; says what it did."""
    if not gate.passed:
        yield not_saved(path, gate)
        return
    baseline, notes = next_baseline(inputs, path, systems, gate.checks, accept_loss=accept_loss)
    write_blocks(path, [baseline_json(baseline).encode()])
    yield from notes


def _baseline(baseline: Any, qrels: QrelsLike | None, measures: MeasuresLike, options: EvaluateArguments) -> Baseline:
    from rankproof._io.files import is_results_folder
    from rankproof._version import __version__

    if isinstance(baseline, str | os.PathLike) and not is_results_folder(os.fspath(baseline)):
        path = os.fspath(baseline)
        return read_baseline(path, how_to_save=f'rankproof.gate(…, save="{for_message(path)}")')
    data, runs = (baseline, None) if qrels is None or holds_results(baseline) else (qrels, baseline)
    chosen = MAIN_MEASURES if measures is None and not has_only_answers(data) else measures
    inputs = analysis_input(data, runs, chosen, options, needs_rankings=False)
    return make_baseline(inputs, version=__version__, made="", systems=())
