"""`rankproof fuse`: several runs joined into one."""

from __future__ import annotations

import argparse

from .terminal import STDOUT, Terminal
from .values import add_on_duplicate, first_few, numbers, one_character

USAGE = "RUN RUN… [--method M] [-o FILE] [options]"
EXAMPLES = """\
examples:
  rankproof fuse bm25.run dense.run > both.run
  rankproof fuse bm25.run dense.run --depth 100 --tag hybrid -o both.run.gz
  rankproof fuse bm25.run dense.run --method combsum --norm z-score --weights 1,2 -o both.csv

rrf adds 1 / (k + rank); combsum adds normalised scores, combmnz multiplies that by the number
of runs that found the document"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The runs, how they are joined, and where the result goes."""
    parser.add_argument("runs", nargs="+", metavar="RUN", help="the run files; - is standard input")
    how = parser.add_argument_group("how to join")
    how.add_argument("--method", choices=("rrf", "combsum", "combmnz"), default="rrf", help="the way of fusion (rrf)")
    how.add_argument("--norm", choices=("min-max", "z-score", "none"), default="min-max", help="of scores, per query (min-max)")
    how.add_argument("--k", type=float, default=60, metavar="N", help="the constant of rrf (60)")
    how.add_argument("--weights", type=numbers, metavar="W,W…", help="one number for each run (all 1)")
    how.add_argument("--depth", type=int, metavar="N", help="keep the first N documents of each fused ranking")
    out = parser.add_argument_group("what to write")
    out.add_argument("--tag", metavar="NAME", help="the fused run's tag (the method)")
    out.add_argument("-o", "--output", metavar="FILE", help="write there instead of to standard output; .gz and .zst compress")
    out.add_argument("--format", metavar="FORMAT", help="the output's format (by the file's suffix, else trec)")
    reading = parser.add_argument_group("how files are read")
    reading.add_argument("--run-format", metavar="FORMAT", help="the runs' format, where the content does not tell")
    reading.add_argument("--delimiter", type=one_character, metavar="D", help="what separates columns; tab or \\t for a tab")
    reading.add_argument("--encoding", default="utf-8", metavar="E", help="the files' encoding (utf-8)")
    add_on_duplicate(reading)


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Reads, fuses and writes."""
    from ..data.reading import Reading
    from ..formats import read_run, run_blocks, write_run
    from ..fusion import fuse, partial_queries

    reading = Reading(on_duplicate=args.on_duplicate)
    known = {"format": args.run_format, "delimiter": args.delimiter, "encoding": args.encoding}
    runs = [read_run(path, reading=reading, **known) for path in args.runs]
    weights, name = args.weights, args.tag
    fused = fuse(runs, args.method, k=args.k, weights=weights, norm=args.norm, depth=args.depth, name=name)
    if args.output in STDOUT:
        terminal.show_bytes(run_blocks(fused, args.format or "trec"))
    else:
        write_run(fused, args.output, args.format)
    if partial := partial_queries(runs):
        terminal.note(f"not every run has every query; fused from the runs that have it: {first_few(partial)}")
    return 0
