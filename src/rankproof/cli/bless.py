"""`rankproof bless`: the values of today as the baseline of tomorrow's gate."""

from __future__ import annotations

import argparse

from ..errors import UsageError
from .evidence import WHAT, evidence_of
from .output import check_output
from .terminal import STDOUT, Terminal

USAGE = "RESULTS | QRELS RUN… -o FILE [--system NAME] [-m MEASURES] [options]"
MEASURES = ["nDCG@10,RR@10,R@100"]
EXAMPLES = """\
examples:
  rankproof bless results -o baseline.json
  rankproof bless results -o baseline.json --system hybrid -m nDCG@10,RR@10
  rankproof bless qrels.txt bm25.run -o baseline.json

without -m: nDCG@10, RR@10 and R@100. Every measure is one more test of the gate, and its p-values
are raised for their number: bless what you care about. Keep the file beside your code"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The files, the measures, what counts, and where to write."""
    from .eval_options import add_meaning, add_reading

    parser.set_defaults(parser=parser)
    parser.add_argument("files", nargs="*", metavar="FILE", help=WHAT)
    group = parser.add_argument_group("what to bless")
    group.add_argument("-o", "--output", metavar="FILE", help="the baseline to write; - is standard output")
    group.add_argument("--system", action="append", default=[], metavar="NAME", help="this system only, repeatable (all)")
    group.add_argument(
        "-m", "--measures", action="append", metavar="MEASURES", help="comma separated, repeatable: nDCG@10,RR,P@5"
    )
    group.add_argument("--name", action="append", default=[], metavar="NAME", help="a system's name, once for each run")
    add_meaning(parser.add_argument_group("what counts"))
    add_reading(parser.add_argument_group("how files are read"))
    parser.set_defaults(rel=None)


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Evaluates and writes."""
    from .. import __version__
    from ..analysis.gate_baseline import bless
    from ..analysis.gate_file import written
    from ..experiment.provenance import now
    from ..formats.atomic import write_blocks

    if args.output is None:
        raise UsageError("the baseline has no name", fix="say where to write it: -o baseline.json")
    check_output(args.output, args.files)
    args.measures = args.measures or MEASURES
    evidence = evidence_of(args)
    baseline = bless(evidence, version=__version__, made=now(), systems=args.system)
    if args.output in STDOUT:
        terminal.show(written(baseline))
        return 0
    write_blocks(args.output, [written(baseline).encode()])
    for system in baseline.systems:
        if system.missing:
            terminal.note(f"{system.name} lacks {len(system.missing):,} judged queries, and may go on lacking them")
    systems, queries = ", ".join(system.name for system in baseline.systems), len(evidence.result.queries)
    terminal.note(f"{args.output}: blessed {systems} with {', '.join(baseline.measures)} on {queries:,} queries")
    return 0
