"""`rankproof report`: writes results or run files as one self-contained HTML page."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from rankproof._cli.command import Command
from rankproof._cli.inputs import ONE_INPUT_HELP, add_dataset_options, add_input_options, dataset_of_runs
from rankproof._cli.options import add_decision_options, decision_options
from rankproof._cli.output import check_output, show_value_notes
from rankproof._cli.terminal import STDOUT, Terminal
from rankproof.errors import UsageError, escape_invisible

if TYPE_CHECKING:
    from rankproof._results.experiment_result import ExperimentResult


USAGE = "RESULTS | QRELS RUN… [-o report.html] [options]"
EXAMPLES = """\
examples:
  rankproof report results -o report.html
  rankproof report results            writes results/report.html
  rankproof report results -m shop_measures:first_best
  rankproof report qrels.txt prod.run new.run -o report.html
  rankproof report qrels.txt prod.run new.run --dataset data/shop --cost prod=1 --cost new=4

The page needs no network and no server. Run files have no latency: --cost says what a system
costs. --dataset adds the texts of queries and documents"""
_FILE = "report.html"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the inputs, the decision and the output."""
    group = add_input_options(parser, "content", ONE_INPUT_HELP)
    add_dataset_options(group)
    add_decision_options(parser.add_argument_group("decision"))
    parser.add_argument(
        "-o", "--output", metavar="FILE", help=f"the page to write (default: {_FILE}, of a results folder in the folder)"
    )


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Reads the results and writes the page."""
    from rankproof._cli.results import read_results, results_folder

    folder = results_folder(args)
    path = os.path.join(folder or "", _FILE) if args.output is None else args.output
    check_output(path, [*args.files, args.dataset])
    if path in STDOUT or os.path.isdir(path):
        raise UsageError(f"{path} is not a file", fix="specify a file for the page, such as report.html")
    results = read_results(args, dataset_of_runs(args), **decision_options(args))
    write_report_page(results, path)
    show_value_notes(results.result, terminal)
    if not terminal.quiet:
        terminal.say(f"report: {escape_invisible(path)}; open it in a browser")
    return 0


def write_report_page(results: ExperimentResult, path: str) -> None:
    """Writes the page to a file, atomically."""
    from rankproof._io.files import write_blocks
    from rankproof._report.page import render_report

    write_blocks(path, [render_report(results).encode(errors="backslashreplace")])


COMMAND = Command(usage=USAGE, examples=EXAMPLES, add_arguments=add_arguments, run=run)
