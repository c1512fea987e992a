"""`rankproof audit`: shows how ties, unjudged documents and other tools' conventions change values."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from rankproof._cli.arg_types import positive_int
from rankproof._cli.command import Command
from rankproof._cli.inputs import add_analysis_options, read_input, show_tables
from rankproof._cli.output import add_details_option, is_summary_view, summary_tables
from rankproof._cli.terminal import Terminal

if TYPE_CHECKING:
    from rankproof._analysis.inputs import AnalysisInput
    from rankproof._data.table import Table


USAGE = "FILES… [--tools] [--ties] [--unjudged] [--judge-next N] [options]"
EXAMPLES = """\
examples:
  rankproof audit results
  rankproof audit qrels.txt bm25.run dense.run -m nDCG@10,P@10
  rankproof audit results --tools                       only the conventions of other tools
  rankproof audit results --ties --unjudged             only ties and unjudged documents
  rankproof audit results --judge-next 50 --format csv -o pairs.csv

Without a choice it shows a summary of everything and the 5 pairs to judge next by the first
measure; a choice, --details and the other formats show every row"""
FEW_ROWS = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the inputs and the parts to show."""
    add_analysis_options(parser)
    group = parser.add_argument_group("parts")
    group.add_argument("--tools", action="store_true", help="values and best system by the conventions of other tools")
    group.add_argument("--ties", action="store_true", help="expected, worst and best value over all orders of ties")
    group.add_argument("--unjudged", action="store_true", help="bounds for unjudged documents, and pool bias")
    group.add_argument(
        "--judge-next", type=positive_int, metavar="N", help="the N unjudged pairs that could change the values most"
    )
    add_details_option(group)


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Shows the chosen tables, or all."""
    from rankproof._analysis.audit.tools import DEFAULT_MEASURES

    args.measures = args.measures or list(DEFAULT_MEASURES)
    tables = _tables(args, read_input(args))
    show_tables(summary_tables(tables) if _is_everything(args) and is_summary_view(args) else tables, args, terminal)
    return 0


def _is_everything(args: argparse.Namespace) -> bool:
    return not (args.tools or args.ties or args.unjudged or args.judge_next)


def _tables(args: argparse.Namespace, inputs: AnalysisInput) -> list[Table]:
    from rankproof._analysis.audit.judge_next import has_pair_changes, judge_next
    from rankproof._analysis.audit.pool_bias import audit_pool
    from rankproof._analysis.audit.ties import audit_ties
    from rankproof._analysis.audit.tools import audit_tools
    from rankproof._analysis.audit.unjudged import audit_unjudged, find_unjudged

    everything = _is_everything(args)
    tables = [audit_tools(inputs)] if args.tools or everything else []
    if args.ties or everything:
        tables.append(audit_ties(inputs))
    if args.unjudged or args.judge_next or everything:
        unjudged = find_unjudged(inputs)
        if args.unjudged or everything:
            tables += [audit_unjudged(inputs, unjudged), audit_pool(inputs, unjudged)]
        measures = inputs.result.systems[0].measures
        first = [name for name, one in measures.items() if args.judge_next or has_pair_changes(one.measure)][:1]
        if args.judge_next or everything:
            tables += [judge_next(unjudged, name, args.judge_next or FEW_ROWS) for name in first]
    return tables


COMMAND = Command(usage=USAGE, examples=EXAMPLES, add_arguments=add_arguments, run=run)
