"""The input of an analysis, read from results folders or run files."""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Collection, Sequence
from functools import cache
from typing import TYPE_CHECKING, NoReturn

from rankproof._cli.flags import add_option
from rankproof._cli.terminal import (
    STDOUT,
    Terminal,
    add_format_option,
    add_measures_option,
    add_name_option,
    add_table_file_option,
    check_output,
    write_or_show,
)
from rankproof._data.validation import DATASET
from rankproof.errors import UsageError, for_message

if TYPE_CHECKING:
    from rankproof._analysis.inputs import AnalysisInput
    from rankproof._data.arrays import Matrix
    from rankproof._data.dataset import Dataset
    from rankproof._data.table import Table
    from rankproof._evaluation.result import Result
    from rankproof._results.experiment_result import ExperimentResult
    from rankproof.measures._answers import Encode


def are_answer_measures(measures: Sequence[str] | None) -> bool:
    """Whether all measures are measures of answers; a mixture with measures of rankings is refused."""
    from rankproof.measures._answers import AnswerMeasure
    from rankproof.measures._parse import parse_measures

    if not measures:
        return False
    parsed = parse_measures(list(measures))
    of_answers = [measure for measure in parsed if isinstance(measure, AnswerMeasure)]
    others = [measure for measure in parsed if not isinstance(measure, AnswerMeasure)]
    if of_answers and others:
        what = f"{of_answers[0]} measures answers and {others[0]} rankings, which have different queries"
        raise UsageError(what, fix="use one kind at a time")
    return bool(of_answers)


def encode_texts(name: str, texts: Sequence[str]) -> Matrix:
    """One vector per text by the encoder of that name, for measures that compare meanings."""
    return _encoders()(name, texts)


@cache
def _encoders() -> Encode:
    from rankproof._experiment.answers import Encoders

    return Encoders()


def input_from_answers(results: ExperimentResult, measures: Sequence[str], queries: Collection[str] | None) -> AnalysisInput:
    """The answers of an experiment as input, on a subset of the queries if one is given."""
    from dataclasses import replace

    from rankproof._analysis.answers.answer_input import answer_input_from_results
    from rankproof._analysis.answers.logged_answers import AnswerJudges
    from rankproof._evaluation.result import subset_result

    inputs = answer_input_from_results(results, measures, how=AnswerJudges(encode_texts, refuse_to_ask)).inputs
    return inputs if queries is None else replace(inputs, result=subset_result(inputs.result, set(queries)))


def input_from_logs(paths: Sequence[str], args: argparse.Namespace) -> AnalysisInput:
    """The answers of RAG logs as input, on a subset of the queries if one is given."""
    from dataclasses import replace

    from rankproof._analysis.answers.answer_input import answer_input_from_files
    from rankproof._analysis.answers.logged_answers import AnswerJudges
    from rankproof._cli.answer_inputs import read_logs
    from rankproof._evaluation.result import subset_result

    logs = read_logs(paths, args.name)
    how = AnswerJudges(encode_texts, refuse_to_ask)
    inputs = answer_input_from_files(logs, args.measures, rel=args.rel or 1, how=how).inputs
    queries = _subset(args)
    return inputs if queries is None else replace(inputs, result=subset_result(inputs.result, set(queries)))


def refuse_to_ask(name: str) -> NoReturn:
    """Refuses a judge whose verdicts are not known."""
    raise UsageError(
        f"the verdicts of the judge {for_message(name)} are not known",
        fix=f"get them with `rankproof answers … --judge {shlex.quote(name)} -o RESULTS`, and use RESULTS here",
    )


FILE_OPTIONS = ("other_qrels", "queries", "weights", "by_file", "bands", "dataset", "train", "train_qrels")
"""Options that name a further input file or folder."""
INPUTS_HELP = "one or more results folders, or the judgements and then one or more runs"


def add_analysis_options(parser: argparse.ArgumentParser, inputs_help: str = INPUTS_HELP) -> None:
    """Adds the inputs of an analysis and its output format."""
    group = add_input_options(parser, "output", inputs_help)
    add_format_option(group)
    add_table_file_option(group)


def add_input_options(parser: argparse.ArgumentParser, title: str, inputs_help: str = INPUTS_HELP) -> argparse._ArgumentGroup:
    """Adds the files, the measures and their options; returns the group of the measures, which has this title."""
    from rankproof._cli.options import add_reading_options

    parser.set_defaults(parser=parser)
    parser.add_argument("files", nargs="*", metavar="FILE", help=inputs_help)
    group = parser.add_argument_group(title)
    add_measures_option(group)
    add_name_option(group, "the name of a run or results folder, once for each")
    add_reading_options(parser)
    parser.set_defaults(rel=None)
    return group


ONE_INPUT_HELP = "one results folder, or the judgements and then one or more runs"


def add_dataset_options(group: argparse._ArgumentGroup, dataset_help: str = DATASET.description) -> None:
    """Adds the dataset of run files."""
    from rankproof._cli.options import DEFAULT_SPLIT

    add_option(group, "dataset", DATASET._replace(description=dataset_help))
    group.add_argument(
        "--split", default=DEFAULT_SPLIT, metavar="NAME", help=f"the split of the dataset (default: {DEFAULT_SPLIT})"
    )


def read_input_with_texts(
    args: argparse.Namespace, *, also: Sequence[str] = (), usual: bool = False, of_answers: bool = False
) -> AnalysisInput:
    """The input in the files, run files with the texts of --dataset; the other options as in `read_input`."""
    inputs = read_input(args, also=also, usual=usual, of_answers=of_answers)
    if args.dataset is not None and inputs.system_runs:
        raise UsageError("--dataset is for run files: a results folder has its texts", fix="leave it out")
    return with_run_texts(inputs, args)


def with_run_texts(inputs: AnalysisInput, args: argparse.Namespace) -> AnalysisInput:
    """An input from run files with the texts of --dataset; one from results as it is."""
    dataset = None if inputs.system_runs else dataset_of_runs(args)
    if dataset is None:
        return inputs
    from rankproof._analysis.run_files import with_texts

    return with_texts(inputs, dataset)


def dataset_of_runs(args: argparse.Namespace) -> Dataset | None:
    """The dataset of --dataset, None without it."""
    from rankproof._cli.options import read_dataset_or_sample

    return None if args.dataset is None else read_dataset_or_sample(args.dataset, args.split, args, needs=())


def read_input(
    args: argparse.Namespace,
    *,
    also: Sequence[str] = (),
    usual: bool = False,
    of_answers: bool = False,
    of_rankings: Sequence[str] = (),
) -> AnalysisInput:
    """The input in the files; an output that would overwrite one of them is refused.

    With `usual`, inputs for which no measures are named get the usual ones of a comparison, and those of `also`. With
    `of_answers`, results of answers alone get theirs, and rankings those of `of_rankings`.
    """
    if not args.files:
        raise UsageError("no input files", fix=f"specify {INPUTS_HELP}")
    check_output(args.output, [*args.files, *(getattr(args, name, None) for name in FILE_OPTIONS)])
    from rankproof._io.files import is_results_folder

    folders = [path for path in args.files if is_results_folder(path)]
    if len(folders) == len(args.files):
        return _from_folders(args, also, usual=usual, of_answers=of_answers, of_rankings=of_rankings)
    if folders:
        for path in args.files:
            check_exists(path, f"specify {INPUTS_HELP}")
            check_result_document(path)
        raise UsageError("results folders and run files cannot be mixed", fix=f"specify {INPUTS_HELP}")
    if are_answer_measures(args.measures or also) and _are_logs(args.files):
        args.measures = args.measures or list(also)
        return input_from_logs(args.files, args)
    args.measures = args.measures or list(of_rankings) or None
    return _from_files(args, also, usual=usual)


def _are_logs(paths: Sequence[str]) -> bool:
    from rankproof._cli.answer_inputs import are_rag_logs

    return are_rag_logs(paths)


def check_exists(path: str, fix: str) -> None:
    """Refuses a path that does not exist, and names a near one or else the fix."""
    from rankproof._io.file_errors import missing_fix

    if path not in ("", "-") and not os.path.exists(path):
        raise UsageError(f"{for_message(path)}: no such file or folder", fix=missing_fix(path, fix))


def check_results_folder(path: str) -> None:
    """Refuses a path that does not exist, and a folder without results."""
    fix = "specify a folder that `rankproof run` wrote"
    check_exists(path, fix)
    if os.path.isdir(path):
        check_result_document(path)
        raise UsageError(f"{for_message(path)} is not a results folder", fix=fix)


def check_result_document(path: str) -> None:
    """Refuses a folder with a damaged result.json, or with the other files of results and without it."""
    from rankproof._io.files import RESULT_FILE
    from rankproof._results.folder import read_document
    from rankproof._results.result_json import EXPERIMENT_FILE, RUNS_FOLDER

    if os.path.isfile(os.path.join(path, RESULT_FILE)):
        read_document(path)
    elif os.path.isdir(path) and {EXPERIMENT_FILE, RUNS_FOLDER} <= {*os.listdir(path)}:
        what = f"{for_message(path)} is a damaged results folder: it has no {RESULT_FILE}"
        raise UsageError(what, fix="run the experiment again")


def show_tables(tables: Sequence[Table], args: argparse.Namespace, terminal: Terminal) -> None:
    """Writes the tables to standard output or a file, then shows their notes."""
    from rankproof._render.table import TABLE_RENDERERS

    write_or_show(
        TABLE_RENDERERS[args.format](tables, terminal.render_options(to_file=args.output not in STDOUT)), args.output, terminal
    )
    terminal.notes(note for table in tables for note in table.notes)


def _from_folders(
    args: argparse.Namespace, also: Sequence[str], *, usual: bool, of_answers: bool, of_rankings: Sequence[str]
) -> AnalysisInput:
    from dataclasses import replace

    from rankproof._analysis.answers.answer_input import results_measures
    from rankproof._analysis.inputs import MAIN_MEASURES, input_from_results, join_inputs, usual_measures
    from rankproof._data.text import pluralise
    from rankproof._results.folder import load_results
    from rankproof.measures._claim_base import measures_in_results

    if args.name and len(args.name) != len(args.files):
        what = f"{pluralise(len(args.name), 'name')} for {pluralise(len(args.files), 'results folder')}"
        raise UsageError(what, fix="give each folder a name, or none")
    # Named first: results with a measure of one's own are read only after its module is known.
    are_answer_measures(args.measures or also)
    results = [load_results(path) for path in args.files]
    if not args.measures and not also and (usual or of_answers) and not any(result.is_judged for result in results):
        # Results of answers alone have no rankings to compare.
        args.measures = _measures_of_answers(results)
    args.measures = args.measures or list(of_rankings) or None
    if are_answer_measures(args.measures or also):
        named = list(map(str, measures_in_results(args.measures or also, results_measures(results))))
        inputs = [input_from_answers(result, named, _subset(args)) for result in results]
    else:
        inputs = [input_from_results(result) for result in results]
        if usual and not args.measures:
            measures_of_inputs = [usual_measures(analysed) for analysed in inputs]
            args.measures = [
                *(
                    measures_of_inputs[0]
                    if all(analysed == measures_of_inputs[0] for analysed in measures_of_inputs)
                    else MAIN_MEASURES
                ),
                *also,
            ]
        inputs = [reevaluate(analysed, args) for analysed in inputs]
    names = args.name or _experiment_names([analysed.name for analysed in inputs], args.files)
    return join_inputs([replace(analysed, name=name) for analysed, name in zip(inputs, names, strict=True)])


def _measures_of_answers(results: Sequence[ExperimentResult]) -> list[str] | None:
    """The measures of answers that all results have, None where there are none."""
    names_of_results = [[] if result.answers is None else list(result.answers.systems[0].measures) for result in results]
    return [name for name in names_of_results[0] if all(name in names for names in names_of_results)] or None


def _subset(args: argparse.Namespace) -> Collection[str] | None:
    from rankproof._cli.flags import query_ids

    return None if args.queries is None else query_ids(args.queries, args.encoding)


def _experiment_names(experiments: list[str], paths: list[str]) -> list[str]:
    """The names of the experiments; if two are equal those of the folders, else the paths."""
    folders = [os.path.basename(os.path.abspath(path)) for path in paths]
    return next((names for names in (experiments, folders) if len(set(names)) == len(names)), paths)


def reevaluate(inputs: AnalysisInput, args: argparse.Namespace) -> AnalysisInput:
    """The input evaluated with the measures and options of the command."""
    from rankproof._analysis.inputs import reevaluated
    from rankproof._cli.options import evaluate_options

    return reevaluated(inputs, args.measures, evaluate_options(_with_stored(args, inputs), None))


def _from_files(args: argparse.Namespace, also: Sequence[str], *, usual: bool) -> AnalysisInput:
    from rankproof._analysis.inputs import MAIN_MEASURES, input_from_evaluation
    from rankproof._cli.options import evaluate_options
    from rankproof._evaluation.evaluate import evaluate_runs
    from rankproof._evaluation.sources import RunSources, read_judgements
    from rankproof._evaluation.user_forms import name_runs_uniquely, queries_of_judgements, with_own_weights

    if len(args.files) < 2:
        check_results_folder(args.files[0])
        raise UsageError("no run file", fix=f"specify {INPUTS_HELP}")
    path, *runs = args.files
    queries = queries_of_judgements(path)
    options = with_own_weights(evaluate_options(_with_rel(args, 1), None), queries)
    named = name_runs_uniquely(runs, args.name)
    qrels = read_judgements(path, options)
    read = RunSources(named, options)
    measures = [*MAIN_MEASURES, *also] if usual and not args.measures else args.measures
    result = evaluate_runs(qrels, read.sources, measures, options)
    return input_from_evaluation(result, qrels, read, options, name=os.path.basename(path), texts=queries)


def _with_stored(args: argparse.Namespace, inputs: AnalysisInput) -> argparse.Namespace:
    """The arguments with what the results were evaluated with filled in."""
    judged_only = args.judged_only or inputs.read_options.judged_only
    return argparse.Namespace(**{**vars(_with_rel(args, inputs.rel)), "judged_only": judged_only})


def _with_rel(args: argparse.Namespace, rel: int) -> argparse.Namespace:
    """The arguments with the lowest relevant grade filled in."""
    return argparse.Namespace(**{**vars(args), "rel": args.rel or rel})


_MIN_NOTED_DEPTH = 10
"""No note is shown for rankings shorter than this."""


def cutoff_notes(result: Result) -> list[str]:
    """A note for each depth at which rankings end before the cutoff of a measure."""
    owners: dict[str, list[str]] = {}
    for system in result.systems:
        depth = system.depth or 0
        deeper = [name for name, measure in system.measures.items() if _cutoff(measure.measure) > depth]
        if depth >= _MIN_NOTED_DEPTH and deeper:
            note = f"no ranking has more than {depth} documents, so {', '.join(deeper)} cannot look deeper"
            owners.setdefault(note, []).append(system.name)
    everyone = len(result.systems)
    return [f"{'all systems' if len(names) == everyone else ', '.join(names)}: {note}" for note, names in owners.items()]


def _cutoff(measure: object) -> int:
    return getattr(measure, "cutoff", None) or 0
