"""`rankproof measures`: what there is to measure."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .terminal import Terminal

if TYPE_CHECKING:
    from ..measures import Measure

USAGE = "[MEASURES…] [--format F]"
EXAMPLES = """\
examples:
  rankproof measures
  rankproof measures nDCG                  when to use it, and when not
  rankproof measures nDCG ndcg_cut_10 MRR
  rankproof measures --format markdown > measures.md

names are read in any case, and in the spellings of trec_eval, ir_measures, ranx and BEIR;
parameters stand in brackets and cutoffs after @: P(rel=2)@5, nDCG(gain='exp')@10"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which measures, and how to show them."""
    parser.add_argument("names", nargs="*", metavar="MEASURES", help="only these, in any spelling")
    parser.add_argument("--format", choices=("table", "json", "markdown"), default="table", help="how to show them (table)")


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Shows the measures asked for, or all."""
    from ..measures import ANSWER_MEASURES, MEASURES, outside_measures
    from ..views import catalogue

    everything = [*MEASURES.values(), *ANSWER_MEASURES.values(), *outside_measures().values()]
    shelf = [measure for name in args.names for measure in _named(name, everything)] or everything
    table = catalogue.as_advice if args.names else catalogue.as_table
    render = {"table": table, "json": catalogue.as_json, "markdown": catalogue.as_markdown}[args.format]
    terminal.show(render(list(dict.fromkeys(shelf)), terminal.look()))
    return 0


def _named(text: str, shelf: Sequence[Measure]) -> list[Measure]:
    """The measures of that name without parameters; it may lack the cutoff that an evaluation would ask for."""
    from ..measures import parse
    from ..measures.aliases import ALIASES

    bare = ALIASES.get(text.lower(), text).partition("(")[0].lower()
    found = [measure for measure in shelf if measure.name.lower() == bare]
    return found or [measure for measure in shelf if measure.name == parse(text).name]
