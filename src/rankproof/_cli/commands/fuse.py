"""`rankproof fuse`: merges several runs into one."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rankproof._cli.flags import add_flag, add_flags, first_few, flag_of
from rankproof._cli.parser import Command
from rankproof._cli.terminal import STDOUT, Terminal, add_output_option, check_output
from rankproof._data.text import pluralise
from rankproof._evaluation.options import ReadArguments
from rankproof._registry import Setting, loadable
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
    from rankproof._api.fuse import fuse

    parser.add_argument("runs", nargs="+", metavar="RUN", help="the run files; - is standard input")
    how = parser.add_argument_group("fusion")
    add_flags(how, fuse, ["method"])
    for setting in _settings():
        add_flag(how, setting, default=None)
    how.add_argument("--train", metavar="QRELS", help="judgements that a trained method learns from, of queries of these runs")
    add_flags(how, fuse, ["depth"])
    out = parser.add_argument_group("output")
    out.add_argument("--tag", metavar="NAME", help="tag of the fused run (default: the method)")
    add_output_option(out, "write to a file instead of standard output; .gz and .zst compress")
    out.add_argument("--format", metavar="FORMAT", help="output format (default: by the suffix of the file, else trec)")
    read_options = parser.add_argument_group("input files")
    reading = ("run_format", "delimiter", "encoding", "order", "lower_is_better", "on_duplicate")
    add_flags(read_options, ReadArguments, reading)


def _settings() -> list[Setting]:
    """The parameters of all methods and normalisations, with the methods that use them."""
    from rankproof._fusion.method import METHODS, PARAMETERS, users_of
    from rankproof._fusion.normalisations import NORMALISATIONS

    shared = [_for_users(setting, users_of(key)) for key, setting in PARAMETERS.items()]
    declared = [_for_users(setting, [method.name]) for method in loadable(METHODS) for setting in method.own]
    scales = [_for_users(setting, [norm.name]) for norm in loadable(NORMALISATIONS) for setting in norm.parameters]
    return list({setting.key: setting for setting in (*shared, *declared, *scales)}.values())


def _for_users(setting: Setting, users: Sequence[str]) -> Setting:
    about = setting.option.description
    if setting.key in ("norm", "weights"):
        return setting
    is_rare = setting.key != "k"
    return setting._replace(option=setting.option._replace(description=f"{about}; for {', '.join(users)}", rare=is_rare))


def _parts_list(everything: bool) -> str:
    """The methods and normalisations, on request with their summaries."""
    from rankproof._fusion.method import METHODS
    from rankproof._fusion.normalisations import NORMALISATIONS
    from rankproof._registry import summaries

    if not everything:
        methods, norms = (f"  {', '.join(table)}" for table in (METHODS, NORMALISATIONS))
        return f"methods, described by --help-all:\n{methods}\n\nnormalisations:\n{norms}"
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
    settings = {setting.key: getattr(args, setting.key) for setting in _settings() if getattr(args, setting.key) is not None}
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


def _refuse_unused_options(args: argparse.Namespace) -> None:
    from rankproof._fusion.fuse import own_parameters_of
    from rankproof._fusion.method import METHODS, PARAMETERS, method_named, methods_with

    method = method_named(args.method)
    used = {setting.key for setting in (*method.parameters, *own_parameters_of(method, args.norm or PARAMETERS["norm"].default))}
    for setting in _settings():
        if getattr(args, setting.key) is not None and setting.key not in used:
            flag = flag_of(setting)
            fix = (
                f"leave out {flag}, or use --method {methods_with(setting.key)}"
                if setting.key in PARAMETERS
                else f"leave out {flag}"
            )
            raise UsageError(f"{method.name} does not use {flag}", fix=fix)
    if method.fit is not None and args.train is None:
        raise UsageError(f"{method.name} is trained", fix="pass judgements to learn from: --train QRELS")
    if method.fit is None and args.train is not None:
        trained = ", ".join(registered.name for registered in METHODS.registered().values() if registered.fit)
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
