"""`rankproof measures`: lists the measures."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rankproof._cli.parser import Command
from rankproof._cli.terminal import Terminal

if TYPE_CHECKING:
    from rankproof.measures._base import Measure


USAGE = "[MEASURES…] [--format F]"
EXAMPLES = """\
examples:
  rankproof measures
  rankproof measures nDCG                  formula, parameters, when to use it
  rankproof measures nDCG ndcg_cut_10 MRR
  rankproof measures --format markdown > measures.md

Names ignore case and may be those of trec_eval, ir_measures, ranx and BEIR. Parameters are in
brackets, cutoffs after @: P(rel=2)@5, nDCG(gain='exp')@10"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the names and the output format."""
    parser.add_argument("names", nargs="*", metavar="MEASURES", help="describe these measures")
    parser.add_argument("--format", choices=("table", "json", "markdown"), default="table", help="output format (default: table)")


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Describes the named measures, or lists all."""
    from rankproof._render import measure_list
    from rankproof.measures._registry import all_measures

    every = all_measures()
    shown = [measure for name in args.names for measure in _measures_named(name, every)] or every
    table = measure_list.as_descriptions if args.names else measure_list.as_table
    render = {"table": table, "json": measure_list.as_json, "markdown": measure_list.as_markdown}[args.format]
    terminal.show(render(list(dict.fromkeys(shown)), terminal.render_options()))
    if args.names and args.format == "table":
        terminal.show("".join(_prompt(measure) for measure in dict.fromkeys(shown)))
    return 0


def _prompt(measure: Measure) -> str:
    """What a judge reads of the rubric of a criterion; empty for any other measure."""
    from rankproof.measures._criterion import RubricGrade

    if not isinstance(measure, RubricGrade):
        return ""
    from rankproof._judge.claims.prompts import rubric_prompt

    system, prompt = rubric_prompt(measure.criterion)
    return f"\nWhat the judge reads of {measure.rubric}:\n\n{system}\n\n{prompt}\n"


def _measures_named(text: str, every: Sequence[Measure]) -> list[Measure]:
    """The measures of that name or alias, which may lack a required cutoff; a criterion with its rubric."""
    from rankproof.measures._criterion import RubricGrade
    from rankproof.measures._parse import parse_measure

    exact = [measure for measure in every if text.lower() in map(str.lower, (measure.name, *measure.aliases))]
    if exact:
        return exact
    named = parse_measure(text)
    return [named] if isinstance(named, RubricGrade) else [measure for measure in every if measure.name == named.name]


COMMAND = Command(usage=USAGE, examples=EXAMPLES, add_arguments=add_arguments, run=run)
