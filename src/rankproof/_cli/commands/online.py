"""`rankproof online`: says from a log of live search which system users prefer."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, Any

from rankproof._cli.flags import add_flags, values_of
from rankproof._cli.options import without_repeats
from rankproof._cli.parser import Command
from rankproof._cli.terminal import STDOUT, Terminal, add_format_option, check_output, write_or_show
from rankproof.errors import UsageError, escape_invisible

if TYPE_CHECKING:
    from rankproof._analysis.online.result import OnlineResult

USAGE = "LOG… [-o RESULTS] | LOG… --value RUN | --history FILE [options]"
EXAMPLES = """\
examples:
  rankproof online queries.jsonl events.jsonl
  rankproof online log.csv --set session=visit --set doc=item
  rankproof online ubi.jsonl --primary "Conversion(purchase)" --guardrail "latency_ms<+20"
  rankproof online ubi.jsonl --since 2026-11-03 --by device -o results
  rankproof online ubi.jsonl --value new.run --dataset queries
  rankproof online --history experiments.csv

LOG is UBI (queries and events, in one file or several), or a table with one row per document shown
and per event: session,user,time,system,rank,doc,action[,variant,value]. Lists of rp.interleave and
A/B tests are recognised. Intervals are valid at every look, so look as often as you like."""
_QUESTION = ("value", "dataset", "estimator", "clip", "history", "record")
_SUFFIXES = {"json": "json", "csv": "csv", "markdown": "md", "latex": "tex"}
_LOG = ("columns", "user", "variant", "experiment", "since", "clicks", "value_field", "window", "bots", "most_sessions")
_DECISION = ("primary", "metrics", "guardrails", "baseline", "margin", "costs", "by", "shares", "expect")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the log, the decision and the output."""
    from rankproof._api.live import online

    parser.add_argument("log", nargs="*", metavar="LOG", help="the files of the log")
    add_flags(parser.add_argument_group("other questions"), online, _QUESTION)
    add_flags(parser.add_argument_group("log"), online, _LOG)
    add_flags(parser.add_argument_group("decision"), online, _DECISION)
    out = parser.add_argument_group("output")
    add_format_option(out)
    out.add_argument(
        "-o", "--output", metavar="RESULTS", help="the file to write; without a suffix a results folder with the report"
    )


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Reads the log and shows what users prefer."""
    from rankproof._api.live import online
    from rankproof._render.online import render_online

    check_output(args.output, [*args.log, args.history])
    folder = args.output if args.output not in STDOUT and not os.path.splitext(args.output)[1] else None
    if folder is not None and (args.value or args.history):
        raise UsageError("a results folder holds a decision", fix=f"name a file with a suffix, such as -o {folder}.json")
    if folder is not None:
        _check_folder(folder, args.format)
    result = online(args.log or None, **_arguments(args))
    options = terminal.render_options(to_file=args.output not in STDOUT and folder is None)
    write_or_show(render_online(result, args.format, options), None if folder else args.output, terminal)
    for note in result.notes:
        terminal.note(note)
    if folder is not None:
        _save(result, folder, terminal)
    return 0


def _check_folder(folder: str, view: str) -> None:
    """Refuses, before the log is read, a folder that cannot be written."""
    from rankproof._results.live_results import check_live_folder

    if view != "table":
        raise UsageError(f"--format {view} needs a file", fix=f"name it with a suffix, such as -o {folder}.{_SUFFIXES[view]}")
    check_live_folder(folder)


def _save(result: OnlineResult, folder: str, terminal: Terminal) -> None:
    """Writes the results folder with its report, and says where it is."""
    from datetime import UTC, datetime

    from rankproof._analysis.online.documents import live_document, live_summary
    from rankproof._report.live_page import render_live_report
    from rankproof._results.live_results import save_live_results
    from rankproof._results.result_json import REPORT_FILE

    name = os.path.basename(os.path.normpath(folder))
    document = live_document(result, name, datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"))
    save_live_results(document, folder, render_live_report(document), live_summary(document))
    terminal.note(f"results: {escape_invisible(folder)}; open {escape_invisible(os.path.join(folder, REPORT_FILE))} in a browser")


def _arguments(args: argparse.Namespace) -> dict[str, Any]:
    """The options as arguments of `online`."""
    from rankproof._api.live import online

    values = {
        name: value for name, value in values_of(args, online, (*_QUESTION, *_LOG, *_DECISION)).items() if value is not None
    }
    for name, flag in (("columns", "--set"), ("costs", "--cost"), ("shares", "--share")):
        if name in values:
            values[name] = without_repeats(flag, values[name])
    return values


COMMAND = Command(usage=USAGE, examples=EXAMPLES, add_arguments=add_arguments, run=run)
