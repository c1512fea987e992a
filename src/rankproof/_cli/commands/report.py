"""`rankproof report`: one page that opens anywhere, from a results folder."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from rankproof._cli.command import Command
from rankproof._cli.output import check_output
from rankproof._cli.terminal import STDOUT, Terminal
from rankproof.errors import UsageError, escape_invisible

if TYPE_CHECKING:
    from rankproof._results.experiment_result import ExperimentResult


USAGE = "RESULTS [-o report.html]"
EXAMPLES = """\
examples:
  rankproof report rankproof-results/ladder -o report.html
  rankproof report rankproof-results/ladder            writes report.html into the folder

the page needs no network and no server: open it, or mail it"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which results, and where the page goes."""
    parser.add_argument("results", metavar="RESULTS", help="a folder that `rankproof run` wrote")
    parser.add_argument("-o", "--output", metavar="FILE", help="where the page goes (report.html in the folder)")


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Loads, renders, writes."""
    from rankproof._results.document import REPORT_FILE
    from rankproof._results.folder import is_results_folder, load_results

    if not is_results_folder(args.results):
        raise UsageError(f"{args.results} is no results folder", fix="name a folder that `rankproof run` wrote")
    goal = os.path.join(args.results, REPORT_FILE) if args.output is None else args.output
    check_output(goal, [args.results])
    if goal in STDOUT or os.path.isdir(goal):
        raise UsageError(f"{goal} is no file", fix="name a file for the page, such as report.html")
    write_report_page(load_results(args.results), goal)
    if not terminal.quiet:
        terminal.say(f"open {escape_invisible(goal)} in a browser: it holds everything and loads nothing")
    return 0


def write_report_page(results: ExperimentResult, goal: str) -> None:
    """The page as a file, written whole or not at all."""
    from rankproof._io.files import write_blocks
    from rankproof._report.page import render_report

    write_blocks(goal, [render_report(results).encode(errors="backslashreplace")])


COMMAND = Command(usage=USAGE, examples=EXAMPLES, add_arguments=add_arguments, run=run)
