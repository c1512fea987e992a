"""`doctor` and `gate` as functions."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Unpack

from rankproof._analysis.options import Unsure
from rankproof._api.options import DataLike, DatasetOption, GroupsOption, MeasuresOption, RunsLike
from rankproof._data.validation import FILES, SEED, public
from rankproof._evaluation.options import EvaluateArguments, EvaluateOptions, QrelsLike, RunLike
from rankproof._io.files import write_blocks
from rankproof._registry import Option
from rankproof._results.decision_settings import JUDGEMENTS, LABELS_BY, Completeness, LabelsBy
from rankproof.errors import UsageError, for_message, type_phrase

if TYPE_CHECKING:
    from rankproof._analysis.doctor.check import DoctorInput
    from rankproof._analysis.gate.baseline import Baseline
    from rankproof._analysis.gate.result import GateResult
    from rankproof._analysis.inputs import AnalysisInput
    from rankproof._api.values import DoctorReport
    from rankproof._data.dataset import Queries
    from rankproof._evaluation.evaluate import MeasuresLike
    from rankproof.measures._base import Measure


@public
def doctor(
    data: Annotated[
        DataLike,
        Option(
            "a Dataset, the path of one, or `sample`; or judgements with runs; or results, results folders included", typed=str
        ),
    ],
    runs: RunsLike = None,
    *,
    dataset: DatasetOption = None,
    train: Annotated[
        Queries | str | os.PathLike[str] | None, Option("the queries that a model was trained on", metavar="FILE")
    ] = None,
    train_qrels: Annotated[
        QrelsLike | None, Option("the judgements that a model was trained on", typed=str, metavar="FILE")
    ] = None,
    log: Annotated[
        Any,
        Option("a log of search: does the sample still stand for its traffic?", metavar="LOG", repeated=True, typed=FILES),
    ] = None,
    **options: Unpack[EvaluateArguments],
) -> DoctorReport:
    """The findings of the checks of a dataset, of runs on it, or of results."""
    from rankproof._analysis.doctor.doctor import run_checks
    from rankproof._api.values import DoctorReport
    from rankproof._evaluation.sources import read_judgements
    from rankproof._evaluation.user_forms import Coercion

    inputs = _doctor_input(data, runs, dataset, options)
    if train is not None:
        inputs = replace(inputs, training=_queries(train), parts=inputs.parts | {"training queries"})
    if train_qrels is not None:
        qrels = read_judgements(Coercion().qrels(train_qrels), EvaluateOptions())
        inputs = replace(inputs, trained_on=qrels, parts=inputs.parts | {"training judgements"})
    if log is not None:
        inputs = with_traffic(inputs, data if dataset is None else dataset, log)
    return DoctorReport((run_checks(inputs),))


def with_traffic(inputs: DoctorInput, sample: Any, log: Any) -> DoctorInput:
    """The input with the check of a sample, the folder of the dataset, against a log."""
    from rankproof._api.live import check_sample

    if not isinstance(sample, str | os.PathLike):
        raise UsageError("a log is compared with a sample", fix="pass the folder that rankproof sample wrote as the dataset")
    return replace(inputs, traffic=check_sample(log, sample), parts=inputs.parts | {"log"})


def _doctor_input(data: DataLike, runs: RunLike | None, dataset: Any, options: EvaluateArguments) -> DoctorInput:
    from rankproof._analysis.doctor.check import doctor_input_from_analysis, doctor_input_from_dataset
    from rankproof._analysis.inputs import check_same_dataset
    from rankproof._api.inputs import analysis_input, dataset_of

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
    from rankproof._data.dataset import Dataset
    from rankproof._formats.detect import SAMPLE, is_irds_name
    from rankproof._io.files import is_results_folder

    if isinstance(data, Dataset) or not isinstance(data, str | os.PathLike):
        return isinstance(data, Dataset)
    path = os.fspath(data)
    return path == SAMPLE or is_irds_name(path) or (os.path.isdir(path) and not is_results_folder(path))


def _queries(queries: Any) -> Queries:
    from rankproof._data.dataset import Queries
    from rankproof._formats.texts import read_queries
    from rankproof._io.open import open_source

    if isinstance(queries, Queries):
        return queries
    if isinstance(queries, str | os.PathLike):
        return read_queries(open_source(os.fspath(queries)))
    raise UsageError(f"train cannot be {type_phrase(queries)}", fix="pass Queries, or the path of a JSONL file")


@public
def gate(
    data: DataLike,
    runs: RunsLike = None,
    measures: MeasuresOption = None,
    *,
    baseline: Annotated[
        Any,
        Option(
            "the values to compare with: a file that `save` wrote; in Python also results or runs",
            typed=str,
            role="path",
            metavar="FILE",
        ),
    ] = None,
    save: Annotated[
        str | os.PathLike[str] | None,
        Option("save the values as the next baseline, if the gate passes; - is standard output", role="output", metavar="FILE"),
    ] = None,
    primary: Annotated[
        str | Measure | None,
        Option(
            "the measure whose significant drop fails",
            metavar="MEASURE",
            unset="that of the experiment, else nDCG@10, else the first",
        ),
    ] = None,
    thresholds: Annotated[
        str | Sequence[str], Option("a bound, such as nDCG@10>=0.45", flag="--threshold", metavar="T", repeated=True)
    ] = (),
    max_drops: Annotated[
        Mapping[str, float] | None,
        Option("the largest allowed drop, such as nDCG@10=0.02", flag="--max-drop", metavar="M=D", repeated=True),
    ] = None,
    accept_loss: Annotated[
        bool, Option("make the newest baseline the first one, which ends an alarm of a slow loss", rare=True)
    ] = False,
    self_test: Annotated[
        bool, Option("how often a gate on repeats, or on two runs, of the same system fails by chance", rare=True)
    ] = False,
    log: Annotated[
        str | os.PathLike[str] | None,
        Option(
            "count comparisons in a log, JSON lines; from ten on their corrected gain", metavar="FILE", role="output", rare=True
        ),
    ] = None,
    cases: Annotated[
        str | os.PathLike[str] | None,
        Option(
            "also check the test cases of serve one by one; their rankings are those of `run --cases`",
            role="path",
            metavar="FILE",
        ),
    ] = None,
    systems: Annotated[
        str | Sequence[str], Option("only this system", flag="--system", metavar="NAME", repeated=True, unset="all")
    ] = (),
    by: GroupsOption = None,
    margin: Annotated[
        float | str | None,
        Option("a drop that does not matter: 0.01, or 5% of the higher mean", metavar="D", unset="0.02 or 10%, the smaller one"),
    ] = None,
    unsure: Annotated[Unsure, Option("what an unsure gate does: warn, or fail and stop the build")] = "warn",
    labels_by: Annotated[LabelsBy | None, LABELS_BY] = None,
    judgements: Annotated[Completeness | None, JUDGEMENTS] = None,
    seed: Annotated[int, SEED] = 0,
    **options: Unpack[EvaluateArguments],
) -> GateResult:
    """Whether the systems are shown to be as good as the baseline: passed, failed, or unsure.

    Without a measure, baseline or threshold, `save` writes nDCG@10, RR@10 and R@100, or the measures of the answers if only they
    were measured. A file that is saved again keeps its first values as the anchor, and a large loss against them raises an alarm,
    which the file keeps. On values of a machine judge a pass is unsure, unless the labels are people's. `by` adds checks of
    segments.

    >>> import rankproof as rp
    >>> qrels = {f"q{at}": {"d1": 1} for at in range(40)}
    >>> run = {query: {"d1": 0.9} for query in qrels}
    >>> rp.gate(qrels, run, save="baseline.json").notes[0]
    'baseline.json: saved run with nDCG@10, RR@10, R@100 on 40 queries'
    >>> rp.gate(qrels, run, baseline="baseline.json").outcome
    'passed'
    """
    from rankproof._analysis.gate.gate import evaluated_measures, gate_with_cases, recorded_gate
    from rankproof._analysis.gate.rules import GateOptions
    from rankproof._analysis.gate.self_test import self_test as check_repeats
    from rankproof._analysis.inputs import MAIN_MEASURES
    from rankproof._api.analyses import listed
    from rankproof._api.inputs import analysis_input, groupings, has_only_answers, holds_results
    from rankproof._evaluation.notes import value_notes
    from rankproof._io.open import path_text

    if self_test and (baseline is not None or save is not None or log is not None):
        raise UsageError("a self-test compares a system with itself", fix="leave out baseline=, save= and log=")
    if baseline is None and not thresholds and save is None and not self_test and cases is None:
        raise UsageError("no requirement", fix="specify a baseline (--baseline), thresholds= or a file to save=")
    _check_bounds(thresholds, max_drops)
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
    usual = None if saved is not None or thresholds or cases is not None or has_only_answers(data) else MAIN_MEASURES
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
    if cases is not None:
        folder = os.fspath(data) if isinstance(data, str | os.PathLike) else None
        gated = gate_with_cases(gated, inputs, path_text(cases, "cases"), folder, names)
    kept = () if target is None else tuple(_saved_notes(inputs, target, names, gated, accept_loss=accept_loss))
    return replace(gated, notes=(*value_notes(inputs.result.systems), *gated.notes, *kept))


def _check_bounds(thresholds: object, max_drops: object) -> None:
    if max_drops is not None and not isinstance(max_drops, Mapping):
        raise UsageError(f"max_drops cannot be {type_phrase(max_drops)}", fix='pass {measure: drop}, such as {"nDCG@10": 0.02}')
    if not isinstance(thresholds, Iterable):
        raise UsageError(f"thresholds cannot be {type_phrase(thresholds)}", fix='pass a text or texts, such as "nDCG@10>=0.45"')


def _saved_notes(
    inputs: AnalysisInput, path: str, systems: Sequence[str], gate: GateResult, *, accept_loss: bool
) -> Iterator[str]:
    """Writes the values of the systems as a baseline if the gate passed; says what it did."""
    from rankproof._analysis.gate.anchor import next_baseline, not_saved
    from rankproof._analysis.gate.baseline import baseline_json

    if not gate.passed:
        yield not_saved(path, gate)
        return
    baseline, notes = next_baseline(inputs, path, systems, gate.checks, accept_loss=accept_loss)
    write_blocks(path, [baseline_json(baseline).encode()])
    yield from notes


def _baseline(baseline: Any, qrels: QrelsLike | None, measures: MeasuresLike, options: EvaluateArguments) -> Baseline:
    from rankproof._analysis.gate.baseline import make_baseline, read_baseline
    from rankproof._analysis.inputs import MAIN_MEASURES
    from rankproof._api.inputs import analysis_input, has_only_answers, holds_results
    from rankproof._io.files import is_results_folder
    from rankproof._version import __version__

    if isinstance(baseline, str | os.PathLike) and not is_results_folder(os.fspath(baseline)):
        path = os.fspath(baseline)
        return read_baseline(path, how_to_save=f'rankproof.gate(…, save="{for_message(path)}")')
    data, runs = (baseline, None) if qrels is None or holds_results(baseline) else (qrels, baseline)
    chosen = MAIN_MEASURES if measures is None and not has_only_answers(data) else measures
    inputs = analysis_input(data, runs, chosen, options, needs_rankings=False)
    return make_baseline(inputs, version=__version__, made="", systems=())
