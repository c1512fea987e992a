"""What the verbs of analysis work on: results folders, or judgements and run files."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from ..errors import UsageError
from .terminal import STDOUT, Terminal

if TYPE_CHECKING:
    from ..analysis.evidence import Evidence
    from ..analysis.table import Table
    from ..data.reading import Reading
    from ..data.run import Run
    from ..evaluation.options import Files

FORMATS = ("table", "json", "csv", "markdown", "latex")
WHAT = "a results folder or two, or the judgements and then one run or more"


def add_inputs(parser: argparse.ArgumentParser) -> None:
    """The files, the measures, and what counts."""
    from .eval_options import add_meaning, add_reading

    parser.set_defaults(parser=parser)
    parser.add_argument("files", nargs="*", metavar="FILE", help=WHAT)
    group = parser.add_argument_group("what to show")
    group.add_argument(
        "-m", "--measures", action="append", metavar="MEASURES", help="comma separated, repeatable: nDCG@10,RR,P@5"
    )
    group.add_argument("--format", choices=FORMATS, default="table", help="how to show it (table)")
    group.add_argument("-o", "--output", metavar="FILE", help="write there instead of to standard output")
    group.add_argument("--name", action="append", default=[], metavar="NAME", help="a system's name, once for each run")
    add_meaning(parser.add_argument_group("what counts"))
    add_reading(parser.add_argument_group("how files are read"))
    parser.set_defaults(rel=None)


def evidence_of(args: argparse.Namespace) -> Evidence:
    """What the files hold."""
    if not args.files:
        raise UsageError("nothing to look at", fix=f"name {WHAT}")
    if all(_is_results(path) for path in args.files):
        return _from_folders(args)
    if any(_is_results(path) for path in args.files):
        raise UsageError("results folders and run files are mixed", fix=f"name {WHAT}")
    return _from_files(args)


def show_tables(tables: Sequence[Table], args: argparse.Namespace, terminal: Terminal) -> None:
    """Renders the tables to standard output or to the file asked for, then says their notes."""
    from ..views.analysis import VIEWS

    text = VIEWS[args.format](tables, terminal.look(to_file=args.output not in STDOUT))
    if args.output in STDOUT:
        terminal.show(text)
    else:
        from ..formats.atomic import write_blocks

        write_blocks(args.output, [text.encode(errors="backslashreplace")])
    for note in dict.fromkeys(note for table in tables for note in table.notes):
        terminal.note(note)


class RunFiles(Mapping[str, "Run"]):
    """Run files by system name, each read when it is first asked for."""

    def __init__(self, paths: Mapping[str, str], files: Files, reading: Reading) -> None:
        self._paths, self._files, self._reading = paths, files, reading
        self._read: dict[str, Run] = {}

    def __getitem__(self, name: str) -> Run:
        if name not in self._read:
            from ..formats import open_file

            files = self._files
            opened = open_file(self._paths[name], format=files.run_format, delimiter=files.delimiter, encoding=files.encoding)
            self._read[name] = opened.run(name=name, reading=self._reading)
        return self._read[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)


def _is_results(path: str) -> bool:
    return os.path.isfile(os.path.join(path, "result.json"))


def _from_folders(args: argparse.Namespace) -> Evidence:
    from ..analysis.evidence import joined, of_climb
    from ..experiment.folder import load

    found = [_measured(of_climb(load(path)), args) for path in args.files]
    whole = found[0]
    for other in found[1:]:
        whole = joined(whole, other)
    return whole


def _measured(evidence: Evidence, args: argparse.Namespace) -> Evidence:
    """The evidence under the measures and options asked for, where any are."""
    from dataclasses import replace

    from ..evaluation import evaluate_runs
    from .eval_options import options_of

    options = options_of(_with_rel(args, evidence.rel), None)
    measures = args.measures or [str(one.measure) for one in evidence.result.systems[0].measures.values()]
    subset = options.queries or evidence.result.queries
    result = evaluate_runs(evidence.qrels, evidence.runs, measures, replace(options, queries=subset))
    return replace(evidence, result=result, rel=options.rel, reading=options.reading)


def _from_files(args: argparse.Namespace) -> Evidence:
    from ..analysis.evidence import Evidence
    from ..evaluation import evaluate_runs, name_each
    from ..formats import qrels_file, read_qrels
    from .eval_options import options_of

    if len(args.files) < 2:
        raise UsageError("there is no run", fix=f"name {WHAT}")
    options = options_of(_with_rel(args, 1), None)
    path, *runs = args.files
    named = name_each(runs, args.name)
    files = options.files
    qrels = read_qrels(
        qrels_file(path), format=files.qrels_format, delimiter=files.delimiter, encoding=files.encoding, grade_map=files.grade_map
    )
    result = evaluate_runs(qrels, named, args.measures, options)
    lazily = RunFiles(named, files, options.reading)
    return Evidence(os.path.basename(path), qrels.fingerprint(), qrels, lazily, result, options.rel, options.reading)


def _with_rel(args: argparse.Namespace, rel: int) -> argparse.Namespace:
    """The arguments with what counts as relevant where they do not say."""
    return argparse.Namespace(**{**vars(args), "rel": args.rel or rel})
