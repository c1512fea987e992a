"""One ExperimentResult for a command, read from a results folder or from run files."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Sequence
from typing import Any

from rankproof._analysis.compare.summary import with_decision_settings
from rankproof._analysis.run_files import results_from_runs
from rankproof._cli.inputs import ONE_INPUT_HELP, check_results_folder, read_input
from rankproof._cli.terminal import Terminal
from rankproof._data.dataset import Dataset
from rankproof._io.files import is_results_folder
from rankproof._results.experiment_result import ExperimentResult
from rankproof._results.folder import load_results
from rankproof._results.judgements import measuring_command
from rankproof.errors import UsageError, escape_invisible, for_message
from rankproof.measures._parse import parse_measures

_RUN_FILE_OPTIONS = (
    *("name", "rel", "depth", "judged_only", "skip_missing", "queries", "weights", "order", "lower_is_better", "on_duplicate"),
    *("compat", "qrels_format", "run_format", "delimiter", "grade_map", "on_conflict", "dataset"),
)


def results_folder(args: argparse.Namespace) -> str | None:
    """The results folder among the files, None for judgements and runs; a single path that is no results folder is refused."""
    if not args.files:
        raise UsageError("no input files", fix=f"specify {ONE_INPUT_HELP}")
    if len(args.files) == 1:
        path: str = args.files[0]
        if not is_results_folder(path):
            check_results_folder(path)
            raise UsageError(f"no run file after {for_message(path)}", fix=f"specify {ONE_INPUT_HELP}")
        return path
    if all(map(is_results_folder, args.files)):
        raise UsageError(f"{len(args.files)} results folders, but one is expected", fix=f"specify {ONE_INPUT_HELP}")
    return None


def two_results_folders(args: argparse.Namespace) -> bool:
    """Whether the files are two results folders, before and after."""
    return len(args.files) == 2 and all(map(is_results_folder, args.files))


def read_results(args: argparse.Namespace, dataset: Dataset | None, **decision: Any) -> ExperimentResult:
    """The results of a folder, or of run files with the texts of their dataset; with these settings of the decision."""
    folder = results_folder(args)
    results = results_from_runs(read_input(args), dataset) if folder is None else _from_folder(folder, args)
    return with_decision_settings(results, **decision)


def _from_folder(folder: str, args: argparse.Namespace) -> ExperimentResult:
    refuse_run_file_options(args)
    register_measures(args)
    return load_results(folder)


def register_measures(args: argparse.Namespace) -> None:
    """Parses the measures of -m: one that was parsed is known by its name when results are loaded."""
    if args.measures:
        parse_measures(args.measures)


def refuse_run_file_options(args: argparse.Namespace, also: Collection[str] = (), but: Collection[str] = ()) -> None:
    """Refuses the options that a results folder does not need, such as those on how run files are read."""
    for name in (*_RUN_FILE_OPTIONS, *also):
        if name not in but and getattr(args, name) != args.parser.get_default(name):
            option = "--cost" if name == "costs" else f"--{name.replace('_', '-')}"
            raise UsageError(f"{option} is for run files", fix=f"leave out {option} for a results folder")


def say_measuring_command(
    results: ExperimentResult, folder: str, files: Sequence[str], terminal: Terminal, options: Sequence[str] = ()
) -> None:
    """Says which command writes the results in the folder again, measured with the grades in the files."""
    command = measuring_command(results, folder, files, options)
    if command is not None and not terminal.quiet:
        terminal.say("next, the report with these grades (rankings come from the cache):")
        terminal.say(escape_invisible(f"  {command}"))
