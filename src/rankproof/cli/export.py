"""`rankproof export`: results for other programs."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from ..errors import UsageError
from .answer_evidence import asks_for_answers
from .evidence import MAIN, add_evidence, measured_anew, refuse_no_folder
from .export_subset import narrowed
from .output import check_output, write_or_show
from .terminal import STDOUT, Terminal
from .values import query_ids

if TYPE_CHECKING:
    from ..experiment.rung import Climb

USAGE = "RESULTS -o FILE [--format FORMAT] | RESULTS --to mlflow [options]"
EXAMPLES = """\
examples:
  rankproof export results -o values.csv
  rankproof export results -o values.parquet
  rankproof export results -o table.tex -m nDCG@10,RR@10
  rankproof export results --format markdown
  rankproof export results -o junit.xml
  rankproof export results --to mlflow --experiment search

csv and parquet hold every number a row: each query's values and times, each system's means and
costs. latex is a table for a paper, its raised letters by `rankproof compare`; junit has a case for
each system and measure, failed where it is significantly worse than the system below. latex,
markdown and junit test nDCG@10, RR@10 and R@100 unless -m says otherwise. mlflow gets a run for
each system; nothing leaves the machine unless the address says so. Extras: parquet, mlflow"""
SUFFIXES = {
    ".csv": "csv",
    ".json": "json",
    ".md": "markdown",
    ".markdown": "markdown",
    ".tex": "latex",
    ".xml": "junit",
    ".parquet": "parquet",
}
FORMATS = tuple(dict.fromkeys(SUFFIXES.values()))
STORE = "sqlite:///mlruns.db"
_TESTED = ("latex", "markdown", "junit")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The folder, the measures, and where it goes."""
    add_evidence(parser, "what to write")
    where = parser.add_argument_group("where to")
    where.add_argument("-o", "--output", metavar="FILE", help="write there instead of to standard output")
    where.add_argument("--format", choices=FORMATS, help="where the file's suffix does not say it (csv)")
    where.add_argument("--to", choices=("mlflow",), help="a tracking store, instead of a file")
    where.add_argument("--tracking-uri", metavar="URI", help=f"of MLflow ({STORE})")
    where.add_argument("--experiment", metavar="NAME", help="of MLflow (the results' name)")


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Reads, renders, writes."""
    _check(args)
    format = _format(args)
    if format in _TESTED:
        args.measures = args.measures or MAIN
    climb = _climb(args)
    if args.to:
        return _track(climb, args, terminal)
    if format == "parquet":
        from ..formats.atomic import write_blocks
        from ..views.parquet import as_parquet

        write_blocks(args.output, [as_parquet(climb)])
        return 0
    from .export_texts import WRITERS

    write_or_show(WRITERS[format](climb, terminal), args.output, terminal)
    return 0


def _check(args: argparse.Namespace) -> None:
    from ..experiment.results.folder import is_results_folder

    if len(args.files) == 1 and not is_results_folder(args.files[0]):
        refuse_no_folder(args.files[0])
    if len(args.files) != 1 or not is_results_folder(args.files[0]):
        raise UsageError("export takes one results folder", fix="name a folder that `rankproof run` wrote")
    if len(args.name) > 1:
        raise UsageError(f"{len(args.name)} names for one results folder", fix="give it one, or none")
    if asks_for_answers(args.measures):
        what = "-m chooses measures of rankings"
        raise UsageError(what, fix="leave those of answers out: csv, parquet, json and mlflow have them all")
    if args.to and (args.output or args.format):
        raise UsageError("a tracking store is no file", fix="leave out -o and --format, or --to")
    if not args.to and (args.tracking_uri or args.experiment):
        raise UsageError("--tracking-uri and --experiment are MLflow's", fix="add --to mlflow")


def _format(args: argparse.Namespace) -> str:
    suffix = "" if args.output in STDOUT else os.path.splitext(args.output.removesuffix(".gz").removesuffix(".zst"))[1].lower()
    format = str(args.format or SUFFIXES.get(suffix) or ("csv" if args.output in STDOUT or args.to else ""))
    if not format:
        raise UsageError(f"{args.output} does not say its format", fix=f"choose with --format: {', '.join(FORMATS)}")
    if format == "parquet" and args.output in STDOUT:
        raise UsageError("a Parquet file is not for a terminal", fix="name a file with -o")
    return format


def _climb(args: argparse.Namespace) -> Climb:
    """The results on the queries asked for, evaluated anew by the measures and what counts."""
    from dataclasses import replace

    from ..analysis.evidence import evidence_of_climb
    from ..experiment.results.folder import load

    check_output(args.output, [*args.files, args.queries])
    climb = load(args.files[0])
    evidence = evidence_of_climb(climb)
    if args.queries is not None:
        queries = query_ids(args.queries, args.encoding)
        climb = narrowed(climb, queries)
        evidence = replace(evidence, result=replace(evidence.result, queries=tuple(queries)))
    anew = measured_anew(evidence, argparse.Namespace(**{**vars(args), "queries": None}))
    return replace(climb, name=(args.name or [climb.name])[0], result=anew.result, rel=anew.rel)


def _track(climb: Climb, args: argparse.Namespace, terminal: Terminal) -> int:
    from ..tracking.mlflow_store import track

    name = args.experiment or climb.name
    done = track(climb, uri=args.tracking_uri or STORE, experiment=name)
    for system in done.written:
        terminal.show(f"{system}\n")
    if done.known:
        terminal.note(f"already there, and left alone: {', '.join(done.known)}")
    return 0
