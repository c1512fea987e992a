"""`rankproof explain`: one number taken apart."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ..errors import UsageError
from .answer_evidence import asks_for_answers
from .evidence import add_inputs, evidence_of, show_tables
from .terminal import Terminal
from .values import at_least_one

if TYPE_CHECKING:
    from ..analysis.evidence import Evidence
    from ..analysis.table import Table

USAGE = "FILES… [--system S] [-m MEASURE] [--query Q [--doc D]] [options]"
EXAMPLES = """\
examples:
  rankproof explain results                                   the queries that make the mean
  rankproof explain results --system bm25 --against static    those that make the difference
  rankproof explain results --system bm25 -m AP --query 12    what each rank adds
  rankproof explain results --system hybrid-rrf --query 12 --doc 184
  rankproof explain results --system bm25 --query 12 --doc 184 --dataset data/cranfield
  rankproof explain qrels.txt bm25.run -m nDCG@10 --query 12 --format json
  rankproof explain results -m F1 --query 12                  what an answer has of its reference
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
    from ..analysis.explain.answer import explain_answer

    if args.answer is None or args.reference is None or args.files:
        raise UsageError(
            "an answer is explained against a reference alone", fix='write --answer "…" --reference "…" and no files'
        )
    return explain_answer(args.answer, args.reference)


def _system(asked: str | None, evidence: Evidence, measure: str, terminal: Terminal) -> str:
    """The system asked for, else the best one."""
    from ..analysis.evidence import known_system
    from ..analysis.measured import SAME, best_of

    if asked is not None:
        return known_system(evidence, asked)
    values = {one.name: one.measures[measure] for one in evidence.result.systems}
    best = best_of(values)
    if len(evidence.systems) > 1:
        count = len(evidence.systems)
        tied = sum(abs(one.value - values[best].value) <= SAME for one in values.values())
        what = "the best" if tied == 1 else f"the first of {tied} that tie for the best"
        terminal.note(f"explaining {best}, {what} of {count} systems by {measure}; --system names another")
    return best


def _tables(args: argparse.Namespace, evidence: Evidence, system: str, measures: list[str]) -> list[Table]:
    from ..analysis.evidence import known_system
    from ..analysis.explain.answered import explain_answered
    from ..analysis.explain.mean import TOP, explain_difference, explain_mean
    from ..analysis.explain.query import ROWS, explain_query

    if args.doc is not None:
        return [_score(args, evidence, system)]
    if args.query is not None and asks_for_answers(measures):
        return [explain_answered(evidence, system, args.query, one) for one in measures]
    if args.query is not None:
        each = [explain_query(evidence, system, one, args.query, rows=args.top or ROWS) for one in measures]
        return [table for tables in each for table in tables]
    top = args.top or TOP
    if args.against is not None:
        against = known_system(evidence, args.against)
        return [explain_difference(evidence, system, against, one, top=top) for one in measures]
    return [explain_mean(evidence, system, one, top=top) for one in measures]


def _score(args: argparse.Namespace, evidence: Evidence, system: str) -> Table:
    from ..analysis.explain.score import explain_score, rung_of
    from .bm25_terms import terms_of

    terms = terms_of(evidence, rung_of(evidence, system).stage, args.query, args.doc, args.dataset)
    return explain_score(evidence, system, args.query, args.doc, terms)
