"""The options of `rankproof eval`, and what they mean to an evaluation."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from .values import add_on_duplicate, at_least_one, grade_map, one_character, query_ids

if TYPE_CHECKING:
    from ..evaluation.options import Options, Progress

FORMATS = ("table", "json", "csv", "trec", "latex", "markdown")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Files, measures and options; trec_eval's letters stand for the same things here."""
    parser.set_defaults(parser=parser)
    parser.add_argument("files", nargs="*", metavar="FILE", help="the judgements, then one run or more; - is standard input")
    _add_output(parser.add_argument_group("what to show"))
    add_meaning(parser.add_argument_group("what counts"))
    add_reading(parser.add_argument_group("how files are read"))


def _add_output(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "-m", "--measures", action="append", metavar="MEASURES", help="comma separated, repeatable: nDCG@10,RR,P@5"
    )
    group.add_argument("-q", "--per-query", action="store_true", help="also the value of every query")
    group.add_argument("--format", choices=FORMATS, default="table", help="how to show it (table)")
    group.add_argument("-o", "--output", metavar="FILE", help="write there instead of to standard output")
    group.add_argument("--name", action="append", default=[], metavar="NAME", help="a system's name, once for each run")
    group.add_argument("--sample", action="store_true", help="evaluate the built-in sample")


def add_meaning(group: argparse._ArgumentGroup) -> None:
    """What counts as relevant, and how a ranking is read."""
    group.add_argument(
        "--rel", "-l", type=at_least_one, default=1, metavar="N", help="the least grade that counts as relevant (1)"
    )
    group.add_argument("--depth", "-M", type=at_least_one, metavar="N", help="keep the first N documents of each ranking")
    group.add_argument("--judged-only", "-J", action="store_true", help="drop unjudged documents from the rankings first")
    missing = group.add_mutually_exclusive_group()
    missing.add_argument("--skip-missing", action="store_true", help="means over the queries that the run has, not all judged")
    missing.add_argument("-c", action="store_true", help=argparse.SUPPRESS)
    group.add_argument("--queries", metavar="FILE", help="only these queries, an id a line")
    group.add_argument("--order", choices=("score", "rank"), default="score", help="what ranks the documents (score)")
    group.add_argument("--lower-is-better", action="store_true", help="the scores are distances")
    add_on_duplicate(group)
    group.add_argument("--compat", choices=("trec_eval-9",), help="compare scores as float32, as trec_eval 9 and pytrec_eval do")


def add_reading(group: argparse._ArgumentGroup) -> None:
    """What the content of files does not tell."""
    group.add_argument("--qrels-format", metavar="FORMAT", help="the judgements' format, where the content does not tell")
    group.add_argument("--run-format", metavar="FORMAT", help="the runs' format, where the content does not tell")
    group.add_argument(
        "--delimiter", type=one_character, metavar="D", help="what separates columns in CSV files; tab or \\t for a tab"
    )
    group.add_argument("--encoding", default="utf-8", metavar="E", help="the files' encoding (utf-8)")
    group.add_argument("--grade-map", type=grade_map, metavar="A=N,…", help="what a grade's name is worth: E=3,S=2,C=1,I=0")
    group.add_argument("--threads", type=at_least_one, default=1, metavar="N", help="how many threads read a file (1)")


def options_of(args: argparse.Namespace, progress: Progress | None) -> Options:
    """The options as an evaluation takes them."""
    from ..evaluation.options import Files, Options, reading_of

    reading = reading_of(
        order=args.order,
        lower_is_better=args.lower_is_better,
        compat=args.compat,
        on_duplicate=args.on_duplicate,
        depth=args.depth,
        judged_only=args.judged_only,
        threads=args.threads,
    )
    files = Files(args.qrels_format, args.run_format, args.delimiter, args.encoding, args.grade_map, progress)
    queries = None if args.queries is None else query_ids(args.queries, args.encoding)
    return Options(reading, files, args.rel, args.skip_missing, queries)
