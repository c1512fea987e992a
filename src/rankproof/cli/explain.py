"""`rankproof explain`: one number taken apart."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ..errors import UsageError
from .evidence import add_inputs, evidence_of, show_tables
from .parsing import unknown
from .terminal import Terminal
from .values import at_least_one

if TYPE_CHECKING:
    from ..analysis.evidence import Evidence
    from ..analysis.table import Table
    from ..data.corpus import Corpus

USAGE = "FILES… [--system S] [-m MEASURE] [--query Q [--doc D]] [options]"
EXAMPLES = """\
examples:
  rankproof explain results                                   the queries that make the mean
  rankproof explain results --system bm25 --against static    those that make the difference
  rankproof explain results --system bm25 -m AP --query 12    what each rank adds
  rankproof explain results --system hybrid-rrf --query 12 --doc 184
  rankproof explain results --system bm25 --query 12 --doc 184 --dataset data/cranfield
  rankproof explain qrels.txt bm25.run -m nDCG@10 --query 12 --format json
  rankproof explain --answer "Paris, of course" --reference "It is Paris"

the parts add up to the number: contributions of queries to the mean, of ranks to a query's value,
of rankings to a fused score, of terms to a BM25 score"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The files, and which number."""
    add_inputs(parser)
    group = parser.add_argument_group("which number")
    group.add_argument("--system", metavar="S", help="whose (the best one)")
    group.add_argument("--against", metavar="S", help="the difference to this system instead of the mean")
    group.add_argument("--query", metavar="Q", help="the value of this query")
    group.add_argument("--doc", metavar="D", help="the score of this document for the query, in a results folder")
    group.add_argument("--dataset", metavar="FOLDER", help="the documents, for the terms of a BM25 score; or: sample")
    group.add_argument("--top", type=at_least_one, metavar="N", help="rows to show of each list (5 queries, 10 documents)")
    group.add_argument("--answer", metavar="TEXT", help="an answer, whose F1 is taken apart")
    group.add_argument("--reference", metavar="TEXT", help="what it should have said")


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Shows the parts."""
    if args.answer is not None or args.reference is not None:
        show_tables([_answer(args)], args, terminal)
        return 0
    if args.doc is not None and args.query is None:
        raise UsageError("a document's score belongs to a query", fix="name it with --query")
    evidence = evidence_of(args)
    measures = list(evidence.result.systems[0].measures)[: None if args.measures else 1]
    system = _system(args.system, evidence, measures[0], terminal)
    show_tables(_tables(args, evidence, system, measures), args, terminal)
    return 0


def _answer(args: argparse.Namespace) -> Table:
    from ..analysis.explain_answer import explain_answer

    if args.answer is None or args.reference is None or args.files:
        raise UsageError(
            "an answer is explained against a reference alone", fix='write --answer "…" --reference "…" and no files'
        )
    return explain_answer(args.answer, args.reference)


def _system(asked: str | None, evidence: Evidence, measure: str, terminal: Terminal) -> str:
    """The system asked for, else the best one."""
    if asked is not None:
        return _known(asked, evidence)
    values = {one.name: one.measures[measure] for one in evidence.result.systems}
    sign = -1 if next(iter(values.values())).measure.higher_is_better is False else 1
    best = max(values, key=lambda name: sign * values[name].value)
    if len(values) > 1:
        terminal.note(f"explaining {best}, the best of {len(values)} systems by {measure}; --system names another")
    return best


def _known(name: str, evidence: Evidence) -> str:
    if name not in evidence.systems:
        raise unknown("system", name, evidence.systems, see="the systems: " + ", ".join(evidence.systems))
    return name


def _tables(args: argparse.Namespace, evidence: Evidence, system: str, measures: list[str]) -> list[Table]:
    from ..analysis.explain import TOP, explain_difference, explain_mean
    from ..analysis.explain_query import ROWS, explain_query
    from ..analysis.explain_score import explain_score

    if args.doc is not None:
        return [explain_score(evidence, system, args.query, args.doc, _corpus(args.dataset))]
    if args.query is not None:
        each = [explain_query(evidence, system, one, args.query, rows=args.top or ROWS) for one in measures]
        return [table for tables in each for table in tables]
    top = args.top or TOP
    if args.against is not None:
        against = _known(args.against, evidence)
        return [explain_difference(evidence, system, against, one, top=top) for one in measures]
    return [explain_mean(evidence, system, one, top=top) for one in measures]


def _corpus(path: str | None) -> Corpus | None:
    from ..experiment import SAMPLE
    from ..formats import read_dataset
    from ..samples import sample_folder

    if path == SAMPLE:
        with sample_folder() as folder:
            return read_dataset(folder).corpus
    return None if path is None else read_dataset(path).corpus
