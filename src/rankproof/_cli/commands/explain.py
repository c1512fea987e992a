"""`rankproof explain`: shows how a value is computed."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rankproof._cli.arg_types import positive_int
from rankproof._cli.command import Command
from rankproof._cli.inputs import add_analysis_options, are_answer_measures, read_input, show_tables
from rankproof._cli.options import check_same_dataset, read_dataset_or_sample
from rankproof._cli.terminal import Terminal
from rankproof.errors import UsageError, for_message

if TYPE_CHECKING:
    from rankproof._analysis.inputs import AnalysisInput
    from rankproof._data.run import TermPart
    from rankproof._data.table import Table
    from rankproof.stages._bm25 import BM25


USAGE = "FILES… [--system S] [-m MEASURE] [--query Q [--doc D]] [options]"
EXAMPLES = """\
examples:
  rankproof explain results                                   what contributes to the mean
  rankproof explain results --system bm25 --against static    what contributes to a difference
  rankproof explain results --system bm25 -m AP --query 12    what each rank contributes
  rankproof explain results --system hybrid-rrf --query 12 --doc 184
  rankproof explain results --system bm25 --query 12 --doc 184 --dataset data/cranfield
  rankproof explain qrels.txt bm25.run -m nDCG@10 --query 12 --format json
  rankproof explain results -m F1 --query 12                  words shared with the reference
  rankproof explain --answer "Paris, of course" --reference "It is Paris"

The parts add up to the value: contributions of queries to a mean, of ranks to the value of a query,
of rankings to a fused score, of terms to a BM25 score"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the inputs and the value to explain."""
    add_analysis_options(parser)
    group = parser.add_argument_group("value to explain")
    group.add_argument("--system", metavar="S", help="the system (default: the best one)")
    group.add_argument("--against", metavar="S", help="explain the difference to this system, not the mean")
    group.add_argument("--query", metavar="Q", help="explain the value of this query")
    group.add_argument("--doc", metavar="D", help="explain the score of this document for the query; needs a results folder")
    group.add_argument("--dataset", metavar="FOLDER", help="the dataset, for the terms of a BM25 score; or sample")
    group.add_argument("--top", type=positive_int, metavar="N", help="rows of each list (default: 5 queries, 10 documents)")
    group.add_argument("--answer", metavar="TEXT", help="explain the F1 of this answer")
    group.add_argument("--reference", metavar="TEXT", help="the reference answer")


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Shows the parts of the value."""
    if args.answer is not None or args.reference is not None:
        show_tables([_answer(args)], args, terminal)
        return 0
    if args.doc is not None and args.query is None:
        raise UsageError("--doc needs a query", fix="specify it with --query")
    inputs = read_input(args)
    measures = list(inputs.result.systems[0].measures)[: None if args.measures else 1]
    system = _system(args.system, inputs, measures[0], terminal)
    show_tables(_tables(args, inputs, system, measures), args, terminal)
    return 0


def _answer(args: argparse.Namespace) -> Table:
    from rankproof._analysis.explain.answer import explain_answer

    if args.answer is None or args.reference is None or args.files:
        raise UsageError("--answer and --reference go together, without files", fix='write --answer "…" --reference "…"')
    return explain_answer(args.answer, args.reference)


def _system(asked: str | None, inputs: AnalysisInput, measure: str, terminal: Terminal) -> str:
    """The named system, else the best one."""
    from rankproof._analysis.inputs import checked_system
    from rankproof._analysis.values import TIE_TOLERANCE, best_system

    if asked is not None:
        return checked_system(inputs, asked)
    values = {one.name: one.measures[measure] for one in inputs.result.systems}
    best = best_system(values)
    if len(inputs.systems) > 1:
        count = len(inputs.systems)
        tied = sum(abs(one.value - values[best].value) <= TIE_TOLERANCE for one in values.values())
        what = "the best" if tied == 1 else f"the first of {tied} tied for best"
        terminal.note(f"explaining {best}, {what} of {count} systems by {measure}; --system names another")
    return best


def _tables(args: argparse.Namespace, inputs: AnalysisInput, system: str, measures: list[str]) -> list[Table]:
    from rankproof._analysis.explain.answer import explain_answer_value
    from rankproof._analysis.explain.mean import TOP, explain_difference, explain_mean
    from rankproof._analysis.explain.query import ROWS, explain_query
    from rankproof._analysis.inputs import checked_system

    if args.doc is not None:
        return [_score(args, inputs, system)]
    if args.query is not None and are_answer_measures(measures):
        return [explain_answer_value(inputs, system, args.query, one) for one in measures]
    if args.query is not None:
        each = [explain_query(inputs, system, one, args.query, rows=args.top or ROWS) for one in measures]
        return [table for tables in each for table in tables]
    top = args.top or TOP
    if args.against is not None:
        against = checked_system(inputs, args.against)
        return [explain_difference(inputs, system, against, one, top=top) for one in measures]
    return [explain_mean(inputs, system, one, top=top) for one in measures]


def _score(args: argparse.Namespace, inputs: AnalysisInput, system: str) -> Table:
    from rankproof._analysis.explain.score import explain_score, system_run_of

    terms = bm25_terms(inputs, system_run_of(inputs, system).stage, args)
    return explain_score(inputs, system, args.query, args.doc, terms)


def bm25_terms(inputs: AnalysisInput, stage: Mapping[str, Any], args: argparse.Namespace) -> list[TermPart] | None:
    """The contribution of each query term to the score; None for other stages or without the documents."""
    query, doc, path = args.query, args.doc, args.dataset
    if stage.get("kind") != "BM25" or path is None or inputs.texts is None or query not in inputs.texts:
        return None
    dataset = read_dataset_or_sample(path, args=args)
    check_same_dataset(dataset, path, inputs)
    if doc not in dataset.corpus:
        raise UsageError(f"the dataset has no document {for_message(doc)}", fix="specify the dataset of the results")
    return bm25_from_identity(stage).index(dataset.corpus).parts(inputs.texts[query].text, doc)


def bm25_from_identity(identity: Mapping[str, Any]) -> BM25:
    """The BM25 stage with this identity."""
    from rankproof.stages._bm25 import BM25

    words = identity["stop_words"]
    return BM25(
        k1=identity["k1"],
        b=identity["b"],
        language=identity["language"],
        stemming=identity["stemming"],
        stop_words=words if isinstance(words, bool) else tuple(words),
        fields=tuple(identity["fields"]),
        depth=identity["depth"],
        tokens=identity.get("tokens", "words"),
    )


COMMAND = Command(usage=USAGE, examples=EXAMPLES, add_arguments=add_arguments, run=run)
