"""`rankproof doctor`: what may be wrong with data or runs, before a number is believed."""

from __future__ import annotations

import argparse
import os
from dataclasses import replace
from typing import TYPE_CHECKING

from ..errors import UsageError
from .dataset import is_sample, read_named, refuse_other
from .evidence import add_inputs, evidence_of, show_tables
from .output import check_output
from .terminal import Terminal

if TYPE_CHECKING:
    from ..analysis.doctor import Subject
    from ..analysis.evidence import Evidence
    from ..data.queries import Queries

USAGE = "DATASET [RUN…] | RESULTS… | QRELS RUN… [--strict] [options]"
EXAMPLES = """\
examples:
  rankproof doctor my-dataset
  rankproof doctor my-dataset bm25.run dense.run
  rankproof doctor results --dataset my-dataset --strict
  rankproof doctor qrels.txt bm25.run --format json
  rankproof doctor my-dataset --train queries.train.jsonl --train-qrels qrels.train.tsv
  rankproof doctor --list

a dataset is a folder with corpus.jsonl, queries.jsonl and qrels, irds:NAME, or: sample;
with --strict a severe finding ends with exit code 3"""
SEVERE = 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The inputs of every analysis, and what else is to be looked at."""
    add_inputs(parser)
    group = parser.add_argument_group("what else to look at")
    group.add_argument("--dataset", metavar="FOLDER", help="the dataset that results or runs are about; or: sample")
    group.add_argument("--train", metavar="FILE", help="queries that a model was trained on, as JSONL")
    group.add_argument("--train-qrels", metavar="FILE", help="judgements that a model was trained on")
    group.add_argument("--strict", action="store_true", help="end with exit code 3 where a finding is severe")
    group.add_argument("--list", action="store_true", help="list the checks, and look at nothing")


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Examines and shows."""
    from ..analysis.doctor import catalogue, examine, is_severe

    if args.list:
        show_tables([catalogue()], args, terminal)
        return 0
    check_output(args.output, [*args.files, args.dataset, args.train, args.train_qrels])
    table = examine(_with_training(_subject(args), args))
    show_tables([table], args, terminal)
    return SEVERE if args.strict and is_severe(table) else 0


def _subject(args: argparse.Namespace) -> Subject:
    from ..analysis.doctor import of_dataset, of_evidence

    first = _place(args.files[0]) if args.files else ""
    if args.dataset is not None and _is_dataset(first):
        raise UsageError(f"{first} and {args.dataset} are two datasets", fix="name one of them")
    named = args.dataset or (first if _is_dataset(first) else None)
    dataset = None if named is None else read_named(named)
    if dataset is not None and (not args.files or (len(args.files) == 1 and _is_dataset(first))):
        return of_dataset(dataset, rel=args.rel or 1)
    evidence = _evidence(args, first)
    if dataset is not None and named is not None:
        refuse_other(dataset, named, evidence)
    return of_evidence(evidence, dataset)


def _place(path: str) -> str:
    """The path, written so that a folder called sample is not taken for the built-in dataset."""
    return os.path.join(os.curdir, path) if is_sample(path) and os.path.exists(path) else path


def _evidence(args: argparse.Namespace, first: str) -> Evidence:
    """What the files hold, the first of which may be the built-in dataset."""
    from ..samples import sample_folder

    if not is_sample(first):
        return evidence_of(args)
    with sample_folder() as folder:
        return evidence_of(argparse.Namespace(**{**vars(args), "files": [folder, *args.files[1:]]}))


def _is_dataset(path: str) -> bool:
    from ..experiment.results.folder import is_results_folder
    from ..formats import is_remote

    return is_sample(path) or is_remote(path) or (os.path.isdir(path) and not is_results_folder(path))


def _with_training(subject: Subject, args: argparse.Namespace) -> Subject:
    from ..formats import read_qrels

    if args.train is not None:
        queries = _queries(args.train, args.encoding)
        subject = replace(subject, training=queries, parts=subject.parts | {"training queries"})
    if args.train_qrels is not None:
        qrels = read_qrels(args.train_qrels, encoding=args.encoding)
        subject = replace(subject, trained_on=qrels, parts=subject.parts | {"training judgements"})
    return subject


def _queries(path: str, encoding: str) -> Queries:
    from ..formats.opening import open_source
    from ..formats.texts_format import read_queries

    return read_queries(open_source(path, encoding=encoding))
