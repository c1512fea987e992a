"""`rankproof compare`: tests which differences between systems are significant."""

from __future__ import annotations

import argparse

from rankproof._cli.arg_types import any_float, positive_int
from rankproof._cli.command import Command
from rankproof._cli.inputs import MAIN_MEASURES, add_analysis_options, read_input, show_tables
from rankproof._cli.options import add_correction_option, add_sampling_options
from rankproof._cli.output import note_machine_judgements
from rankproof._cli.terminal import Terminal

USAGE = "QRELS RUN RUN… | RESULTS… [--baseline NAME] [-m MEASURES] [options]"
EXAMPLES = """\
examples:
  rankproof compare qrels.txt bm25.run dense.run hybrid.run
  rankproof compare results/ --baseline bm25 -m nDCG@10
  rankproof compare old-results/ new-results/ --equivalence 0.01
  rankproof compare qrels.txt a.run b.run --test t --correction bh --alpha 0.01
  rankproof compare results/ --format latex -o table.tex
  rankproof compare results/ --format csv -o every-number.csv

Without -m: nDCG@10, RR@10 and R@100. Each measure and pair is a test, and each additional test
lowers the power of all: select the measures you need, and a baseline if you have one.
csv has only the table of all numbers; json has every table"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the inputs and the statistics."""
    add_analysis_options(parser)
    group = parser.add_argument_group("statistics")
    group.add_argument("--baseline", metavar="NAME", help="compare each system with this one, not every pair")
    group.add_argument(
        "--test", choices=("randomisation", "t"), default="randomisation", help="the test (default: randomisation)"
    )
    add_correction_option(group)
    group.add_argument(
        "--interval",
        choices=("t", "bca", "percentile"),
        default="t",
        help="Student's t, or bootstrap: bca, percentile (default: t)",
    )
    group.add_argument(
        "--equivalence", type=any_float, metavar="D", help="also test for equivalence within this difference, such as 0.01"
    )
    add_sampling_options(group, samples=100_000, of="sign flips")
    group.add_argument("--resamples", type=positive_int, default=10_000, metavar="N", help="bootstrap resamples (default: 10000)")
    group.add_argument("--details", action="store_true", help="also show the table of all numbers")


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Evaluates and compares the systems."""
    from rankproof._analysis.compare.compare import compare

    args.measures = args.measures or MAIN_MEASURES
    result = read_input(args).result
    tables = compare(
        result,
        baseline=args.baseline,
        test=args.test,
        correction=args.correction,
        interval=args.interval,
        alpha=args.alpha,
        equivalence=args.equivalence,
        samples=args.samples,
        resamples=args.resamples,
        seed=args.seed,
    )
    show_tables([table for table in tables if _is_wanted(table.name, args)], args, terminal)
    note_machine_judgements(result, terminal)
    return 0


def _is_wanted(table: str, args: argparse.Namespace) -> bool:
    if args.format == "csv":
        return table == "details"
    return table != "details" or args.details or args.format == "json"


COMMAND = Command(usage=USAGE, examples=EXAMPLES, add_arguments=add_arguments, run=run)
