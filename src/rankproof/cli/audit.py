"""`rankproof audit`: what other tools would say of the same runs, and what ties and holes could change."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..errors import visible
from .evidence import add_inputs, evidence_of, show_tables
from .terminal import STDOUT, Terminal
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
  rankproof audit results --judge-next 50 -o pairs.tsv  the pairs to judge next, as a file

without a choice it shows everything, and the 5 pairs to judge next by the first measure"""
FEW = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The files, and what to look at."""
    add_inputs(parser)
    group = parser.add_argument_group("what to look at")
    group.add_argument("--tools", action="store_true", help="the values by other tools' conventions, and the winner")
    group.add_argument("--ties", action="store_true", help="expected, worst and best value over the orders of ties")
    group.add_argument("--holes", action="store_true", help="bounds if unjudged documents were relevant, and pool bias")
    group.add_argument("--judge-next", type=at_least_one, metavar="N", help="the N unjudged pairs that could change most")


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Shows the tables asked for, or all."""
    from ..analysis.audit import DEFAULT

    args.measures = args.measures or list(DEFAULT)
    evidence = evidence_of(args)
    tables = _tables(args, evidence)
    if args.output not in STDOUT and str(args.output).endswith(".tsv") and args.judge_next:
        _write_pairs(args.output, tables[-1])
        show_tables(tables[:-1], argparse.Namespace(**{**vars(args), "output": None}), terminal)
    else:
        show_tables(tables, args, terminal)
    return 0


def _tables(args: argparse.Namespace, evidence: Evidence) -> list[Table]:
    from ..analysis.audit import audit_tools
    from ..analysis.holes import audit_holes
    from ..analysis.holes_next import judge_next
    from ..analysis.holes_pool import audit_pool
    from ..analysis.holes_view import holes_of
    from ..analysis.ties import audit_ties

    everything = not (args.tools or args.ties or args.holes or args.judge_next)
    tables = [audit_tools(evidence)] if args.tools or everything else []
    if args.ties or everything:
        tables.append(audit_ties(evidence))
    if args.holes or args.judge_next or everything:
        holes = holes_of(evidence)
        if args.holes or everything:
            tables += [audit_holes(evidence, holes), audit_pool(evidence, holes)]
        if args.judge_next or everything:
            tables.append(judge_next(holes, next(iter(evidence.result.systems[0].measures)), args.judge_next or FEW))
    return tables


def _write_pairs(path: str, table: Table) -> None:
    """The pairs as tab-separated lines under a header; a tab or line end within an id is written as an escape."""
    from ..formats.atomic import write_blocks

    lines: list[Sequence[object]] = [[column.name for column in table.columns], *table.rows]
    text = "".join("\t".join(visible(str(cell)) for cell in line) + "\n" for line in lines)
    write_blocks(path, [text.encode(errors="backslashreplace")])
