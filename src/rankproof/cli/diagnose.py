"""`rankproof diagnose`: what is wrong with each system, stage and segment, and which queries fail."""

from __future__ import annotations

import argparse

from .corpus_size import add_documents, with_documents
from .evidence import add_inputs, evidence_of, show_tables
from .first_screen import add_details, first_screen, is_first
from .segments_file import add_by, groupings
from .terminal import Terminal
from .values import at_least_one, whole

USAGE = "FOLDER… | QRELS RUN… [--by FIELD] [--system NAME] [options]"
EXAMPLES = """\
examples:
  rankproof diagnose results
  rankproof diagnose results --by complexity --system bm25 --failed 20
  rankproof diagnose qrels.txt bm25.run --documents 200000
  rankproof diagnose results --format json > diagnosis.json

verdicts come first, with the rows that matter most; --by, --details and the other formats have
segments; the last two also have every row and column;
the rules, their thresholds and sources are in docs/diagnosis.md; stages are told of for results
folders, which know how the systems rest on each other"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to look at, and how closely."""
    add_inputs(parser)
    add_by(parser.add_argument_group("what a segment is"))
    group = parser.add_argument_group("how closely to look")
    group.add_argument("--system", metavar="NAME", help="whose failed queries are listed (the best system's)")
    group.add_argument("--failed", type=whole, metavar="N", help="list so many failed queries (5, or 10 with --details)")
    group.add_argument(
        "--top", type=at_least_one, default=10, metavar="K", help="failed is a query with nothing relevant in the first K (10)"
    )
    group.add_argument("--rules", action="store_true", help="show the rules and for whom each fired, as JSON and CSV do")
    add_details(group)
    add_documents(group)


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Looks and tells."""
    from ..analysis.diagnose.report import FEW_SHOWN, SHOWN, diagnose
    from ..analysis.evidence import known_system

    evidence = with_documents(evidence_of(args), args.documents)
    system = None if args.system is None else known_system(evidence, args.system)
    first, rules = is_first(args), args.rules or args.format in ("json", "csv")
    groups = [] if first and not (args.by or args.by_file) else list(groupings(evidence, args))
    most = args.failed if args.failed is not None else FEW_SHOWN if first else SHOWN
    tables = diagnose(evidence, groups, system=system, cutoff=args.top, most=most, rules=rules)
    show_tables(first_screen(tables) if first else tables, args, terminal)
    return 0
