"""`rankproof answers`: how good answers are, which differences are real, and what holds them back."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from ..errors import UsageError
from .evidence import FORMATS, show_tables
from .output import check_output
from .sampling import add_correction, add_sampling
from .terminal import Terminal
from .values import at_least_one

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ..analysis.answers.subject import AnswerSubject
    from ..analysis.table import Table
    from ..data.queries import Query

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
COMPARED = "F1(tokens='bag')"


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
        "--rel", "-l", type=at_least_one, metavar="N", help="the least grade that counts (1, or the results folder's)"
    )
    how = parser.add_argument_group("how differences are tested")
    how.add_argument("--baseline", metavar="NAME", help="compare each system with this one, not every pair")
    add_correction(how)
    add_sampling(how, samples=10_000, of="flips and deals")


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Evaluates, compares, shows."""
    subject = _subject(args)
    show_tables(list(_tables(subject, args)), args, terminal)
    return 0


def _subject(args: argparse.Namespace) -> AnswerSubject:
    from ..experiment.results.folder import is_results_folder

    if not args.files:
        raise UsageError("nothing to look at", fix="name a results folder, or queries.jsonl and a file of answers or more")
    check_output(args.output, [*args.files, args.qrels])
    if any(map(is_results_folder, args.files)):
        return _of_folder(args)
    return _of_files(args)


def _of_folder(args: argparse.Namespace) -> AnswerSubject:
    from ..analysis.answers.subject import subject_of_climb
    from ..experiment.results.folder import load

    if len(args.files) > 1 or args.qrels or args.name:
        raise UsageError("a results folder stands alone", fix="name one folder; it has its own judgements and names")
    return subject_of_climb(load(args.files[0]), args.measures, rel=args.rel)


def _of_files(args: argparse.Namespace) -> AnswerSubject:
    from ..analysis.answers.subject import subject_of_files
    from ..evaluation import name_each
    from ..formats import read_qrels
    from ..formats.answers_jsonl import read_answers
    from ..formats.opening import open_source
    from ..formats.texts_format import read_queries

    path, *paths = args.files
    if not paths:
        raise UsageError("there are no answers", fix="name the queries and then a file of answers or more")
    queries = read_queries(open_source(path))
    answers = {name: read_answers(open_source(each), queries) for name, each in name_each(paths, args.name).items()}
    qrels = None if args.qrels is None else read_qrels(args.qrels)
    return subject_of_files(queries, answers, qrels, args.measures, name=os.path.basename(path), rel=args.rel or 1)


def _tables(subject: AnswerSubject, args: argparse.Namespace) -> Iterator[Table]:
    from ..analysis.answers.means import means_table
    from ..analysis.answers.retrieval import retrieval_table
    from ..analysis.diagnose.answers import reasons_of_systems
    from .profiles import known_profiles

    yield means_table(subject.evidence, level=1 - args.alpha, seed=args.seed)
    if len(subject.answers) > 1:
        yield from _compared(subject, args)
    yield reasons_of_systems({system: list(subject.records(system)) for system in subject.answers})
    yield retrieval_table(subject, known_profiles()["rag"])
    yield from _segments(subject, args)


def _compared(subject: AnswerSubject, args: argparse.Namespace) -> Iterator[Table]:
    from dataclasses import replace

    from ..analysis.compare.compare import compare

    result = subject.evidence.result
    names = list(result.systems[0].measures)
    chosen = names if args.measures or COMPARED not in names else [COMPARED]
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


def _segments(subject: AnswerSubject, args: argparse.Namespace) -> Iterator[Table]:
    """By the fields asked for, else the values alone by those of the usual ones that questions have."""
    from ..analysis.segments.groups import grouped
    from ..analysis.segments.rows import SegmentSettings
    from ..analysis.segments.segments import segments
    from ..experiment.results.answers_table import GROUPS

    evidence = subject.evidence
    texts: Mapping[str, Query] = evidence.texts or {}
    there = {name for query in evidence.result.queries if query in texts for name in texts[query].fields}
    settings = SegmentSettings(correction=args.correction, alpha=args.alpha, samples=args.samples, seed=args.seed)
    names = list(evidence.result.systems[0].measures)
    measures = names if args.measures or COMPARED not in names else [COMPARED]
    for by in dict.fromkeys(args.by or [name for name in GROUPS if name in there]):
        for measure in measures:
            tables = segments(evidence, grouped(evidence, by), measure, settings)
            yield from tables if args.by or args.format in ("csv", "json") else tables[:1]
