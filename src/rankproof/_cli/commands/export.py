"""`rankproof export`: writes results in other formats, or logs them to MLflow."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from rankproof._cli.flags import add_flags, query_ids
from rankproof._cli.inputs import ONE_INPUT_HELP, add_input_options, are_answer_measures, read_input, reevaluate
from rankproof._cli.parser import Command
from rankproof._cli.terminal import STDOUT, Terminal, add_output_option, check_output, show_value_notes
from rankproof._render.formats import DEFAULT_MLFLOW_URI
from rankproof.errors import UsageError

if TYPE_CHECKING:
    from rankproof._render.formats import ExportFormat
    from rankproof._results.experiment_result import ExperimentResult


USAGE = "RESULTS | QRELS RUN… -o FILE [--format FORMAT] | --to mlflow [options]"
EXAMPLES = """\
examples:
  rankproof export results -o values.csv
  rankproof export results -o values.parquet
  rankproof export results -o table.tex -m nDCG@10,RR@10
  rankproof export results --format markdown
  rankproof export results -o junit.xml
  rankproof export qrels.txt bm25.run dense.run -o table.tex
  rankproof export answers --format claims-csv -o claims.csv
  rankproof export results --to mlflow --experiment search

csv and parquet have one number per row: values and times of each query, means and costs of each
system; run files have no times. latex is a table for a paper, with the letters of `rankproof
compare`. junit has a case for each system and measure, which fails if the system is significantly
worse than the one it builds on, else than the baseline: bm25, else the first. latex, markdown and
junit test nDCG@10, RR@10 and R@100 unless -m names others. mlflow logs a run for each system, by default
to a local file. Extras: parquet, mlflow"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the inputs, the measures and the output."""
    from rankproof._api.output import export

    add_input_options(parser, "content", ONE_INPUT_HELP)
    where = parser.add_argument_group("output")
    add_output_option(where)
    add_flags(where, export, ("format", "to", "tracking_uri", "experiment"))


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Loads the results and writes them."""
    from rankproof._analysis.inputs import MAIN_MEASURES
    from rankproof._io.files import write_blocks

    _check(args)
    format = None if args.to else _format(args)
    if format and format.tests:
        args.measures = args.measures or list(MAIN_MEASURES)
    results = _load_results(args)
    show_value_notes(results.result, terminal)
    if format is None:
        return _log_to_mlflow(results, args, terminal)
    content = format.write(results, terminal.render_options(to_file=True), terminal.note)
    if args.output in STDOUT:
        terminal.show(content.decode())
    else:
        write_blocks(args.output, [content])
    return 0


def _check(args: argparse.Namespace) -> None:
    from rankproof._cli.results import results_folder

    if results_folder(args) is not None and len(args.name) > 1:
        raise UsageError(f"{len(args.name)} names for one results folder", fix="use --name once, or leave it out")
    if are_answer_measures(args.measures):
        what = "-m takes measures of rankings only"
        raise UsageError(what, fix="leave out measures of answers: csv, parquet, json and mlflow have them all")
    if args.to and (args.output or args.format):
        raise UsageError("--to logs to a server and writes no file", fix="leave out -o and --format, or --to")
    if not args.to and (args.tracking_uri or args.experiment):
        raise UsageError("--tracking-uri and --experiment are for MLflow", fix="add --to mlflow")


def _format(args: argparse.Namespace) -> ExportFormat:
    """The format by its name, or by the suffix of the file."""
    from rankproof._render.formats import chosen_export

    name, format = chosen_export(args.format, None if args.output in STDOUT else args.output)
    if format.is_binary and args.output in STDOUT:
        raise UsageError(f"{name} cannot go to standard output", fix="specify a file with -o")
    return format


def _load_results(args: argparse.Namespace) -> ExperimentResult:
    """The results on the chosen queries, evaluated with the options of the command."""
    from dataclasses import replace

    from rankproof._analysis.inputs import input_from_results
    from rankproof._analysis.run_files import results_from_runs
    from rankproof._cli.results import results_folder
    from rankproof._results.experiment_result import subset_results
    from rankproof._results.folder import load_results

    check_output(args.output, [*args.files, args.queries])
    folder = results_folder(args)
    if folder is None:
        return results_from_runs(read_input(args))
    results = load_results(folder)
    if not results.is_judged and results.answers is not None and not args.measures:
        # The values of answers alone: there is no ranking to evaluate again.
        kept = results if args.queries is None else subset_results(results, query_ids(args.queries, args.encoding))
        return replace(kept, name=(args.name or [results.name])[0])
    inputs = input_from_results(results)
    if args.queries is not None:
        queries = query_ids(args.queries, args.encoding)
        results = subset_results(results, queries)
        inputs = replace(inputs, result=replace(inputs.result, queries=tuple(queries)))
    evaluated = reevaluate(inputs, argparse.Namespace(**{**vars(args), "queries": None}))
    return replace(results, name=(args.name or [results.name])[0], result=evaluated.result, rel=evaluated.rel)


def _log_to_mlflow(results: ExperimentResult, args: argparse.Namespace, terminal: Terminal) -> int:
    from rankproof._render.mlflow import log_to_mlflow

    name = args.experiment or results.name
    done = log_to_mlflow(results, uri=args.tracking_uri or DEFAULT_MLFLOW_URI, experiment=name)
    for system in done.written:
        terminal.show(f"{system}\n")
    if done.already_logged:
        terminal.note(f"already logged, left unchanged: {', '.join(done.already_logged)}")
    return 0


COMMAND = Command(usage=USAGE, examples=EXAMPLES, add_arguments=add_arguments, run=run)
