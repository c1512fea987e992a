"""What the verbs of analysis work on: results folders, or judgements and run files."""

from __future__ import annotations

import argparse
import os
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from ..errors import UsageError, shown
from .answer_evidence import answered, asks_for_answers
from .output import check_output, write_or_show
from .terminal import STDOUT, Terminal

if TYPE_CHECKING:
    from ..analysis.evidence import Evidence
    from ..analysis.table import Table

FORMATS = ("table", "json", "csv", "markdown", "latex")
MAIN = ["nDCG@10,RR@10,R@100"]
"""The measures of verbs that test: few, as p-values are raised for their number."""
READ_TOO = ("queries", "by_file", "bands", "dataset", "train", "train_qrels")
"""Options that name a file or folder which is read beside the evidence."""
WHAT = "a results folder or two, or the judgements and then one run or more"


def add_inputs(parser: argparse.ArgumentParser) -> None:
    """The files, the measures, what counts, and how tables are shown."""
    group = add_evidence(parser, "what to show")
    group.add_argument("--format", choices=FORMATS, default="table", help="how to show it (table)")
    group.add_argument("-o", "--output", metavar="FILE", help="write there instead of to standard output")


def add_evidence(parser: argparse.ArgumentParser, title: str) -> argparse._ArgumentGroup:
    """The files, the measures and what counts; gives the group of the measures, under that title."""
    from .eval_options import add_meaning, add_reading

    parser.set_defaults(parser=parser)
    parser.add_argument("files", nargs="*", metavar="FILE", help=WHAT)
    group = parser.add_argument_group(title)
    group.add_argument(
        "-m", "--measures", action="append", metavar="MEASURES", help="comma separated, repeatable: nDCG@10,RR,P@5"
    )
    group.add_argument("--name", action="append", default=[], metavar="NAME", help="a run's name, or a folder's: once for each")
    add_meaning(parser.add_argument_group("what counts"))
    add_reading(parser.add_argument_group("how files are read"))
    parser.set_defaults(rel=None)
    return group


def evidence_of(args: argparse.Namespace) -> Evidence:
    """What the files hold; an output that would be written over one of them is refused."""
    if not args.files:
        raise UsageError("nothing to look at", fix=f"name {WHAT}")
    check_output(args.output, [*args.files, *(getattr(args, name, None) for name in READ_TOO)])
    from ..experiment.results.folder import is_results_folder

    folders = [path for path in args.files if is_results_folder(path)]
    if len(folders) == len(args.files):
        return _from_folders(args)
    if folders:
        raise UsageError("results folders and run files are mixed", fix=f"name {WHAT}")
    return _from_files(args)


def refuse_no_folder(path: str) -> None:
    """Says so where a results folder is not there, or is a folder of something else."""
    fix = "name a folder that `rankproof run` wrote"
    if path not in ("", "-") and not os.path.exists(path):
        raise UsageError(f"{shown(path)}: no such file or folder", fix=fix)
    if os.path.isdir(path):
        raise UsageError(f"{shown(path)} is no results folder", fix=fix)


def show_tables(tables: Sequence[Table], args: argparse.Namespace, terminal: Terminal) -> None:
    """Renders the tables to standard output or to the file asked for, then says their notes."""
    from ..views.analysis import VIEWS

    write_or_show(VIEWS[args.format](tables, terminal.look(to_file=args.output not in STDOUT)), args.output, terminal)
    for note in dict.fromkeys(note for table in tables for note in table.notes):
        terminal.note(note)


def _from_folders(args: argparse.Namespace) -> Evidence:
    from dataclasses import replace

    from ..analysis.evidence import evidence_of_climb
    from ..analysis.joining import joined
    from ..analysis.wording import counted
    from ..experiment.results.folder import load

    if args.name and len(args.name) != len(args.files):
        what = f"{counted(len(args.name), 'name')} for {counted(len(args.files), 'results folder')}"
        raise UsageError(what, fix="give each folder a name, or none")
    if asks_for_answers(args.measures):
        found = [answered(load(path), args.measures, _subset(args)) for path in args.files]
    else:
        found = [measured_anew(evidence_of_climb(load(path)), args) for path in args.files]
    names = args.name or _names([one.name for one in found], args.files)
    return joined([replace(one, name=name) for one, name in zip(found, names, strict=True)])


def _subset(args: argparse.Namespace) -> Collection[str] | None:
    from .values import query_ids

    return None if args.queries is None else query_ids(args.queries, args.encoding)


def _names(experiments: list[str], paths: list[str]) -> list[str]:
    """What the experiments are called; where two have the same name the folders', or else the paths themselves."""
    folders = [os.path.basename(os.path.abspath(path)) for path in paths]
    return next((names for names in (experiments, folders) if len(set(names)) == len(names)), paths)


def measured_anew(evidence: Evidence, args: argparse.Namespace) -> Evidence:
    """The evidence under the measures and options asked for, where any are."""
    from dataclasses import replace

    from ..evaluation import evaluate_runs
    from .eval_options import options_of

    options = options_of(_with_rel(args, evidence.rel), None)
    measures = args.measures or [str(one.measure) for one in evidence.result.systems[0].measures.values()]
    subset = options.queries or evidence.result.queries
    result = evaluate_runs(evidence.qrels, evidence.runs, measures, replace(options, queries=subset))
    return replace(evidence, result=result, rel=options.rel, reading=options.reading, skip_missing=options.skip_missing)


def _from_files(args: argparse.Namespace) -> Evidence:
    from ..analysis.evidence import of_result
    from ..evaluation import evaluate_runs, name_each
    from ..formats import qrels_file, read_qrels
    from .eval_options import options_of
    from .run_files import RunFiles

    if len(args.files) < 2:
        refuse_no_folder(args.files[0])
        raise UsageError("there is no run", fix=f"name {WHAT}")
    options = options_of(_with_rel(args, 1), None)
    path, *runs = args.files
    named = name_each(runs, args.name)
    files = options.files
    qrels = read_qrels(
        qrels_file(path), format=files.qrels_format, delimiter=files.delimiter, encoding=files.encoding, grade_map=files.grade_map
    )
    read = RunFiles(named, files, options.reading)
    result = evaluate_runs(qrels, read.sources, args.measures, options)
    return of_result(result, qrels, read, options, name=os.path.basename(path))


def _with_rel(args: argparse.Namespace, rel: int) -> argparse.Namespace:
    """The arguments with what counts as relevant where they do not say."""
    return argparse.Namespace(**{**vars(args), "rel": args.rel or rel})
