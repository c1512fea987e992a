"""`rankproof doctor`: checks data, runs and encoders for common mistakes."""

from __future__ import annotations

import argparse
import os
from dataclasses import replace
from typing import TYPE_CHECKING

from rankproof._cli.flags import add_flags, judgement_options
from rankproof._cli.inputs import add_analysis_options, check_result_document, read_input, show_tables
from rankproof._cli.options import is_sample, read_dataset_or_sample
from rankproof._cli.parser import Command
from rankproof._cli.terminal import Terminal, check_output
from rankproof.errors import UsageError, escape_invisible, for_message

if TYPE_CHECKING:
    from rankproof._analysis.doctor.check import DoctorInput
    from rankproof._analysis.inputs import AnalysisInput
    from rankproof._data.dataset import Queries


USAGE = "DATASET [RUN…] | RESULTS… | QRELS RUN… [--strict] [options]"
EXAMPLES = """\
examples:
  rankproof doctor my-dataset
  rankproof doctor my-dataset bm25.run dense.run
  rankproof doctor results --dataset my-dataset --strict
  rankproof doctor qrels.txt bm25.run --format json
  rankproof doctor my-dataset --train queries.train.jsonl --train-qrels qrels.train.tsv
  rankproof doctor set --log this-month.jsonl
  rankproof doctor --list

A dataset is a folder with corpus.jsonl, queries.jsonl and qrels, irds:NAME, or sample.
With --strict a severe finding gives exit code 3"""
SEVERE_EXIT_CODE = 3
_INPUTS_HELP = "a dataset and any runs on it, one or more results folders, or the judgements and then one or more runs"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the inputs and further files to check."""
    from rankproof._api.checks import doctor

    add_analysis_options(parser, _INPUTS_HELP)
    group = parser.add_argument_group("checks")
    add_flags(group, doctor, ("dataset", "train", "train_qrels", "log"))
    group.add_argument("--strict", action="store_true", help="exit with code 3 if a finding is severe")
    group.add_argument("--list", action="store_true", help="list the checks and run none")


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Runs the checks and shows the findings."""
    from rankproof._analysis.doctor.doctor import checks_table, is_severe, run_checks

    if args.list:
        show_tables([checks_table()], args, terminal)
        return 0
    check_output(args.output, [*args.files, args.dataset, args.train, args.train_qrels, *(args.log or ())])
    table = run_checks(_add_traffic(_add_training_queries(_doctor_input(args), args), args))
    show_tables([table], args, terminal)
    return SEVERE_EXIT_CODE if args.strict and is_severe(table) else 0


def _doctor_input(args: argparse.Namespace) -> DoctorInput:
    from rankproof._analysis.doctor.check import doctor_input_from_analysis, doctor_input_from_dataset
    from rankproof._analysis.inputs import check_same_dataset
    from rankproof._io.file_errors import missing_fix

    if not args.files and args.dataset is None:
        raise UsageError("no input files", fix=f"specify {_INPUTS_HELP}")
    first = _dataset_path(args.files[0]) if args.files else ""
    if len(args.files) == 1 and not _is_dataset(first) and first not in ("", "-") and not os.path.exists(first):
        raise UsageError(f"{for_message(first)}: no such file or folder", fix=missing_fix(first, f"specify {_INPUTS_HELP}"))
    if args.dataset is not None and _is_dataset(first):
        raise UsageError(f"{first} and {args.dataset} are two datasets", fix="specify one of them")
    if os.path.isdir(first) and not os.path.exists(os.path.join(first, "corpus.jsonl")):
        check_result_document(first)
    named = args.dataset or (first if _is_dataset(first) else None)
    dataset = None if named is None else read_dataset_or_sample(named, args=args, needs=())
    if dataset is not None and (not args.files or (len(args.files) == 1 and _is_dataset(first))):
        return doctor_input_from_dataset(dataset, rel=args.rel or 1)
    if len(args.files) == 1 and os.path.isfile(first):
        path = escape_invisible(first)
        fix = f"for a table or log that is a dataset, use --dataset {path}; for judgements, add runs"
        raise UsageError(f"{path} alone cannot be checked", fix=fix)
    inputs = _read_input(args, first)
    if dataset is not None and named is not None:
        check_same_dataset(dataset, named, inputs)
    return doctor_input_from_analysis(inputs, dataset)


def _dataset_path(path: str) -> str:
    """The path; a folder called sample becomes ./sample, as sample is the built-in dataset."""
    return os.path.join(os.curdir, path) if is_sample(path) and os.path.exists(path) else path


def _read_input(args: argparse.Namespace, first: str) -> AnalysisInput:
    """The input in the files; the first may be the built-in dataset."""
    from rankproof._sample import sample_folder

    if not is_sample(first):
        return read_input(args)
    with sample_folder() as folder:
        return read_input(argparse.Namespace(**{**vars(args), "files": [folder, *args.files[1:]]}))


def _is_dataset(path: str) -> bool:
    from rankproof._formats.detect import is_irds_name
    from rankproof._io.files import is_results_folder

    return is_sample(path) or is_irds_name(path) or (os.path.isdir(path) and not is_results_folder(path))


def _add_training_queries(inputs: DoctorInput, args: argparse.Namespace) -> DoctorInput:
    from rankproof._formats.read import read_qrels

    if args.train is not None:
        queries = _queries(args.train, args.encoding)
        inputs = replace(inputs, training=queries, parts=inputs.parts | {"training queries"})
    if args.train_qrels is not None:
        qrels = read_qrels(args.train_qrels, encoding=args.encoding, **judgement_options(args))
        inputs = replace(inputs, trained_on=qrels, parts=inputs.parts | {"training judgements"})
    return inputs


def _add_traffic(inputs: DoctorInput, args: argparse.Namespace) -> DoctorInput:
    from rankproof._api.checks import with_traffic

    return inputs if args.log is None else with_traffic(inputs, args.dataset or args.files[0], args.log)


def _queries(path: str, encoding: str) -> Queries:
    from rankproof._formats.texts import read_queries
    from rankproof._io.open import open_source

    return read_queries(open_source(path, encoding=encoding))


COMMAND = Command(usage=USAGE, examples=EXAMPLES, add_arguments=add_arguments, run=run, can_fail=True)
