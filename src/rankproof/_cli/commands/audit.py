"""`rankproof audit`: shows how ties, unjudged documents and other tools' conventions change values."""

from __future__ import annotations

import argparse

from rankproof._cli.flags import add_flags
from rankproof._cli.inputs import add_analysis_options, read_input, show_tables
from rankproof._cli.parser import Command
from rankproof._cli.terminal import Terminal, add_details_option, is_summary_view, show_value_notes, summary_tables

USAGE = "RESULTS… | QRELS RUN… [--tools] [--ties] [--unjudged] [--judge-next N] [options]"
EXAMPLES = """\
examples:
  rankproof audit results
  rankproof audit qrels.txt bm25.run dense.run -m nDCG@10,P@10
  rankproof audit results --tools                       only the conventions of other tools
  rankproof audit results --ties --unjudged             only ties and unjudged documents
  rankproof audit results --judge-next 50 --format csv -o pairs.csv

Without a choice it shows a summary of everything and the 5 pairs to judge next by the first
measure; a choice, --details and the other formats show every row"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the inputs and the parts to show."""
    from rankproof._api.analyses import audit

    add_analysis_options(parser)
    group = parser.add_argument_group("parts")
    add_flags(group, audit, ("tools", "ties", "unjudged", "judge_next"))
    add_details_option(group)


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Shows the chosen tables, or all."""
    from rankproof._analysis.audit.tools import DEFAULT_MEASURES
    from rankproof._api.analyses import audit_tables

    args.measures = args.measures or list(DEFAULT_MEASURES)
    inputs = read_input(args)
    tables = audit_tables(inputs, tools=args.tools, ties=args.ties, unjudged=args.unjudged, pairs=args.judge_next)
    show_tables(summary_tables(tables) if _is_everything(args) and is_summary_view(args) else tables, args, terminal)
    # The table of unjudged documents has bounds over the documents of all systems, the note those of each alone.
    show_value_notes(inputs.result, terminal, bounds=not (args.unjudged or _is_everything(args)))
    return 0


def _is_everything(args: argparse.Namespace) -> bool:
    return not (args.tools or args.ties or args.unjudged or args.judge_next)


COMMAND = Command(usage=USAGE, examples=EXAMPLES, add_arguments=add_arguments, run=run)
