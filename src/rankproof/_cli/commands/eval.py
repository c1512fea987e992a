"""`rankproof eval`: evaluates run files against judgements."""

from __future__ import annotations

import argparse
from collections.abc import Collection
from contextlib import ExitStack
from typing import TYPE_CHECKING

from rankproof._cli.flags import first_few
from rankproof._cli.options import add_arguments, evaluate_options
from rankproof._cli.parser import Command
from rankproof._cli.terminal import Terminal, check_output
from rankproof.errors import UsageError

if TYPE_CHECKING:
    from rankproof._evaluation.result import Result

USAGE = "QRELS RUN… [-m MEASURES] [-q] [--format F] [options]"
EXAMPLES = """\
examples:
  rankproof eval --sample
  rankproof eval qrels.txt bm25.run dense.run.gz
  rankproof eval qrels.txt bm25.run -m nDCG@10 -m RR,R@100 -q
  rankproof eval qrels.txt a.run b.run --name old --name new --format latex
  rankproof eval esci.csv shop.run --grade-map E=3,S=2,C=1,I=0 -m "nDCG(gain='exp')@10"
  rankproof eval qrels.txt 'runs/part-*.parquet'
      one run in several files, split by query; the quotes are needed
  rankproof eval qrels.txt bm25.run -m all_trec -q --format trec
      what trec_eval prints
  my-search | rankproof eval qrels.txt - --format json -o result.json

Without -m: nDCG@10, RR@10, R@100, P@10, Success@1/3/5/10,
and nDCG(gain='exp')@10 if grades exceed 1"""
_HINT = "nothing to evaluate; try the built-in sample: rankproof eval --sample"


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Evaluates the runs and shows the result."""
    if not args.files and not args.sample:
        terminal.say(f"usage: rankproof eval {USAGE}\n{_HINT}; every option: rankproof eval --help")
        return UsageError.exit_code
    from rankproof._cli.inputs import cutoff_notes
    from rankproof._cli.progress import ReadProgress
    from rankproof._cli.terminal import show_result
    from rankproof._evaluation.evaluate import evaluate_runs
    from rankproof._evaluation.user_forms import name_runs_uniquely, queries_of_judgements, with_own_weights
    from rankproof._formats.detect import qrels_file
    from rankproof.measures._trec_names import with_default_cutoffs

    with ExitStack() as stack:
        qrels, *runs = _files(args, stack)
        check_output(args.output, [qrels_file(qrels), *runs, args.queries])
        options = evaluate_options(args, stack.enter_context(ReadProgress(terminal)))
        options = with_own_weights(options, queries_of_judgements(qrels))
        if args.format == "trec" and args.measures:
            args.measures = with_default_cutoffs(args.measures)
        result = evaluate_runs(qrels, name_runs_uniquely(runs, args.name), args.measures, options)
    _check_format(result, args)
    show_result(result, args, terminal)
    for line in cutoff_notes(result):
        terminal.note(line)
    if result.systems[0].texts and args.format in _NUMBERS_ONLY:
        terminal.note(f"texts, shown by --format trec, csv and json: {', '.join(result.systems[0].texts)}")
    _note_unknown_queries(options.queries or (), set(result.queries), terminal)
    return 0


_NUMBERS_ONLY = ("table", "latex", "markdown")


def _check_format(result: Result, args: argparse.Namespace) -> None:
    """Refuses -n with summaries alone, and texts in a format of numbers."""
    if args.no_summary and (args.format != "trec" or not args.per_query):
        raise UsageError("-n shows the values of queries alone", fix="add -q --format trec, or leave out -n")
    texts = ", ".join(result.systems[0].texts)
    if texts and args.format in _NUMBERS_ONLY and not result.systems[0].measures:
        raise UsageError(f"the format {args.format} shows numbers only, not {texts}", fix="use --format trec, csv or json")


def _files(args: argparse.Namespace, stack: ExitStack) -> list[str]:
    if args.sample:
        if args.files:
            raise UsageError("--sample has its own files", fix="leave out the files, or leave out --sample")
        from rankproof._sample import sample_files

        return stack.enter_context(sample_files())
    if "" in (*args.files, args.queries):
        raise UsageError("a file has no name", fix="specify each file, or use - for standard input")
    if len(args.files) < 2:
        raise UsageError("no run file", fix="specify the judgements first, then at least one run: eval QRELS RUN…")
    return list(args.files)


def _note_unknown_queries(asked: Collection[str], judged: set[str], terminal: Terminal) -> None:
    unjudged = [query for query in asked if query not in judged]
    if unjudged:
        terminal.note(f"queries of --queries without judgements, left out: {first_few(unjudged)}")


COMMAND = Command(usage=USAGE, examples=EXAMPLES, add_arguments=add_arguments, run=run)
