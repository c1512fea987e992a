"""`rankproof save-baseline`: the values of today as the baseline of tomorrow's gate."""

from __future__ import annotations

import argparse

from rankproof._cli.inputs import MAIN_MEASURES, add_input_options, read_input
from rankproof._cli.output import write_or_show
from rankproof._cli.terminal import STDOUT, Terminal
from rankproof.errors import UsageError

USAGE = "RESULTS | QRELS RUN… -o FILE [--system NAME] [-m MEASURES] [options]"
EXAMPLES = """\
examples:
  rankproof save-baseline results -o baseline.json
  rankproof save-baseline results -o baseline.json --system hybrid -m nDCG@10,RR@10
  rankproof save-baseline qrels.txt bm25.run -o baseline.json

without -m: nDCG@10, RR@10 and R@100. Every measure is one more test of the gate, and its p-values
are raised for their number: bless what you care about. Keep the file beside your code"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The files, the measures, what counts, and where to write."""
    group = add_input_options(parser, "what to bless")
    group.add_argument("-o", "--output", metavar="FILE", help="the baseline to write; - is standard output")
    group.add_argument("--system", action="append", default=[], metavar="NAME", help="this system only, repeatable (all)")


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Evaluates and writes."""
    from rankproof._analysis.gate.baseline import baseline_json, make_baseline
    from rankproof._data.text import pluralise
    from rankproof._results.provenance import utc_now
    from rankproof._version import __version__

    if args.output is None:
        raise UsageError("the baseline has no name", fix="say where to write it: -o baseline.json")
    args.measures = args.measures or MAIN_MEASURES
    inputs = read_input(args)
    baseline = make_baseline(inputs, version=__version__, made=utc_now(), systems=args.system)
    write_or_show(baseline_json(baseline), args.output, terminal)
    if args.output in STDOUT:
        return 0
    for system in baseline.systems:
        if system.missing:
            lacks = pluralise(len(system.missing), "judged query", "judged queries")
            terminal.note(f"{system.name} lacks {lacks}, and may go on so")
    systems = ", ".join(system.name for system in baseline.systems)
    queries = pluralise(len(inputs.result.queries), "query", "queries")
    terminal.note(f"{args.output}: blessed {systems} with {', '.join(baseline.measures)} on {queries}")
    return 0
