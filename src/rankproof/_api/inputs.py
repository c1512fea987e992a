"""The input of every function: judgements and runs, the result of an evaluation, or results of experiments."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rankproof._analysis.inputs import AnalysisInput, input_from_result, input_from_results, join_inputs, reevaluated
from rankproof._analysis.query_groups import Grouping, by_list, default_grouping, group_queries
from rankproof._api.options import DataLike, GroupsLike
from rankproof._data.dataset import Dataset
from rankproof._data.table import Table
from rankproof._evaluation.evaluate import MeasuresLike, evaluate_forms
from rankproof._evaluation.notes import value_notes
from rankproof._evaluation.options import FILE_ARGUMENTS, EvaluateArguments, RunLike, make_evaluate_options
from rankproof._evaluation.result import Result, inputs_of
from rankproof._io.file_errors import missing_fix
from rankproof._io.files import is_results_folder
from rankproof._results.experiment_result import ExperimentResult
from rankproof._results.folder import load_results
from rankproof.errors import UsageError, for_message, type_phrase

DATA_FORMS = "pass judgements and runs, a Result, an ExperimentResult, or a results folder"


def analysis_input(
    data: DataLike,
    runs: RunLike | None,
    measures: MeasuresLike,
    options: EvaluateArguments,
    *,
    usual: MeasuresLike = None,
    needs_rankings: bool = True,
) -> AnalysisInput:
    """The input in the data; `usual` are the measures of runs for which none are named.

    The values of `evaluate_answers` have no rankings: with `needs_rankings` they are an error.
    """
    if needs_rankings and isinstance(data, Result) and inputs_of(data) is None:
        fix = "pass what evaluate, run or load_results returned; compare and gate take values of answers"
        raise UsageError("the result has values and no rankings", fix=fix)
    if runs is not None:
        result = evaluate_forms(data, runs, usual if measures is None else measures, make_evaluate_options(options))
        return input_from_result(result)
    if isinstance(data, Mapping) and holds_results(data):
        loaded = _loaded(list(data.values()))
        named = _with_judges(measures, loaded)
        named_data = zip(data, loaded, strict=True)
        return join_inputs([replace(_one_input(source, named, options), name=str(name)) for name, source in named_data])
    if isinstance(data, list | tuple) and holds_results(data):
        loaded = _loaded(data)
        return join_inputs([_one_input(source, _with_judges(measures, loaded), options) for source in loaded])
    return _one_input(data, measures, options)


def _loaded(data: Sequence[Any]) -> list[Result | ExperimentResult]:
    return [part if isinstance(part, Result) else results_of(part) for part in data]


def _with_judges(measures: MeasuresLike, results: Sequence[Result | ExperimentResult]) -> MeasuresLike:
    """The measures; of claims, with the judge that all results have."""
    from rankproof._analysis.answers.answer_input import results_measures
    from rankproof.measures._claim_base import measures_in_results

    if not _are_of_answers(measures):
        return measures
    measured = results_measures(result for result in results if isinstance(result, ExperimentResult))
    return list(map(str, measures_in_results(measures or (), measured)))


def with_run_texts(inputs: AnalysisInput, dataset: Any) -> AnalysisInput:
    """The input with the texts of the dataset of its runs; results have their own."""
    if dataset is None:
        return inputs
    from rankproof._analysis.run_files import with_texts

    if inputs.system_runs:
        raise UsageError("dataset is for judgements and runs: results have their texts", fix="leave it out")
    return with_texts(inputs, dataset_of(dataset))


def with_value_notes(tables: Sequence[Table], inputs: AnalysisInput, *, bounds: bool = True) -> tuple[Table, ...]:
    """The tables, the first one with the notes on how far the values can be trusted."""
    notes = value_notes(inputs.result.systems, bounds=bounds)
    first = [replace(table, notes=(*notes, *table.notes)) for table in tables[:1]]
    return (*first, *tables[1:])


def results_of(data: Any) -> ExperimentResult:
    """The results of an experiment, or of a results folder."""
    if isinstance(data, ExperimentResult):
        return data
    if isinstance(data, str | os.PathLike) and is_results_folder(os.fspath(data)):
        return load_results(data)
    if isinstance(data, str | os.PathLike):
        path = os.fspath(data)
        fix = "pass a folder that save_results or `rankproof run` wrote"
        if os.path.exists(path):
            raise UsageError(f"{for_message(path)} is not a results folder", fix=fix)
        raise UsageError(f"{for_message(path)} does not exist", fix=missing_fix(path, fix))
    raise UsageError(f"data cannot be {type_phrase(data)}", fix="pass an ExperimentResult or a results folder")


def dataset_of(dataset: Any, *, split: str = "test") -> Dataset:
    """The dataset, or that of a folder, of `irds:NAME`, or of `sample`; documents or judgements may be empty."""
    from rankproof._importers.registry import read_dataset

    if isinstance(dataset, Dataset):
        return dataset
    if not isinstance(dataset, str | os.PathLike):
        raise UsageError(f"dataset cannot be {type_phrase(dataset)}", fix="pass a Dataset, a folder, irds:NAME, or sample")
    return read_dataset(dataset, split=split)


def groupings(inputs: AnalysisInput, by: GroupsLike) -> Iterator[Grouping]:
    """The groupings asked for; by default the category, else the length, else the number of relevant documents."""
    if isinstance(by, Mapping):
        yield by_list(inputs, {str(query): str(segment) for query, segment in by.items()}, "segments")
        return
    if by is not None and not isinstance(by, Iterable):
        raise UsageError(f"by cannot be {type_phrase(by)}", fix="pass the name of a field, several names, or {query: segment}")
    names = [default_grouping(inputs)] if by is None else [by] if isinstance(by, str) else list(by)
    yield from (group_queries(inputs, name) for name in dict.fromkeys(names))


def holds_results(data: Any) -> bool:
    """Whether the data are results, or a list or dict of them, and not runs."""
    if isinstance(data, Mapping | list | tuple):
        parts = list(data.values()) if isinstance(data, Mapping) else data
        return bool(parts) and all(map(_is_results, parts))
    return _is_results(data)


def has_only_answers(data: Any) -> bool:
    """Whether the data are results, or a list or dict of them, of which only answers were measured."""
    if not holds_results(data):
        return False
    parts = list(data.values()) if isinstance(data, Mapping) else data if isinstance(data, list | tuple) else [data]
    return all(inputs_of(part) is None if isinstance(part, Result) else _has_only_answers(results_of(part)) for part in parts)


def _has_only_answers(results: ExperimentResult) -> bool:
    return results.answers is not None and not results.is_judged


def _is_results(data: Any) -> bool:
    if isinstance(data, str | os.PathLike):
        return is_results_folder(os.fspath(data))
    return isinstance(data, Result | ExperimentResult)


def _one_input(data: Any, measures: MeasuresLike, options: EvaluateArguments) -> AnalysisInput:
    if not _is_results(data):
        raise _data_error(data)
    if wrong := [name for name in options if name in FILE_ARGUMENTS]:
        raise UsageError(f"{wrong[0]}= is for judgements and runs, not for results", fix="leave it out")
    if isinstance(data, Result):
        inputs = input_from_result(data)
        if inputs_of(data) is None:
            return _with_answer_measures(inputs, measures, options)
    else:
        results = results_of(data)
        if measures is None and not results.is_judged and results.answers is not None:
            return _answers_input(results, list(results.answers.systems[0].measures), options)
        if _are_of_answers(measures):
            return _answers_input(results, measures, options)
        inputs = input_from_results(results)
    if measures is None and not options:
        return inputs
    defaults: EvaluateArguments = {"rel": inputs.rel, "judged_only": inputs.read_options.judged_only}
    return reevaluated(inputs, measures, make_evaluate_options(defaults | options))


def _with_answer_measures(inputs: AnalysisInput, measures: MeasuresLike, options: EvaluateArguments) -> AnalysisInput:
    """The values of answers by these measures, which were evaluated, or by all."""
    from rankproof.measures._claim_base import measures_in_results

    if options:
        raise UsageError(f"{next(iter(options))}= is for rankings, not for answers", fix="leave it out")
    if measures is None:
        return inputs
    evaluated = inputs.result.systems[0].measures
    names = [str(measure) for measure in measures_in_results(measures, [measure.measure for measure in evaluated.values()])]
    if missing := [name for name in names if name not in evaluated]:
        raise UsageError(f"{missing[0]} was not evaluated", fix=f"choose from: {', '.join(evaluated)}")
    systems = (replace(system, measures={name: system.measures[name] for name in names}) for system in inputs.result.systems)
    settings = replace(inputs.decision_settings, primary=names[0])
    return replace(inputs, result=replace(inputs.result, systems=tuple(systems)), decision_settings=settings)


def _data_error(data: Any) -> UsageError:
    if isinstance(data, str | os.PathLike) and not os.path.exists(data):
        path = os.fspath(data)
        return UsageError(f"data: {for_message(path)} does not exist", fix=missing_fix(path, DATA_FORMS))
    if isinstance(data, str | os.PathLike | Mapping):
        return UsageError("runs is missing", fix=DATA_FORMS)
    return UsageError(f"data cannot be {type_phrase(data)} without runs", fix=DATA_FORMS)


def _are_of_answers(measures: MeasuresLike) -> bool:
    from rankproof.measures._answers import AnswerMeasure
    from rankproof.measures._parse import parse_measures

    return measures is not None and all(isinstance(measure, AnswerMeasure) for measure in parse_measures(measures))


def _answers_input(results: ExperimentResult, measures: MeasuresLike, options: EvaluateArguments) -> AnalysisInput:
    from rankproof._analysis.answers.answer_input import answer_input_from_results
    from rankproof._analysis.answers.logged_answers import AnswerJudges
    from rankproof._experiment.answers import Encoders

    if options:
        raise UsageError(f"{next(iter(options))}= is for rankings, not for answers", fix="leave it out")
    return answer_input_from_results(results, measures, how=AnswerJudges(Encoders())).inputs
