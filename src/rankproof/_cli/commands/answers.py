"""`rankproof answers`: evaluates generated answers against reference answers."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from rankproof._cli.arg_types import add_judgement_options, judgement_options, positive_int
from rankproof._cli.command import Command
from rankproof._cli.inputs import FORMATS, encode_texts, show_tables
from rankproof._cli.options import add_correction_option, add_sampling_options
from rankproof._cli.output import check_output, show_value_notes
from rankproof._cli.terminal import Terminal
from rankproof.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rankproof._analysis.answers.inputs import AnswerInput
    from rankproof._data.dataset import Query
    from rankproof._data.table import Table
    from rankproof._evaluation.result import Result


USAGE = "RESULTS | QUERIES ANSWERS… [--qrels FILE] [-m MEASURES] [options]"
EXAMPLES = """\
examples:
  rankproof answers results
  rankproof answers queries.jsonl gpt.jsonl local.jsonl --qrels qrels.tsv
  rankproof answers results -m EM,F1,ROUGE-L --by type --format markdown
  rankproof answers results -m "Similarity(model='minilm')"

A line of ANSWERS: {"query": "q1", "answer": "Paris", "cited": ["d1"]}, with "state": "abstained" if
the system gave no answer. The queries hold the references: "answers": ["Paris"]. Systems are
compared by the measures of -m, by default only by F1(tokens='bag')"""
COMPARED_MEASURE = "F1(tokens='bag')"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the files, the measures and the statistics."""
    parser.set_defaults(parser=parser)
    parser.add_argument(
        "files", nargs="*", metavar="FILE", help="a results folder, or a file of queries and then files of answers"
    )
    what = parser.add_argument_group("output")
    what.add_argument("-m", "--measures", action="append", metavar="MEASURES", help="comma separated, repeatable: EM,F1,ROUGE-L")
    what.add_argument("--by", action="append", metavar="FIELD", help="segments by a field of the queries (category, type…)")
    what.add_argument(
        "--name", action="append", default=[], metavar="NAME", help="the name of a system, once for each file of answers"
    )
    what.add_argument("--format", choices=FORMATS, default="table", help="output format (default: table)")
    what.add_argument("-o", "--output", metavar="FILE", help="write to a file instead of standard output")
    counts = parser.add_argument_group("relevance")
    counts.add_argument("--qrels", metavar="FILE", help="judgements, for citations; a results folder has its own")
    counts.add_argument(
        "--rel",
        "-l",
        type=positive_int,
        metavar="N",
        help="the lowest grade that counts as relevant (default: 1, or that of the results)",
    )
    add_judgement_options(counts)
    how = parser.add_argument_group("statistics")
    how.add_argument("--baseline", metavar="NAME", help="compare each system with this one, not every pair")
    add_correction_option(how)
    add_sampling_options(how, samples=10_000, of="sign flips and permutations")


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Evaluates the answers and compares the systems."""
    answer_input = _answer_input(args)
    show_tables(list(_tables(answer_input, args)), args, terminal)
    if answer_input.retrieval is not None:
        show_value_notes(_retrieval_result(answer_input), terminal)
    return 0


def _retrieval_result(answer_input: AnswerInput) -> Result:
    """The evaluation of the rankings that the answers were generated from, for its notes."""
    from rankproof._analysis.answers.inputs import RETRIEVAL_MEASURES
    from rankproof._evaluation.evaluate import evaluate_runs

    inputs = answer_input.inputs
    return evaluate_runs(inputs.qrels, inputs.runs, list(RETRIEVAL_MEASURES), inputs.options)


def _answer_input(args: argparse.Namespace) -> AnswerInput:
    from rankproof._results.folder import is_results_folder

    if not args.files:
        raise UsageError("no input files", fix="specify a results folder, or queries.jsonl and one or more files of answers")
    check_output(args.output, [*args.files, args.qrels])
    if any(map(is_results_folder, args.files)):
        return _input_from_folder(args)
    return _input_from_files(args)


def _input_from_folder(args: argparse.Namespace) -> AnswerInput:
    from rankproof._analysis.answers.inputs import answer_input_from_results
    from rankproof._results.folder import load_results

    if len(args.files) > 1 or args.qrels or args.name:
        raise UsageError(
            "a results folder cannot be mixed with other inputs", fix="specify one folder; it has its own judgements and names"
        )
    return answer_input_from_results(load_results(args.files[0]), args.measures, rel=args.rel, encode=encode_texts)


def _input_from_files(args: argparse.Namespace) -> AnswerInput:
    from rankproof._analysis.answers.inputs import answer_input_from_files
    from rankproof._evaluation.coerce import name_runs_uniquely
    from rankproof._formats.read import read_qrels
    from rankproof._formats.texts import read_answers, read_queries
    from rankproof._io.open import open_source

    path, *paths = args.files
    if not paths:
        raise UsageError("no file of answers", fix="specify the queries and then one or more files of answers")
    queries = read_queries(open_source(path))
    answers = {name: read_answers(open_source(each), queries) for name, each in name_runs_uniquely(paths, args.name).items()}
    qrels = None if args.qrels is None else read_qrels(args.qrels, **judgement_options(args))
    name = os.path.basename(path)
    return answer_input_from_files(queries, answers, qrels, args.measures, name=name, rel=args.rel or 1, encode=encode_texts)


def _tables(answer_input: AnswerInput, args: argparse.Namespace) -> Iterator[Table]:
    from rankproof._analysis.answers.causes import reasons_tables
    from rankproof._analysis.answers.quality import means_table, retrieval_table
    from rankproof._cli.options import known_profiles

    yield means_table(answer_input.inputs, level=1 - args.alpha)
    if len(answer_input.answers) > 1:
        yield from _comparison_tables(answer_input, args)
    yield reasons_tables({system: list(answer_input.records(system)) for system in answer_input.answers})
    yield retrieval_table(answer_input, known_profiles()["rag"])
    yield from _segment_tables(answer_input, args)


def _comparison_tables(answer_input: AnswerInput, args: argparse.Namespace) -> Iterator[Table]:
    from rankproof._analysis.compare.comparison import compare_inputs
    from rankproof._analysis.compare.decision_data import only_systems
    from rankproof._analysis.compare.pairs import CompareOptions

    inputs = answer_input.inputs
    names = list(inputs.result.systems[0].measures)
    chosen = names if args.measures or COMPARED_MEASURE not in names else [COMPARED_MEASURE]
    able = [system.name for system in inputs.result.systems if all(system.measures[name].queries > 1 for name in chosen)]
    if len(able) < 2:
        return
    options = CompareOptions(correction=args.correction, alpha=args.alpha, samples=args.samples, seed=args.seed)
    found = compare_inputs(only_systems(inputs, able), baseline=args.baseline, measures=chosen, options=options)
    wanted = ("verdicts", "details") if args.format in ("csv", "json") else ("verdicts",)
    yield from (table for table in found.tables if table.name in wanted)


def _segment_tables(answer_input: AnswerInput, args: argparse.Namespace) -> Iterator[Table]:
    """Segments by the fields of --by; by default only the values by the usual fields."""
    from rankproof._analysis.query_groups import group_queries
    from rankproof._analysis.segments import SegmentOptions, segments
    from rankproof._results.csv_files import GROUP_COLUMNS

    inputs = answer_input.inputs
    texts: Mapping[str, Query] = inputs.texts or {}
    there = {name for query in inputs.result.queries if query in texts for name in texts[query].fields}
    settings = SegmentOptions(correction=args.correction, alpha=args.alpha, samples=args.samples, seed=args.seed)
    names = list(inputs.result.systems[0].measures)
    measures = names if args.measures or COMPARED_MEASURE not in names else [COMPARED_MEASURE]
    for by in dict.fromkeys(args.by or [name for name in GROUP_COLUMNS if name in there]):
        for measure in measures:
            tables = segments(inputs, group_queries(inputs, by), measure, settings)
            yield from tables if args.by or args.format in ("csv", "json") else tables[:1]


COMMAND = Command(usage=USAGE, examples=EXAMPLES, add_arguments=add_arguments, run=run)
