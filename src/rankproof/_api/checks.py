"""`doctor` and `gate` as functions."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Unpack

from rankproof._analysis.doctor.check import DoctorInput, doctor_input_from_analysis, doctor_input_from_dataset
from rankproof._analysis.gate.baseline import Baseline, make_baseline, parse_baseline
from rankproof._analysis.gate.gate import GateResult, run_gate
from rankproof._analysis.gate.rules import GateOptions, max_drop_of, threshold_of
from rankproof._analysis.inputs import MAIN_MEASURES, check_same_dataset
from rankproof._api.analyses import listed
from rankproof._api.inputs import DataLike, GroupsLike, analysis_input, dataset_of, groupings, holds_results
from rankproof._api.values import DoctorReport
from rankproof._data.dataset import Dataset, Queries
from rankproof._evaluation.coerce import Coercion, QrelsLike, RunLike
from rankproof._evaluation.evaluate import MeasuresLike
from rankproof._evaluation.inputs import read_judgements
from rankproof._evaluation.notes import value_notes
from rankproof._evaluation.options import EvaluateArguments, EvaluateOptions
from rankproof.errors import UsageError, type_phrase
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
    primary: str | Measure | None = None,
    thresholds: str | Sequence[str] = (),
    max_drops: Mapping[str, float] | None = None,
    systems: str | Sequence[str] = (),
    by: GroupsLike = None,
    alpha: float = 0.05,
    samples: int = 100_000,
    seed: int = 0,
    **options: Unpack[EvaluateArguments],
) -> GateResult:
    """Whether the systems pass: no significant drop against the baseline, every threshold met, no query missing.

    `baseline` is a file of `rankproof save-baseline`, results as for `data`, or runs on the same judgements. `thresholds` are
    bounds such as "nDCG@10>=0.45", `max_drops` the largest drop of a measure, which decides instead of significance. `primary`
    is the measure whose significant drop fails, by default nDCG@10. `by` adds checks of segments.
    """
    if baseline is None and not thresholds:
        raise UsageError("no requirement", fix="specify a baseline (--baseline) or thresholds=")
    if max_drops is not None and not isinstance(max_drops, Mapping):
        raise UsageError(f"max_drops cannot be {type_phrase(max_drops)}", fix='pass {measure: drop}, such as {"nDCG@10": 0.02}')
    if not isinstance(thresholds, Iterable):
        raise UsageError(f"thresholds cannot be {type_phrase(thresholds)}", fix='pass a text or texts, such as "nDCG@10>=0.45"')
    bounds = [thresholds] if isinstance(thresholds, str) else thresholds
    drops = dict(max_drop_of(f"{name}={drop}") for name, drop in (max_drops or {}).items())
    settings = GateOptions(
        thresholds=tuple(map(threshold_of, bounds)),
        max_drops=drops,
        primary=None if primary is None else str(primary),
        alpha=alpha,
        samples=samples,
        seed=seed,
    )
    saved = None if baseline is None else _baseline(baseline, data if runs is not None else None, measures, options)
    chosen = measures if measures is not None else list(saved.measures) if saved else None
    inputs = analysis_input(data, runs, [*listed(chosen), *(one.measure for one in settings.thresholds)], options)
    segments = () if by is None else tuple(groupings(inputs, by))
    found = run_gate(inputs, saved, settings, systems=[systems] if isinstance(systems, str) else systems, groupings=segments)
    return replace(found, notes=(*value_notes(inputs.result.systems), *found.notes))


def _baseline(baseline: Any, qrels: QrelsLike | None, measures: MeasuresLike, options: EvaluateArguments) -> Baseline:
    from rankproof._io.files import is_results_folder
    from rankproof._io.open import decode_line, open_source, read_all_bytes
    from rankproof._version import __version__

    if isinstance(baseline, str | os.PathLike) and not is_results_folder(os.fspath(baseline)):
        path = os.fspath(baseline)
        return parse_baseline(decode_line(read_all_bytes(open_source(path)), 1, path), path)
    chosen = MAIN_MEASURES if measures is None else measures
    data, runs = (baseline, None) if qrels is None or holds_results(baseline) else (qrels, baseline)
    inputs = analysis_input(data, runs, chosen, options)
    return make_baseline(inputs, version=__version__, made="", systems=())
