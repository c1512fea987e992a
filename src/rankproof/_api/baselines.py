"""`baselines` as a function: values beside random, simple and best possible rankings."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Unpack

from rankproof._api.options import DataLike, DatasetOption, MeasuresOption, RunsLike
from rankproof._data.table import Table
from rankproof._data.validation import BANDS, DOCUMENTS, PROFILE, ReadOptions, public
from rankproof._evaluation.options import EvaluateArguments
from rankproof.errors import UsageError, for_message

if TYPE_CHECKING:
    from rankproof._analysis.bands import BandProfile
    from rankproof._analysis.inputs import AnalysisInput
    from rankproof._api.values import Baselines
    from rankproof._data.dataset import Dataset
    from rankproof._data.run import Run
    from rankproof.stages._base import Stage


@public
def baselines(
    data: DataLike,
    runs: RunsLike = None,
    measures: MeasuresOption = None,
    *,
    documents: Annotated[int | None, DOCUMENTS] = None,
    dataset: DatasetOption = None,
    bands: Annotated[str | os.PathLike[str] | None, BANDS] = None,
    profile: Annotated[str | Sequence[str] | None, PROFILE] = None,
    **options: Unpack[EvaluateArguments],
) -> Baselines:
    """The values beside those of random, simple and best possible rankings, and their bands.

    With a dataset, BM25 on titles and on whole texts is run on it.
    """
    from rankproof._analysis.bands import requested_profiles
    from rankproof._analysis.inputs import set_corpus_size
    from rankproof._api.inputs import analysis_input, dataset_of, with_value_notes
    from rankproof._api.values import Baselines

    profiles = requested_profiles(bands, profile)
    inputs = set_corpus_size(analysis_input(data, runs, measures, options), documents)
    texts = None if dataset is None else dataset_of(dataset).require("documents")
    inputs, references = with_references(inputs, texts)
    tables = baseline_tables(inputs, references, profiles, all_measures=measures is not None)
    return Baselines(with_value_notes(tables, inputs))


def with_references(inputs: AnalysisInput, dataset: Dataset | None) -> tuple[AnalysisInput, Mapping[str, str]]:
    """The input and the names of its BM25 systems by role; with a dataset, those that are missing are run on it and added."""
    from rankproof._analysis.baselines import reference_systems
    from rankproof._analysis.inputs import check_judged

    check_judged(inputs)
    known = reference_systems(inputs)
    return (inputs, known) if dataset is None else _add_reference_systems(inputs, known, dataset)


def baseline_tables(
    inputs: AnalysisInput, references: Mapping[str, str], profiles: Sequence[BandProfile], *, all_measures: bool
) -> list[Table]:
    """The tables of baselines and bands; without `all_measures`, of the usual measures."""
    from rankproof._analysis.bands import bands_tables
    from rankproof._analysis.baselines import baselines as make_tables

    tables = make_tables(inputs, list(inputs.result.systems[0].measures) if all_measures else None, references)
    return [*tables, *(table for profile in profiles for table in bands_tables(inputs, profile, references))]


def _add_reference_systems(
    inputs: AnalysisInput, known: Mapping[str, str], dataset: Dataset
) -> tuple[AnalysisInput, dict[str, str]]:
    """The input with title-only and full-text BM25 added if missing, and the names of both."""
    from rankproof._analysis.baselines import FULL_TEXT, TITLE_ONLY
    from rankproof._evaluation.evaluate import evaluate_runs
    from rankproof._evaluation.result import Result
    from rankproof.stages._bm25 import BM25

    dataset = _with_judgements(inputs, dataset)
    stages: dict[str, Stage] = {TITLE_ONLY: BM25(fields=("title",)), FULL_TEXT: BM25()}
    missing = {name: stage for name, stage in stages.items() if name not in known}
    for name in missing:
        if name in inputs.systems:
            raise UsageError(f"a system is called {name} already", fix="give it another name with --name")
    inputs = replace(inputs, documents=len(dataset.corpus))
    if not missing:
        return inputs, dict(known)
    runs = {name: _match_reading(run, inputs.read_options) for name, run in _run_stages(missing, dataset, inputs.rel).items()}
    result = evaluate_runs(inputs.qrels, runs, list(inputs.result.systems[0].measures), inputs.options)
    both = Result(inputs.result.queries, (*result.systems, *inputs.result.systems))
    return replace(inputs, result=both, runs={**runs, **inputs.runs}), {**known, **{name: name for name in missing}}


def _with_judgements(inputs: AnalysisInput, dataset: Dataset) -> Dataset:
    """The dataset with the judgements of the input; a dataset that does not match is refused."""
    from rankproof._analysis.inputs import check_same_dataset
    from rankproof._data.dataset import Dataset

    check_same_dataset(dataset, dataset.name, inputs)
    if inputs.documents not in (None, len(dataset.corpus)):
        what = f"{for_message(dataset.name)} has {len(dataset.corpus)} documents, not {inputs.documents}"
        raise UsageError(what, fix="leave out --documents, or specify another dataset")
    return Dataset(dataset.name, dataset.corpus, dataset.queries, inputs.qrels)


def _run_stages(stages: Mapping[str, Stage], dataset: Dataset, rel: int) -> dict[str, Run]:
    from rankproof._experiment.experiment import Experiment
    from rankproof._experiment.run import RunOptions, run_experiment

    return {
        system_run.name: system_run.run
        for system_run in run_experiment(Experiment(stages, dataset=dataset, rel=rel), RunOptions(cache=None)).system_runs
    }


def _match_reading(run: Run, read_options: ReadOptions) -> Run:
    """The same ranking with ranks, its scores in the direction of the other runs'."""
    from rankproof._data.run import Run
    from rankproof._formats.rows import ranked_rows

    sign = -1.0 if read_options.lower_is_better else 1.0
    rows = (row._replace(score=sign * row.score) for row in ranked_rows(run))
    return Run.from_rows(rows, name=run.name, queries=run.queries)
