"""`rankproof segments`: the kinds of queries on which a system is weak, and whether that is more than chance."""

from __future__ import annotations

import argparse

from ..errors import UsageError
from .evidence import add_inputs, evidence_of, show_tables
from .output import check_output
from .segments_file import add_by, groupings
from .terminal import Terminal
from .values import at_least_one, whole

USAGE = "FOLDER… | QRELS RUN… [--by FIELD] [-m MEASURES] [options]"
EXAMPLES = """\
examples:
  rankproof segments results --by category --by length
  rankproof segments results --by complexity -m nDCG@10,Success@5
  rankproof segments qrels.txt bm25.run dense.run --by relevant
  rankproof segments qrels.txt bm25.run --by-file segments.csv --format markdown

length: short is under 8 words, medium 8 to 15, long over 15; queries without a value of the field
are a segment of their own; a segment of fewer than 10 queries is shown and not tested"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to look at, what a segment is, and how it is tested."""
    add_inputs(parser)
    add_by(parser.add_argument_group("what a segment is"))
    how = parser.add_argument_group("how it is tested")
    how.add_argument("--alpha", type=float, default=0.05, metavar="A", help="the rate of false alarms that is allowed (0.05)")
    how.add_argument("--correction", choices=("holm", "bonferroni", "bh", "none"), default="holm", help="for many tests (holm)")
    how.add_argument("--samples", type=at_least_one, default=10_000, metavar="N", help="deals of the labels (10000)")
    how.add_argument("--seed", type=whole, default=0, metavar="N", help="of deals and resamples (0)")


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Groups, tests, shows."""
    from ..analysis.segments import segments
    from ..analysis.segments_rows import Settings

    check_output(args.output, args.files)
    if not 0 < args.alpha < 0.5:
        raise UsageError(f"alpha is {args.alpha:g}", fix="choose a number between 0 and 0.5, such as 0.05")
    evidence = evidence_of(args)
    measures = list(evidence.result.systems[0].measures)
    settings = Settings(correction=args.correction, alpha=args.alpha, samples=args.samples, seed=args.seed)
    tables = [
        table
        for grouping in groupings(evidence, args)
        for measure in (measures if args.measures else measures[:1])
        for table in segments(evidence, grouping, measure, settings)
    ]
    show_tables(tables, args, terminal)
    return 0
