"""`rankproof online`: says from a log of live search which system users prefer."""

from __future__ import annotations

import argparse
from typing import Any

from rankproof._cli.command import Command
from rankproof._cli.flags import add_flags, values_of
from rankproof._cli.options import without_repeats
from rankproof._cli.output import add_format_option, check_output, write_or_show
from rankproof._cli.terminal import STDOUT, Terminal

USAGE = "LOG… [-o RESULTS] [options]"
EXAMPLES = """\
examples:
  rankproof online queries.jsonl events.jsonl
  rankproof online log.csv --set session=visit --set doc=item
  rankproof online ubi.jsonl --primary "Conversion(purchase)" --guardrail "latency_ms<+20"
  rankproof online ubi.jsonl --since 2026-11-03 --by device -o results

LOG is UBI (queries and events, in one file or several), or a table with one row per document shown
and per event: session,user,time,system,rank,doc,action[,variant,value]. Lists of rp.interleave and
A/B tests are recognised. Intervals are valid at every look, so look as often as you like."""
_LOG = ("columns", "user", "variant", "experiment", "since", "clicks", "value_field", "window", "bots", "most_sessions")
_DECISION = ("primary", "metrics", "guardrails", "baseline", "margin", "costs", "by", "shares", "expect")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the log, the decision and the output."""
    from rankproof._api.live import online

    parser.add_argument("log", nargs="+", metavar="LOG", help="the files of the log")
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
    from rankproof._render.table import TABLE_RENDERERS

    check_output(args.output, args.log)
    result = online(args.log, **_arguments(args))
    render = TABLE_RENDERERS[args.format]
    write_or_show(render(result.tables, terminal.render_options(to_file=args.output not in STDOUT)), args.output, terminal)
    for note in result.notes:
        terminal.note(note)
    return 0


def _arguments(args: argparse.Namespace) -> dict[str, Any]:
    """The options as arguments of `online`."""
    from rankproof._api.live import online

    values = {name: value for name, value in values_of(args, online, (*_LOG, *_DECISION)).items() if value is not None}
    for name, flag in (("columns", "--set"), ("costs", "--cost"), ("shares", "--share")):
        if name in values:
            values[name] = without_repeats(flag, values[name])
    return values


COMMAND = Command(usage=USAGE, examples=EXAMPLES, add_arguments=add_arguments, run=run)
