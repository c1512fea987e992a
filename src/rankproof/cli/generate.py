"""`rankproof generate`: synthetic queries from documents, by rules or by a language model."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ..errors import UsageError
from .asked import FORMATS, desk_of, show_asked
from .chat_options import add_chat, add_spending, chat_of
from .endings import stop_code
from .terminal import Terminal
from .values import at_least_one, names, whole

if TYPE_CHECKING:
    from ..analysis.table import Table
    from ..asking.desk import Desk
    from ..data.corpus import Corpus
    from ..generating.workshop import Workshop
    from ..stages.base import Progress

USAGE = "DOCUMENTS -o FOLDER --count N [--categories A,B…] [--model NAME]"
EXAMPLES = """\
examples:
  rankproof generate sample -o made --count 60 --with-corpus && rankproof run --dataset made
  rankproof generate corpus.jsonl -o made --count 200 --categories keyword,factual --seed 7
  rankproof generate scifact --count 100 --model gpt-4o-mini --categories factual,how-to --dry-run
  rankproof generate scifact -o made --count 100 --model gpt-4o-mini --budget calls=500

without a model queries are made by rules from the document's own words: a baseline that is easy for
BM25. Whoever made a query is told in it and in the judgements; replies are kept, so that the same
command goes on where it was stopped (docs/generate.md has the categories and filters)"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """From what, how many, by whom, and where they go."""
    parser.add_argument(
        "files", nargs=1, metavar="FILE", help="documents as JSONL, a folder with corpus.jsonl, irds:NAME, or sample"
    )
    what = parser.add_argument_group("what to make")
    what.add_argument("--count", type=at_least_one, default=100, metavar="N", help="how many queries, shared out evenly (100)")
    what.add_argument("--categories", type=names, metavar="A,B…", help="of which kinds (all that the rules know)")
    what.add_argument("--fields", type=names, metavar="A,B…", help="the parts of a document that are read (title,text)")
    what.add_argument("--seed", type=whole, default=0, metavar="N", help="draws the documents (0)")
    what.add_argument("--check", choices=("bm25",), help="count how many targets BM25 finds in its first 10; leaves nothing out")
    who = parser.add_argument_group("who makes them")
    who.add_argument("--by", choices=("heuristic", "model"), help="rules, or a language model (rules, unless a model is named)")
    add_chat(who)
    how = parser.add_argument_group("what it may cost")
    add_spending(how)
    how.add_argument("--cache", metavar="FOLDER", help="where replies are kept (see rankproof cache)")
    out = parser.add_argument_group("what comes out")
    out.add_argument("-o", "--output", metavar="FOLDER", help="a new folder: queries.jsonl, qrels.tsv, generate.json")
    out.add_argument("--with-corpus", action="store_true", help="put the documents there too: a dataset for rankproof run")
    out.add_argument("--format", choices=FORMATS, default="table", help="how to show the counts (table)")


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Makes, writes, shows."""
    import gc

    from ..generating.folder import refuse_folder
    from .ladder_progress import LadderProgress
    from .termination import heard_termination

    # The command starts without a collector of garbage; work of minutes needs one.
    gc.enable()
    if not args.dry_run:
        refuse_folder(args.output or "")
    try:
        with heard_termination(), desk_of(args) as desk, LadderProgress(terminal) as progress:
            tables = _made(_workshop(args, desk, progress), args)
    except KeyboardInterrupt as stop:
        terminal.say("stopped; every reply so far is kept: run the same command again to go on")
        return stop_code(stop)
    show_asked(tables, f"written: {args.output}", args, terminal)
    return 0


def _made(workshop: Workshop, args: argparse.Namespace) -> list[Table]:
    from ..generating.folder import write_generated
    from ..generating.tables import example_table, generated_table, plan_table

    if args.dry_run:
        return [plan_table(workshop.wanted, workshop.estimate(), workshop.model)]
    found = workshop.generated()
    check = workshop.round_trip(found) if args.check else None
    report = workshop.report(found, check)
    write_generated(found, report, args.output, workshop.corpus if args.with_corpus else None)
    return [generated_table(found, check, report.get("asked", {}).get("estimated", 0)), example_table(found)]


def _workshop(args: argparse.Namespace, desk: Desk, progress: Progress) -> Workshop:
    from ..generating.workshop import Workshop

    by_model = args.by == "model" or (args.by is None and (args.model is not None or args.model_file is not None))
    if not by_model and (args.model is not None or args.model_file is not None):
        raise UsageError("--by heuristic asks no model", fix="leave out the model, or --by")
    model = chat_of(args) if by_model else None
    fields = tuple(args.fields or ("title", "text"))
    return Workshop(_corpus(args.files[0]), args.count, args.categories, fields, args.seed, model, desk, progress)


def _corpus(path: str) -> Corpus:
    import os

    from ..formats import is_remote
    from ..formats.folder import read_folder_corpus
    from ..formats.opening import open_source
    from ..formats.texts_format import read_corpus
    from .dataset import is_sample, read_named

    if is_remote(path) or (is_sample(path) and not os.path.exists(path)):
        return read_named(path).corpus
    return read_folder_corpus(path) if os.path.isdir(path) else read_corpus(open_source(path))
