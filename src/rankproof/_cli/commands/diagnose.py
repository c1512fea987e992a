"""`rankproof diagnose`: what is wrong with each system, stage and segment, and which queries fail."""

from __future__ import annotations

import argparse

from rankproof._cli.arg_types import nonnegative_int, positive_int
from rankproof._cli.command import Command
from rankproof._cli.inputs import add_analysis_options, read_input, show_tables
from rankproof._cli.options import add_corpus_size_option, add_segment_options, requested_groupings, set_corpus_size
from rankproof._cli.output import add_details_option, is_summary_view, summary_tables
from rankproof._cli.terminal import Terminal

USAGE = "FOLDER… | QRELS RUN… [--by FIELD] [--system NAME] [options]"
EXAMPLES = """\
examples:
  rankproof diagnose results
  rankproof diagnose results --by complexity --system bm25 --failed 20
  rankproof diagnose qrels.txt bm25.run --documents 200000
  rankproof diagnose results --format json > diagnosis.json

verdicts come first, with the rows that matter most; --by, --details and the other formats have
segments; the last two also have every row and column;
the rules, their thresholds and sources are in docs/diagnosis.md; stages are told of for results
folders, which know how the systems rest on each other"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to look at, and how closely."""
    add_analysis_options(parser)
    add_segment_options(parser.add_argument_group("what a segment is"))
    group = parser.add_argument_group("how closely to look")
    group.add_argument("--system", metavar="NAME", help="whose failed queries are listed (the best system's)")
    group.add_argument(
        "--failed", type=nonnegative_int, metavar="N", help="list so many failed queries (5, or 10 with --details)"
    )
    group.add_argument(
        "--top", type=positive_int, default=10, metavar="K", help="failed is a query with nothing relevant in the first K (10)"
    )
    group.add_argument("--rules", action="store_true", help="show the rules and for whom each fired, as JSON and CSV do")
    add_details_option(group)
    add_corpus_size_option(group)


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Looks and tells."""
    from rankproof._analysis.diagnose.diagnose import FEW_SHOWN, SHOWN, diagnose
    from rankproof._analysis.inputs import checked_system

    inputs = set_corpus_size(read_input(args), args.documents)
    system = None if args.system is None else checked_system(inputs, args.system)
    first, rules = is_summary_view(args), args.rules or args.format in ("json", "csv")
    groups = [] if first and not (args.by or args.by_file) else list(requested_groupings(inputs, args))
    most = args.failed if args.failed is not None else FEW_SHOWN if first else SHOWN
    tables = diagnose(inputs, groups, system=system, cutoff=args.top, most=most, rules=rules)
    show_tables(summary_tables(tables) if first else tables, args, terminal)
    return 0


COMMAND = Command(usage=USAGE, examples=EXAMPLES, add_arguments=add_arguments, run=run)
