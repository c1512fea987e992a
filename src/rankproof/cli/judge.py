"""`rankproof judge`: grades pairs of query and document by a language model, and holds it against people."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ..errors import UsageError
from .asked import FORMATS, desk_of, show_asked
from .chat_options import add_chat, add_spending, chat_of
from .endings import stop_code
from .judge_pairs import chosen_pairs, texts_of
from .output import check_output
from .terminal import Terminal
from .values import at_least_one, whole

if TYPE_CHECKING:
    from ..analysis.table import Table
    from ..judging.judge import Judge

USAGE = "DATASET --runs RUN… | --pairs FILE | --qrels FILE --model NAME [-o OUT]"
EXAMPLES = """\
examples:
  rankproof judge sample --by keywords --qrels sample
  rankproof judge my-dataset --runs bm25.run dense.run --model gpt-4o-mini --dry-run
  rankproof judge my-dataset --runs a.run b.run --model gpt-4o-mini --budget calls=5000 -o llm.qrels
  rankproof judge my-dataset --qrels my-dataset --sample 300 --model qwen2.5:7b \\
      --base-url http://localhost:11434/v1
  rankproof judge my-dataset --results results --holes --model-file judge.toml -o holes.qrels

judgements are written with the judge's mark in their second column, and OUT.json beside them says
how they came about;
replies are kept, so that the same command goes on where it was stopped"""
KEYWORDS = "keywords"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which pairs, who judges, what it may cost, and where the judgements go."""
    parser.add_argument("files", nargs="*", metavar="FILE", help="a dataset or: sample; or queries and documents as JSONL")
    which = parser.add_argument_group("which pairs")
    which.add_argument("--pairs", metavar="FILE", help="a query and a document in each line; TREC files are read too")
    which.add_argument("--runs", nargs="+", metavar="RUN", help="the first documents of these runs")
    which.add_argument("--results", metavar="FOLDER", help="the first documents of every system of a results folder")
    which.add_argument("--depth", type=at_least_one, default=10, metavar="N", help="how many of the first documents (10)")
    which.add_argument("--holes", action="store_true", help="only those that people did not judge")
    which.add_argument("--qrels", metavar="FILE", help="people's judgements: hold the judge against them; alone, also the pairs")
    which.add_argument("--sample", type=at_least_one, metavar="N", help="use so many of people's judgements, drawn by --seed")
    which.add_argument("--seed", type=whole, default=0, metavar="N", help="of everything random (0)")
    who = parser.add_argument_group("who judges")
    who.add_argument("--by", choices=("model", KEYWORDS), default="model", help="a language model, or the share of words (model)")
    add_chat(who)
    how = parser.add_argument_group("what it may cost")
    add_spending(how)
    how.add_argument("--cache", metavar="FOLDER", help="where replies are kept (see rankproof cache)")
    out = parser.add_argument_group("what comes out")
    out.add_argument("-o", "--output", metavar="OUT", help="write the judgements there as TREC qrels, and OUT.json")
    out.add_argument("--format", choices=FORMATS, default="table", help="how to show the tables (table)")
    out.add_argument("--rel", type=at_least_one, default=1, metavar="N", help="people's least grade that counts as relevant (1)")
    out.add_argument("--judge-rel", type=at_least_one, metavar="N", help="the judge's (that of --rel)")


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Judges, writes, shows."""
    import gc

    from .termination import heard_termination

    # The command starts without a collector of garbage; work of minutes needs one.
    gc.enable()
    try:
        with heard_termination():
            tables = _tables(args, terminal)
    except KeyboardInterrupt as stop:
        terminal.say("stopped; every reply so far is kept: run the same command again to go on")
        return stop_code(stop)
    output = args.output
    kept = "the judgements were not written; -o FILE keeps them" if output is None else f"written: {output} and {output}.json"
    show_asked(tables, kept, args, terminal)
    return 0


def _tables(args: argparse.Namespace, terminal: Terminal) -> list[Table]:
    """What was judged, or with --dry-run what that would cost."""
    from ..judging.agreement_tables import Thresholds
    from ..judging.judge import JudgingGround
    from ..judging.session import judge_pairs, plan, tables_of
    from .ladder_progress import LadderProgress

    judge = _judge(args)
    _check_output(args)
    corpus, queries = texts_of(args.files)
    chosen = chosen_pairs(args, terminal)
    how = Thresholds(args.rel, args.judge_rel or args.rel, args.seed, chosen.highest)
    with desk_of(args) as desk:
        ground = JudgingGround(queries, corpus, desk)
        if args.dry_run:
            return [plan(judge, chosen.pairs, ground, args.output)]
        with LadderProgress(terminal) as progress:
            report = judge_pairs(judge, chosen.pairs, ground, args.output, progress)
        return tables_of(report, ground, chosen.human, chosen.pools, how)


def _judge(args: argparse.Namespace) -> Judge:
    from ..judging.keyword_judge import KeywordJudge
    from ..judging.language_judge import LanguageJudge

    if args.by != KEYWORDS:
        return LanguageJudge(chat_of(args))
    if args.model is not None or args.model_file is not None:
        raise UsageError("--by keywords asks no model", fix="leave out the model, or --by")
    return KeywordJudge()


def _check_output(args: argparse.Namespace) -> None:
    from ..judging.report import report_path

    if args.output is None:
        return
    if args.output == "-":
        raise UsageError("judgements are two files and do not go to standard output", fix="name a file with -o")
    inputs = [*args.files, *(args.runs or ()), args.pairs, args.results, args.qrels, args.model_file]
    check_output(args.output, inputs)
    check_output(report_path(args.output), inputs)
