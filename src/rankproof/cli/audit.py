"""`rankproof audit`: what other tools would say of the same runs, and what ties and holes could change."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from .evidence import add_inputs, evidence_of, show_tables
from .first_screen import add_details, first_screen, is_first
from .terminal import Terminal
from .values import at_least_one

if TYPE_CHECKING:
    from ..analysis.evidence import Evidence
    from ..analysis.table import Table

USAGE = "FILES… [--tools] [--ties] [--holes] [--judge-next N] [options]"
EXAMPLES = """\
examples:
  rankproof audit results
  rankproof audit qrels.txt bm25.run dense.run -m nDCG@10,P@10
  rankproof audit results --tools                       other tools' conventions alone
  rankproof audit results --ties --holes                what ties and holes could change
  rankproof audit results --judge-next 50 --format csv -o pairs.csv
                                                        the pairs to judge next, as a file

without a choice it shows the verdicts on everything, the rows that matter most, and the 5 pairs
to judge next by the first mean; a choice, --details and the other formats have every row"""
FEW = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The files, and what to look at."""
    add_inputs(parser)
    group = parser.add_argument_group("what to look at")
    group.add_argument("--tools", action="store_true", help="the values by other tools' conventions, and the winner")
    group.add_argument("--ties", action="store_true", help="expected, worst and best value over the orders of ties")
    group.add_argument("--holes", action="store_true", help="bounds if unjudged documents were relevant, and pool bias")
    group.add_argument("--judge-next", type=at_least_one, metavar="N", help="the N unjudged pairs that could change most")
    add_details(group)


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Shows the tables asked for, or all."""
    from ..analysis.audit.words import DEFAULT

    args.measures = args.measures or list(DEFAULT)
    tables = _tables(args, evidence_of(args))
    show_tables(first_screen(tables) if _is_everything(args) and is_first(args) else tables, args, terminal)
    return 0


def _is_everything(args: argparse.Namespace) -> bool:
    return not (args.tools or args.ties or args.holes or args.judge_next)


def _tables(args: argparse.Namespace, evidence: Evidence) -> list[Table]:
    from ..analysis.audit.tools import audit_tools
    from ..analysis.holes.next import can_be_served, judge_next
    from ..analysis.holes.pool import audit_pool
    from ..analysis.holes.table import audit_holes
    from ..analysis.holes.unjudged import holes_of
    from ..analysis.ties.table import audit_ties

    everything = _is_everything(args)
    tables = [audit_tools(evidence)] if args.tools or everything else []
    if args.ties or everything:
        tables.append(audit_ties(evidence))
    if args.holes or args.judge_next or everything:
        holes = holes_of(evidence)
        if args.holes or everything:
            tables += [audit_holes(evidence, holes), audit_pool(evidence, holes)]
        measures = evidence.result.systems[0].measures
        first = [name for name, one in measures.items() if args.judge_next or can_be_served(one.measure)][:1]
        if args.judge_next or everything:
            tables += [judge_next(holes, name, args.judge_next or FEW) for name in first]
    return tables
