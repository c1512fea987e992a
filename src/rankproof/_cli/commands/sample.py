"""`rankproof sample`: draws queries that stand for the traffic of a log, or says whether a sample still does."""

from __future__ import annotations

import argparse
from typing import Any

from rankproof._cli.flags import add_flags, values_of
from rankproof._cli.options import without_repeats
from rankproof._cli.parser import Command
from rankproof._cli.terminal import Terminal, add_format_option
from rankproof.errors import UsageError

USAGE = "LOG… [-n 300] [-o SET] | LOG… --check SET [options]"
EXAMPLES = """\
examples:
  rankproof sample queries.jsonl events.jsonl -n 300 -o set
  rankproof sample log.csv --set session=visit -n 300 --held-out 150 -o set
  rankproof sample this-month.jsonl --check set
  rankproof sample this-month.jsonl --check set --results results

LOG is a log as of rankproof online; only its queries and users count. SET is a dataset folder: add
documents and judgements, and every command uses the weights of its queries. Queries with an e-mail
address, a phone, card or account number, an IP address, 9 digits in a row or a URL with parameters are
left out before anything is written. SET/gate has the queries that are held out."""
_DRAW = ("n", "held_out", "min_users", "seed")
_LOG = ("columns", "user", "bots", "most_sessions")
_CHECK = ("sample", "results")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the log, the sample, the check and the output."""
    from rankproof._api.live import check_sample, sample_queries

    parser.add_argument("log", nargs="+", metavar="LOG", help="the files of the log")
    add_flags(parser.add_argument_group("sample"), sample_queries, _DRAW)
    add_flags(parser.add_argument_group("check"), check_sample, _CHECK)
    add_flags(parser.add_argument_group("log"), sample_queries, _LOG)
    out = parser.add_argument_group("output")
    add_format_option(out)
    out.add_argument("-o", "--output", metavar="SET", help="the folder to write the sample to")


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Draws the sample and writes it, or checks one, and shows what it stands for."""
    from rankproof._render.online import render_online

    result = _checked(args) if args.sample is not None else _drawn(args)
    terminal.show(render_online(result, args.format, terminal.render_options(to_file=False)))
    for note in result.notes:
        terminal.note(note)
    if args.sample is None:
        terminal.note(f"sample: {args.output}" if args.output else "not written; -o SET writes the queries")
    return 0


def _drawn(args: argparse.Namespace) -> Any:
    from rankproof._api.live import sample_queries

    if args.results is not None:
        raise UsageError("--results needs a sample to check", fix="add --check SET")
    return sample_queries(args.log, args.output, **_arguments(args, (*_DRAW, *_LOG)))


def _checked(args: argparse.Namespace) -> Any:
    from rankproof._api.live import check_sample

    if args.output is not None:
        raise UsageError("--check writes nothing", fix="leave out -o, or --check to draw a sample")
    return check_sample(args.log, args.sample, args.results, **_arguments(args, _LOG))


def _arguments(args: argparse.Namespace, names: tuple[str, ...]) -> dict[str, Any]:
    from rankproof._api.live import sample_queries

    values = {name: value for name, value in values_of(args, sample_queries, names).items() if value is not None}
    if "columns" in values:
        values["columns"] = without_repeats("--set", values["columns"])
    return values


COMMAND = Command(usage=USAGE, examples=EXAMPLES, add_arguments=add_arguments, run=run)
