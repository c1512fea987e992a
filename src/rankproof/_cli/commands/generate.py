"""`rankproof generate`: synthetic queries from documents, by rules or by a language model."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from rankproof._cli.arg_types import name_list, nonnegative_int, positive_int
from rankproof._cli.command import Command
from rankproof._cli.exit_codes import signal_exit_code
from rankproof._cli.llm_options import FORMATS, add_budget_options, add_chat_options, chat_model, llm_session, show_llm_tables
from rankproof._cli.terminal import Terminal
from rankproof.errors import UsageError

if TYPE_CHECKING:
    from rankproof._data.dataset import Corpus
    from rankproof._data.table import Table
    from rankproof._generate.pipeline import GenerationPipeline
    from rankproof._llm.session import LLMSession
    from rankproof.stages._base import Progress


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
    what.add_argument("--count", type=positive_int, default=100, metavar="N", help="how many queries, shared out evenly (100)")
    what.add_argument("--categories", type=name_list, metavar="A,B…", help="of which kinds (all that the rules know)")
    what.add_argument("--fields", type=name_list, metavar="A,B…", help="the parts of a document that are read (title,text)")
    what.add_argument("--seed", type=nonnegative_int, default=0, metavar="N", help="draws the documents (0)")
    what.add_argument("--check", choices=("bm25",), help="count how many targets BM25 finds in its first 10; leaves nothing out")
    who = parser.add_argument_group("who makes them")
    who.add_argument("--by", choices=("heuristic", "model"), help="rules, or a language model (rules, unless a model is named)")
    add_chat_options(who)
    how = parser.add_argument_group("what it may cost")
    add_budget_options(how)
    how.add_argument("--cache", metavar="FOLDER", help="where replies are kept (see rankproof cache)")
    out = parser.add_argument_group("what comes out")
    out.add_argument("-o", "--output", metavar="FOLDER", help="a new folder: queries.jsonl, qrels.tsv, generate.json")
    out.add_argument("--with-corpus", action="store_true", help="put the documents there too: a dataset for rankproof run")
    out.add_argument("--format", choices=FORMATS, default="table", help="how to show the counts (table)")


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Makes, writes, shows."""
    import gc

    from rankproof._cli.exit_codes import handle_sigterm
    from rankproof._cli.progress import RunProgress
    from rankproof._generate.output import check_new_folder

    # The command starts without a collector of garbage; work of minutes needs one.
    gc.enable()
    if not args.dry_run:
        check_new_folder(args.output or "")
    try:
        with handle_sigterm(), llm_session(args) as session, RunProgress(terminal) as progress:
            tables = _generated_tables(_pipeline(args, session, progress), args)
    except KeyboardInterrupt as stop:
        terminal.say("stopped; every reply so far is kept: run the same command again to go on")
        return signal_exit_code(stop)
    show_llm_tables(tables, f"written: {args.output}", args, terminal)
    return 0


def _generated_tables(workshop: GenerationPipeline, args: argparse.Namespace) -> list[Table]:
    from rankproof._generate.output import cost_estimate_table, example_table, generated_table, write_generated

    if args.dry_run:
        return [cost_estimate_table(workshop.wanted, workshop.estimate(), workshop.model)]
    found = workshop.generate()
    check = workshop.round_trip(found) if args.check else None
    report = workshop.report(found, check)
    write_generated(found, report, args.output, workshop.corpus if args.with_corpus else None)
    return [generated_table(found, check, report.get("usage", {}).get("estimated", 0)), example_table(found)]


def _pipeline(args: argparse.Namespace, session: LLMSession, progress: Progress) -> GenerationPipeline:
    from rankproof._generate.pipeline import GenerationPipeline

    by_model = args.by == "model" or (args.by is None and (args.model is not None or args.model_file is not None))
    if not by_model and (args.model is not None or args.model_file is not None):
        raise UsageError("--by heuristic asks no model", fix="leave out the model, or --by")
    model = chat_model(args) if by_model else None
    fields = tuple(args.fields or ("title", "text"))
    return GenerationPipeline(_corpus(args.files[0]), args.count, args.categories, fields, args.seed, model, session, progress)


def _corpus(path: str) -> Corpus:
    import os

    from rankproof._cli.options import is_sample, read_dataset_or_sample
    from rankproof._formats.read import is_irds_name, read_folder_corpus
    from rankproof._formats.texts import read_corpus
    from rankproof._io.open import open_source

    if is_irds_name(path) or (is_sample(path) and not os.path.exists(path)):
        return read_dataset_or_sample(path).corpus
    return read_folder_corpus(path) if os.path.isdir(path) else read_corpus(open_source(path))


COMMAND = Command(usage=USAGE, examples=EXAMPLES, add_arguments=add_arguments, run=run)
