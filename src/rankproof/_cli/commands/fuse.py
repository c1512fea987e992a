"""`rankproof fuse`: merges several runs into one."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rankproof._cli.command import Command
from rankproof._cli.flags import add_flags, first_few, float_list
from rankproof._cli.output import check_output
from rankproof._cli.terminal import STDOUT, Terminal
from rankproof._data.text import pluralise
from rankproof._evaluation.options import ReadArguments
from rankproof.errors import UsageError

if TYPE_CHECKING:
    from rankproof._data.run import Run
    from rankproof._data.validation import ReadOptions
    from rankproof._fusion.method import FittedFusion


USAGE = "RUN RUN… [--method M] [-o FILE] [options]"
EXAMPLES = """\
examples:
  rankproof fuse bm25.run dense.run > both.run
  rankproof fuse bm25.run dense.run --depth 100 --tag hybrid -o both.run.gz
  rankproof fuse bm25.run dense.run --method combsum --norm z-score --weights 1,2 -o both.csv
  rankproof fuse bm25.run dense.run --method probfuse --segments 20 --train judged.qrels -o both.run"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the runs, the fusion method and the output."""
    from rankproof._fusion.method import METHODS, PARAMETERS, users_of
    from rankproof._fusion.normalisations import NORMALISATIONS

    parser.add_argument("runs", nargs="+", metavar="RUN", help="the run files; - is standard input")
    how = parser.add_argument_group("fusion")
    how.add_argument(
        "--method", type=_method_name, choices=METHODS, default="rrf", metavar="METHOD", help="fusion method (rrf): %(choices)s"
    )
    how.add_argument("--norm", choices=NORMALISATIONS, metavar="NORM", help="score normalisation (min-max): %(choices)s")
    how.add_argument("--weights", type=float_list, metavar="W,W…", help="one weight for each run (default: 1 for each)")
    for parameter in PARAMETERS.values():
        if parameter.kind in ("number", "integer"):
            about = f"{parameter.about}; for {', '.join(users_of(parameter.name))} (default: {parameter.default:g})"
            kind = float if parameter.kind == "number" else int
            how.add_argument(f"--{parameter.name}", type=kind, metavar="N", help=about)
    how.add_argument("--train", metavar="QRELS", help="judgements that a trained method learns from, of queries of these runs")
    how.add_argument("--depth", type=int, metavar="N", help="keep the first N documents of each fused ranking")
    out = parser.add_argument_group("output")
    out.add_argument("--tag", metavar="NAME", help="tag of the fused run (default: the method)")
    out.add_argument("-o", "--output", metavar="FILE", help="write to a file instead of standard output; .gz and .zst compress")
    out.add_argument("--format", metavar="FORMAT", help="output format (default: by the suffix of the file, else trec)")
    read_options = parser.add_argument_group("input files")
    reading = ("run_format", "delimiter", "encoding", "order", "lower_is_better", "on_duplicate")
    add_flags(read_options, ReadArguments, reading)


def _parts_list() -> str:
    """The methods and normalisations with their summaries."""
    from rankproof._fusion.method import METHODS
    from rankproof._fusion.normalisations import NORMALISATIONS
    from rankproof._registry import summaries

    return f"methods:\n{summaries(METHODS)}\n\nnormalisations:\n{summaries(NORMALISATIONS)}"


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Reads the runs, fuses them and writes the result."""
    from rankproof._data.validation import ReadOptions
    from rankproof._formats.read import read_run
    from rankproof._formats.write import run_blocks, write_run
    from rankproof._fusion.fuse import fuse, partial_queries

    _refuse_unused_options(args)
    check_output(args.output, args.runs)
    read_options = ReadOptions(order=args.order, lower_is_better=args.lower_is_better, on_duplicate=args.on_duplicate)
    known = {"format": args.run_format, "delimiter": args.delimiter, "encoding": args.encoding}
    runs = [read_run(path, read_options=read_options, **known) for path in args.runs]
    settings = {name: getattr(args, name) for name in _settings() if getattr(args, name) is not None}
    reading = {"order": args.order, "lower_is_better": args.lower_is_better}
    if args.train is not None:
        settings["fitted"] = _fitted(args, runs, settings, reading, terminal)
        settings.pop("segments", None)
    fused = fuse(runs, args.method, depth=args.depth, name=args.tag, **settings, **reading)
    if args.output in STDOUT:
        terminal.show_bytes(run_blocks(fused, args.format or "trec"))
    else:
        write_run(fused, args.output, args.format)
    if partial := partial_queries(runs):
        terminal.note(f"queries missing from some runs are fused from the others: {first_few(partial)}")
    _note_ranks(runs, read_options, terminal)
    return 0


def _method_name(name: str) -> str:
    """The name of the method, from one that it has in another tool."""
    from rankproof._fusion.method import own_name

    return own_name(name)


def _settings() -> list[str]:
    from rankproof._fusion.method import PARAMETERS

    return list(PARAMETERS)


def _refuse_unused_options(args: argparse.Namespace) -> None:
    from rankproof._fusion.method import METHODS, methods_with

    method = METHODS[args.method]
    for setting in _settings():
        if getattr(args, setting) is not None and setting not in (*method.uses, *method.fit_uses):
            fix = f"leave out --{setting}, or use --method {methods_with(setting)}"
            raise UsageError(f"{method.name} does not use --{setting}", fix=fix)
    if method.fit is not None and args.train is None:
        raise UsageError(f"{method.name} is trained", fix="pass judgements to learn from: --train QRELS")
    if method.fit is None and args.train is not None:
        trained = ", ".join(one.name for one in METHODS.registered().values() if one.fit)
        raise UsageError(f"{method.name} is not trained", fix=f"leave out --train, or use --method one of {trained}")


def _fitted(
    args: argparse.Namespace, runs: Sequence[Run], settings: Mapping[str, Any], reading: Mapping[str, Any], terminal: Terminal
) -> FittedFusion:
    """What the method learns from the judgements, with a note on the queries that are fused too."""
    from rankproof._formats.read import read_qrels
    from rankproof._fusion.fuse import check_some_judged, fit_fusion

    qrels = read_qrels(args.train)
    check_some_judged(qrels, runs)
    more = {name: settings[name] for name in ("segments",) if name in settings}
    fitted = fit_fusion(args.method, qrels, runs, **more, **reading)
    fused = {query for run in runs for query in run.queries}
    if learned := [query for query in qrels if query in fused]:
        count = pluralise(len(learned), "fused query is", "fused queries are")
        terminal.note(f"{count} among those that {fitted.method} learned from; evaluate it on other queries")
    return fitted


def _note_ranks(runs: Sequence[Run], read_options: ReadOptions, terminal: Terminal) -> None:
    from rankproof._data.ordering import rank_score_agreement

    for run in runs:
        agreement = rank_score_agreement(run.rows(), read_options)
        if note := agreement.note(lower_is_better=read_options.lower_is_better):
            terminal.note(f"{run.name}: {note} (see --order and --lower-is-better)")


COMMAND = Command(usage=USAGE, examples=EXAMPLES, add_arguments=add_arguments, run=run, help_tail=_parts_list)
