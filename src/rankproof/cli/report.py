"""`rankproof report`: one page that opens anywhere, from a results folder."""

from __future__ import annotations

import argparse

from ..errors import UsageError
from .output import check_output
from .terminal import Terminal

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
    import os

    from ..experiment.results.folder import is_results_folder, load
    from ..formats.atomic import write_blocks
    from ..report import page_of

    if not is_results_folder(args.results):
        raise UsageError(f"{args.results} is no results folder", fix="name a folder that `rankproof run` wrote")
    goal = args.output or os.path.join(args.results, "report.html")
    check_output(goal, [args.results])
    write_blocks(goal, [page_of(load(args.results)).encode(errors="backslashreplace")])
    terminal.say(f"the report is {goal}")
    return 0
