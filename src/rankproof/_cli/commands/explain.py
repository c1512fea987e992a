"""`rankproof explain`: shows how a value is computed."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from rankproof._cli.flags import add_flags
from rankproof._cli.inputs import (
    add_analysis_options,
    add_dataset_options,
    dataset_of_runs,
    read_input,
    show_tables,
    with_run_texts,
)
from rankproof._cli.parser import Command
from rankproof._cli.terminal import Terminal, show_value_notes
from rankproof._registry import arguments_of
from rankproof.errors import UsageError

if TYPE_CHECKING:
    from rankproof._data.table import Table


USAGE = "RESULTS… | QRELS RUN… [--system S] [-m MEASURE] [--query Q [--doc D]] [options]"
EXAMPLES = """\
examples:
  rankproof explain results                                   what contributes to the mean
  rankproof explain results --system bm25 --against static    what contributes to a difference
  rankproof explain results --system bm25 -m AP --query 12    what each rank contributes
  rankproof explain results --system hybrid-rrf --query 12 --doc 184
  rankproof explain results --system bm25 --query 12 --doc 184 --dataset data/cranfield
  rankproof explain qrels.txt bm25.run -m nDCG@10 --query 12 --format json
  rankproof explain results -m F1 --query 12                  words shared with the reference
  rankproof explain results -m Faithfulness --query 12        claims, verdicts and evidence
  rankproof explain --answer "Paris, of course" --reference "It is Paris"

The parts add up to the value: contributions of queries to a mean, of ranks to the value of a query,
of rankings to a fused score, of terms to a BM25 score"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the inputs and the value to explain."""
    from rankproof._api.explain import explain

    add_analysis_options(parser)
    group = parser.add_argument_group("value to explain")
    add_flags(group, explain, ("system", "against", "query", "doc"))
    add_dataset_options(group, arguments_of(explain)["dataset"].option.description)
    add_flags(group, explain, ["top"])
    group.add_argument("--answer", metavar="TEXT", help="explain the F1 of this answer")
    group.add_argument("--reference", metavar="TEXT", help="the reference answer")


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Shows the parts of the value."""
    if args.answer is not None or args.reference is not None:
        show_tables([_answer(args)], args, terminal)
        return 0
    if args.doc is not None and args.query is None:
        raise UsageError("--doc needs a query", fix="specify it with --query")
    from dataclasses import replace

    from rankproof._analysis.run_files import with_system_runs
    from rankproof._api.explain import ExplainOptions, explain_inputs

    named = bool(args.measures)
    inputs = with_system_runs(with_run_texts(read_input(args, of_answers=True), args))
    dataset = None if args.doc is None else dataset_of_runs(args)
    options = ExplainOptions(args.system, args.against, args.query, args.doc, dataset, args.top)
    system, tables, notes = explain_inputs(inputs, options, all_measures=named)
    show_tables(tables, args, terminal)
    for note in notes:
        terminal.note(note)
    explained = {system, options.against}
    systems = tuple(shown for shown in inputs.result.systems if shown.name in explained)
    show_value_notes(replace(inputs.result, systems=systems), terminal)
    return 0


def _answer(args: argparse.Namespace) -> Table:
    from rankproof._analysis.explain.answer import explain_answer

    if args.answer is None or args.reference is None or args.files:
        raise UsageError("--answer and --reference go together, without files", fix='write --answer "…" --reference "…"')
    return explain_answer(args.answer, args.reference)


COMMAND = Command(usage=USAGE, examples=EXAMPLES, add_arguments=add_arguments, run=run)
