"""`rankproof report`: writes results as one self-contained HTML page."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from rankproof._cli.command import Command
from rankproof._cli.inputs import check_results_folder
from rankproof._cli.output import check_output, show_value_notes
from rankproof._cli.terminal import STDOUT, Terminal
from rankproof.errors import UsageError, escape_invisible

if TYPE_CHECKING:
    from rankproof._results.experiment_result import ExperimentResult


USAGE = "RESULTS [-o report.html]"
EXAMPLES = """\
examples:
  rankproof report results -o report.html
  rankproof report results            writes results/report.html
  rankproof report results -m shop_measures:first_best

The page needs no network and no server"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the results folder and the output."""
    parser.add_argument("results", metavar="RESULTS", help="a folder that `rankproof run` wrote")
    parser.add_argument("-o", "--output", metavar="FILE", help="the page to write (default: report.html in the folder)")
    parser.add_argument(
        "-m", "--measures", action="append", metavar="MODULE:NAME", help="measures of your own that the results have, repeatable"
    )


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Loads the results and writes the page."""
    from rankproof._results.document import REPORT_FILE
    from rankproof._results.folder import is_results_folder, load_results
    from rankproof.measures._parse import parse_measures

    if not is_results_folder(args.results):
        check_results_folder(args.results)
        raise UsageError(f"{args.results} is not a results folder", fix="specify a folder that `rankproof run` wrote")
    path = os.path.join(args.results, REPORT_FILE) if args.output is None else args.output
    check_output(path, [args.results])
    if path in STDOUT or os.path.isdir(path):
        raise UsageError(f"{path} is not a file", fix="specify a file for the page, such as report.html")
    if args.measures:
        # A measure that is parsed is known by its name when the results are loaded.
        parse_measures(args.measures)
    results = load_results(args.results)
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
