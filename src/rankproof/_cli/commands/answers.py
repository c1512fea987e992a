"""`rankproof answers`: how good answers are, which differences are real, and what holds them back."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from rankproof._cli.arg_types import positive_int
from rankproof._cli.command import Command
from rankproof._cli.inputs import FORMATS, encode_texts, show_tables
from rankproof._cli.options import add_correction_option, add_sampling_options
from rankproof._cli.output import check_output
from rankproof._cli.terminal import Terminal
from rankproof.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rankproof._analysis.answers.inputs import AnswerInput
    from rankproof._data.dataset import Query
    from rankproof._data.table import Table


USAGE = "RESULTS | QUERIES ANSWERS… [--qrels FILE] [-m MEASURES] [options]"
EXAMPLES = """\
examples:
  rankproof answers results
  rankproof answers queries.jsonl gpt.jsonl local.jsonl --qrels qrels.tsv
  rankproof answers results -m EM,F1,ROUGE-L --by type --format markdown
  rankproof answers results -m "Similarity(model='minilm')"

a line of answers: {"query": "q1", "answer": "Paris", "cited": ["d1"]}, with "state": "abstained"
for an answer that says that there is none; references stand in the queries: "answers": ["Paris"].
Systems are compared by the measures of -m, else by F1(tokens='bag') alone"""
COMPARED_MEASURE = "F1(tokens='bag')"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The files, the measures, and how tables are shown."""
    parser.set_defaults(parser=parser)
    parser.add_argument("files", nargs="*", metavar="FILE", help="a results folder, or the queries and then answers")
    what = parser.add_argument_group("what to show")
    what.add_argument("-m", "--measures", action="append", metavar="MEASURES", help="comma separated, repeatable: EM,F1,ROUGE-L")
    what.add_argument("--by", action="append", metavar="FIELD", help="segments by a field of the queries (category, type…)")
    what.add_argument(
        "--name", action="append", default=[], metavar="NAME", help="a system's name, once for each file of answers"
    )
    what.add_argument("--format", choices=FORMATS, default="table", help="how to show it (table)")
    what.add_argument("-o", "--output", metavar="FILE", help="write there instead of to standard output")
    counts = parser.add_argument_group("what counts")
    counts.add_argument("--qrels", metavar="FILE", help="judgements, for citations (of a results folder: its own)")
    counts.add_argument(
        "--rel", "-l", type=positive_int, metavar="N", help="the least grade that counts (1, or the results folder's)"
    )
    how = parser.add_argument_group("how differences are tested")
    how.add_argument("--baseline", metavar="NAME", help="compare each system with this one, not every pair")
    add_correction_option(how)
    add_sampling_options(how, samples=10_000, of="flips and deals")


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Evaluates, compares, shows."""
    subject = _answer_input(args)
    show_tables(list(_tables(subject, args)), args, terminal)
    return 0


def _answer_input(args: argparse.Namespace) -> AnswerInput:
    from rankproof._results.folder import is_results_folder

    if not args.files:
        raise UsageError("nothing to look at", fix="name a results folder, or queries.jsonl and a file of answers or more")
    check_output(args.output, [*args.files, args.qrels])
    if any(map(is_results_folder, args.files)):
        return _input_from_folder(args)
    return _input_from_files(args)


def _input_from_folder(args: argparse.Namespace) -> AnswerInput:
    from rankproof._analysis.answers.inputs import answer_input_from_results
    from rankproof._results.folder import load_results

    if len(args.files) > 1 or args.qrels or args.name:
        raise UsageError("a results folder stands alone", fix="name one folder; it has its own judgements and names")
    return answer_input_from_results(load_results(args.files[0]), args.measures, rel=args.rel, encode=encode_texts)


def _input_from_files(args: argparse.Namespace) -> AnswerInput:
    from rankproof._analysis.answers.inputs import answer_input_from_files
    from rankproof._evaluation.inputs import name_runs_uniquely
    from rankproof._formats.read import read_qrels
    from rankproof._formats.texts import read_answers, read_queries
    from rankproof._io.open import open_source

    path, *paths = args.files
    if not paths:
        raise UsageError("there are no answers", fix="name the queries and then a file of answers or more")
    queries = read_queries(open_source(path))
    answers = {name: read_answers(open_source(each), queries) for name, each in name_runs_uniquely(paths, args.name).items()}
    qrels = None if args.qrels is None else read_qrels(args.qrels)
    name = os.path.basename(path)
    return answer_input_from_files(queries, answers, qrels, args.measures, name=name, rel=args.rel or 1, encode=encode_texts)


def _tables(subject: AnswerInput, args: argparse.Namespace) -> Iterator[Table]:
    from rankproof._analysis.answers.causes import reasons_tables
    from rankproof._analysis.answers.quality import means_table, retrieval_table
    from rankproof._cli.options import known_profiles

    yield means_table(subject.inputs, level=1 - args.alpha, seed=args.seed)
    if len(subject.answers) > 1:
        yield from _comparison_tables(subject, args)
    yield reasons_tables({system: list(subject.records(system)) for system in subject.answers})
    yield retrieval_table(subject, known_profiles()["rag"])
    yield from _segment_tables(subject, args)


def _comparison_tables(subject: AnswerInput, args: argparse.Namespace) -> Iterator[Table]:
    from dataclasses import replace

    from rankproof._analysis.compare.compare import compare

    result = subject.inputs.result
    names = list(result.systems[0].measures)
    chosen = names if args.measures or COMPARED_MEASURE not in names else [COMPARED_MEASURE]
    able = tuple(system for system in result.systems if all(system.measures[name].queries > 1 for name in chosen))
    if len(able) < 2:
        return
    tables = compare(
        replace(result, systems=able),
        baseline=args.baseline,
        measures=chosen,
        correction=args.correction,
        alpha=args.alpha,
        samples=args.samples,
        seed=args.seed,
    )
    wanted = ("verdicts", "details") if args.format in ("csv", "json") else ("verdicts",)
    yield from (table for table in tables if table.name in wanted)


def _segment_tables(subject: AnswerInput, args: argparse.Namespace) -> Iterator[Table]:
    """By the fields asked for, else the values alone by those of the usual ones that questions have."""
    from rankproof._analysis.query_groups import group_queries
    from rankproof._analysis.segments import SegmentOptions, segments
    from rankproof._results.csv_files import GROUP_COLUMNS

    inputs = subject.inputs
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
