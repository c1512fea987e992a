"""`rankproof segments`: the kinds of queries on which a system is weak, and whether that is more than chance."""

from __future__ import annotations

import argparse

from .evidence import add_inputs, evidence_of, show_tables
from .sampling import add_correction, add_sampling
from .segments_file import add_by, groupings
from .terminal import Terminal

USAGE = "FOLDER… | QRELS RUN… [--by FIELD] [-m MEASURES] [options]"
EXAMPLES = """\
examples:
  rankproof segments results --by category --by length
  rankproof segments results --by complexity -m nDCG@10,Success@5
  rankproof segments qrels.txt bm25.run dense.run --by relevant
  rankproof segments qrels.txt bm25.run --by-file segments.csv --format markdown

length: short is under 8 words, medium 8 to 15, long over 15; queries without a value of the field
are a segment of their own; a segment of fewer than 10 queries is shown and not tested;
csv is one table, with a row for each segment of each system"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to look at, what a segment is, and how it is tested."""
    add_inputs(parser)
    add_by(parser.add_argument_group("what a segment is"))
    how = parser.add_argument_group("how it is tested")
    add_correction(how)
    add_sampling(how, samples=10_000, of="deals of the labels")


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Groups, tests, shows."""
    from ..analysis.segments.flat import flat
    from ..analysis.segments.rows import SegmentSettings
    from ..analysis.segments.segments import segments

    settings = SegmentSettings(correction=args.correction, alpha=args.alpha, samples=args.samples, seed=args.seed)
    evidence = evidence_of(args)
    measures = list(evidence.result.systems[0].measures)
    tables = [
        table
        for grouping in groupings(evidence, args)
        for measure in (measures if args.measures else measures[:1])
        for table in segments(evidence, grouping, measure, settings)
    ]
    if args.format == "csv":
        tables = [flat(tables)]
    elif args.format != "json":
        tables = [table.without("system") if "system" in table.facts else table for table in tables]
    show_tables(tables, args, terminal)
    return 0
