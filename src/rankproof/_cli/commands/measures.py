"""`rankproof measures`: what there is to measure."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rankproof._cli.command import Command
from rankproof._cli.terminal import Terminal

if TYPE_CHECKING:
    from rankproof.measures._base import Measure


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
    from rankproof._render import measure_list
    from rankproof.measures._registry import all_measures

    every = all_measures()
    shown = [measure for name in args.names for measure in _measures_named(name, every)] or every
    table = measure_list.as_advice if args.names else measure_list.as_table
    render = {"table": table, "json": measure_list.as_json, "markdown": measure_list.as_markdown}[args.format]
    terminal.show(render(list(dict.fromkeys(shown)), terminal.render_options()))
    return 0


def _measures_named(text: str, every: Sequence[Measure]) -> list[Measure]:
    """The measures of that name or alias, which may lack a required cutoff."""
    from rankproof.measures._parse import parse_measure

    found = [measure for measure in every if text.lower() in map(str.lower, (measure.name, *measure.aliases))]
    return found or [measure for measure in every if measure.name == parse_measure(text).name]


COMMAND = Command(usage=USAGE, examples=EXAMPLES, add_arguments=add_arguments, run=run)
