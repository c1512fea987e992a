"""`rankproof bless`: the values of today as the baseline of tomorrow's gate."""

from __future__ import annotations

import argparse

from ..errors import UsageError
from .evidence import MAIN, add_evidence, evidence_of
from .output import write_or_show
from .terminal import STDOUT, Terminal

USAGE = "RESULTS | QRELS RUN… -o FILE [--system NAME] [-m MEASURES] [options]"
EXAMPLES = """\
examples:
  rankproof bless results -o baseline.json
  rankproof bless results -o baseline.json --system hybrid -m nDCG@10,RR@10
  rankproof bless qrels.txt bm25.run -o baseline.json

without -m: nDCG@10, RR@10 and R@100. Every measure is one more test of the gate, and its p-values
are raised for their number: bless what you care about. Keep the file beside your code"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The files, the measures, what counts, and where to write."""
    group = add_evidence(parser, "what to bless")
    group.add_argument("-o", "--output", metavar="FILE", help="the baseline to write; - is standard output")
    group.add_argument("--system", action="append", default=[], metavar="NAME", help="this system only, repeatable (all)")


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Evaluates and writes."""
    from .. import __version__
    from ..analysis.gate.baseline import bless
    from ..analysis.gate.baseline_json import written
    from ..analysis.wording import counted
    from ..experiment.provenance import now

    if args.output is None:
        raise UsageError("the baseline has no name", fix="say where to write it: -o baseline.json")
    args.measures = args.measures or MAIN
    evidence = evidence_of(args)
    baseline = bless(evidence, version=__version__, made=now(), systems=args.system)
    write_or_show(written(baseline), args.output, terminal)
    if args.output in STDOUT:
        return 0
    for system in baseline.systems:
        if system.missing:
            lacks = counted(len(system.missing), "judged query", "judged queries")
            terminal.note(f"{system.name} lacks {lacks}, and may go on so")
    systems = ", ".join(system.name for system in baseline.systems)
    queries = counted(len(evidence.result.queries), "query", "queries")
    terminal.note(f"{args.output}: blessed {systems} with {', '.join(baseline.measures)} on {queries}")
    return 0
