"""`rankproof stability`: says whether a decision stands with fewer queries, other judges and a shallower pool."""

from __future__ import annotations

import argparse

from rankproof._cli.flags import add_flags, values_of
from rankproof._cli.inputs import add_analysis_options, read_input, show_tables
from rankproof._cli.options import add_decision_options, decision_options
from rankproof._cli.parser import Command
from rankproof._cli.terminal import Terminal, add_details_option, is_summary_view, show_value_notes

USAGE = "QRELS RUN RUN… | RESULTS… [--primary MEASURE] [--other-qrels FILE] [options]"
EXAMPLES = """\
examples:
  rankproof stability qrels.txt bm25.run dense.run hybrid.run
  rankproof stability results/ --primary RR@10 --margin 0.01
  rankproof stability qrels.txt *.run --other-qrels second-judge.txt
  rankproof stability results/ --flip 0.2 --pools 5,10 --details

A decision stands a check if the chosen system is within the margin of the best in 95% of
the rounds. What each check does: docs/audit.md"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the inputs, the decision and the checks."""
    from rankproof._analysis.options import StabilityOptions
    from rankproof._api.agreement import stability

    add_analysis_options(parser)
    add_decision_options(parser.add_argument_group("decision"))
    group = parser.add_argument_group("checks")
    add_flags(group, StabilityOptions)
    add_flags(group, stability, ["other_qrels"])
    add_details_option(group)


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Makes the decision and checks it."""
    from rankproof._analysis.options import StabilityOptions
    from rankproof._analysis.stability import stability
    from rankproof._api.agreement import read_other_judgements

    options = StabilityOptions(**values_of(args, StabilityOptions))
    inputs = read_input(args, also=[args.primary] if args.primary else [], usual=True)
    args.primary = args.primary or inputs.decision_settings.primary
    others = [read_other_judgements(path) for path in args.other_qrels or ()]
    tables = stability(inputs, others, options, **decision_options(args))
    show_tables(tables[:1] if is_summary_view(args) or args.format == "csv" else tables, args, terminal)
    show_value_notes(inputs.result, terminal)
    return 0


COMMAND = Command(usage=USAGE, examples=EXAMPLES, add_arguments=add_arguments, run=run)
