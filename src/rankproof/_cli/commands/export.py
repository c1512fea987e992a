"""Export."""

from __future__ import annotations

import argparse
import os
from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING

from rankproof._cli.arg_types import query_ids
from rankproof._cli.command import Command
from rankproof._cli.inputs import MAIN_MEASURES, add_input_options, are_answer_measures, check_results_folder, reevaluate
from rankproof._cli.output import check_output, write_or_show
from rankproof._cli.terminal import STDOUT, Terminal
from rankproof.errors import UsageError, for_message

if TYPE_CHECKING:
    from rankproof._evaluation.result import Result
    from rankproof._results.experiment_result import ExperimentResult, SystemRun


def subset_results(results: ExperimentResult, queries: Collection[str]) -> ExperimentResult:
    """Times, counts and the measures of chunks and answers on these queries; `result` is to be evaluated anew by the caller.

    Refused where a system cost money, which is known for all its queries together.
    """
    chosen = set(queries)
    paid = next((system_run.name for system_run in results.system_runs if system_run.money), None)
    if paid is not None:
        raise UsageError(f"what {for_message(paid)} cost is known for all queries together", fix="leave out --queries")
    return replace(
        results,
        queries=tuple(query for query in results.queries if query in chosen),
        system_runs=tuple(
            _subset_system(system_run, [query in chosen for query in results.queries]) for system_run in results.system_runs
        ),
        chunks=_subset_part(results.chunks, chosen),
        answers=_subset_part(results.answers, chosen),
    )


def _subset_system(system_run: SystemRun, kept: list[bool]) -> SystemRun:
    return replace(
        system_run,
        times={part: values[kept] for part, values in system_run.times.items()},
        counts={name: values[kept] for name, values in system_run.counts.items()},
    )


def _subset_part(result: Result | None, chosen: set[str]) -> Result | None:
    """None where nothing is known of any of the queries."""
    from rankproof._cli.inputs import subset_result

    return None if result is None or chosen.isdisjoint(result.queries) else subset_result(result, chosen)


USAGE = "RESULTS -o FILE [--format FORMAT] | RESULTS --to mlflow [options]"
EXAMPLES = """\
examples:
  rankproof export results -o values.csv
  rankproof export results -o values.parquet
  rankproof export results -o table.tex -m nDCG@10,RR@10
  rankproof export results --format markdown
  rankproof export results -o junit.xml
  rankproof export results --to mlflow --experiment search

csv and parquet hold every number a row: each query's values and times, each system's means and
costs. latex is a table for a paper, its raised letters by `rankproof compare`; junit has a case for
each system and measure, failed where it is significantly worse than the system below. latex,
markdown and junit test nDCG@10, RR@10 and R@100 unless -m says otherwise. mlflow gets a run for
each system; nothing leaves the machine unless the address says so. Extras: parquet, mlflow"""
SUFFIXES = {
    ".csv": "csv",
    ".json": "json",
    ".md": "markdown",
    ".markdown": "markdown",
    ".tex": "latex",
    ".xml": "junit",
    ".parquet": "parquet",
}
FORMATS = tuple(dict.fromkeys(SUFFIXES.values()))
DEFAULT_MLFLOW_URI = "sqlite:///mlruns.db"
_COMPARED_FORMATS = ("latex", "markdown", "junit")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The folder, the measures, and where it goes."""
    add_input_options(parser, "what to write")
    where = parser.add_argument_group("where to")
    where.add_argument("-o", "--output", metavar="FILE", help="write there instead of to standard output")
    where.add_argument("--format", choices=FORMATS, help="where the file's suffix does not say it (csv)")
    where.add_argument("--to", choices=("mlflow",), help="a tracking store, instead of a file")
    where.add_argument("--tracking-uri", metavar="URI", help=f"of MLflow ({DEFAULT_MLFLOW_URI})")
    where.add_argument("--experiment", metavar="NAME", help="of MLflow (the results' name)")


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Reads, renders, writes."""
    _check(args)
    format = _format(args)
    if format in _COMPARED_FORMATS:
        args.measures = args.measures or MAIN_MEASURES
    results = _load_results(args)
    if args.to:
        return _log_to_mlflow(results, args, terminal)
    if format == "parquet":
        from rankproof._io.files import write_blocks
        from rankproof._render.paper import as_parquet

        write_blocks(args.output, [as_parquet(results)])
        return 0
    from rankproof._render.registry import WRITERS

    text = WRITERS[format](results, terminal.render_options(to_file=True), terminal.note)
    write_or_show(text, args.output, terminal)
    return 0


def _check(args: argparse.Namespace) -> None:
    from rankproof._results.folder import is_results_folder

    if len(args.files) == 1 and not is_results_folder(args.files[0]):
        check_results_folder(args.files[0])
    if len(args.files) != 1 or not is_results_folder(args.files[0]):
        raise UsageError("export takes one results folder", fix="name a folder that `rankproof run` wrote")
    if len(args.name) > 1:
        raise UsageError(f"{len(args.name)} names for one results folder", fix="give it one, or none")
    if are_answer_measures(args.measures):
        what = "-m chooses measures of rankings"
        raise UsageError(what, fix="leave those of answers out: csv, parquet, json and mlflow have them all")
    if args.to and (args.output or args.format):
        raise UsageError("a tracking store is no file", fix="leave out -o and --format, or --to")
    if not args.to and (args.tracking_uri or args.experiment):
        raise UsageError("--tracking-uri and --experiment are MLflow's", fix="add --to mlflow")


def _format(args: argparse.Namespace) -> str:
    suffix = "" if args.output in STDOUT else os.path.splitext(args.output.removesuffix(".gz").removesuffix(".zst"))[1].lower()
    format = str(args.format or SUFFIXES.get(suffix) or ("csv" if args.output in STDOUT or args.to else ""))
    if not format:
        raise UsageError(f"{args.output} does not say its format", fix=f"choose with --format: {', '.join(FORMATS)}")
    if format == "parquet" and args.output in STDOUT:
        raise UsageError("a Parquet file is not for a terminal", fix="name a file with -o")
    return format


def _load_results(args: argparse.Namespace) -> ExperimentResult:
    """The results on the queries asked for, evaluated anew by the measures and what counts."""
    from dataclasses import replace

    from rankproof._analysis.inputs import input_from_results
    from rankproof._results.folder import load_results

    check_output(args.output, [*args.files, args.queries])
    results = load_results(args.files[0])
    inputs = input_from_results(results)
    if args.queries is not None:
        queries = query_ids(args.queries, args.encoding)
        results = subset_results(results, queries)
        inputs = replace(inputs, result=replace(inputs.result, queries=tuple(queries)))
    anew = reevaluate(inputs, argparse.Namespace(**{**vars(args), "queries": None}))
    return replace(results, name=(args.name or [results.name])[0], result=anew.result, rel=anew.rel)


def _log_to_mlflow(results: ExperimentResult, args: argparse.Namespace, terminal: Terminal) -> int:
    from rankproof._render.mlflow import log_to_mlflow

    name = args.experiment or results.name
    done = log_to_mlflow(results, uri=args.tracking_uri or DEFAULT_MLFLOW_URI, experiment=name)
    for system in done.written:
        terminal.show(f"{system}\n")
    if done.already_logged:
        terminal.note(f"already there, and left alone: {', '.join(done.already_logged)}")
    return 0


COMMAND = Command(usage=USAGE, examples=EXAMPLES, add_arguments=add_arguments, run=run)
