"""`rankproof mcp`: the functions of rankproof as tools of the Model Context Protocol, for agents."""

from __future__ import annotations

import argparse
from typing import Annotated, TypedDict

from rankproof._cli.exit_codes import escaped_traceback
from rankproof._cli.flags import add_flags
from rankproof._cli.parser import Command
from rankproof._cli.terminal import Terminal
from rankproof._data.validation import BUDGET
from rankproof._registry import Option
from rankproof.errors import UsageError, escape_invisible

USAGE = "FOLDER… [--write] [--judge NAME] [options]"
EXAMPLES = """\
examples:
  rankproof mcp results/                  tools that read this folder
  rankproof mcp results/ runs/ --write    tools that may write baselines and reports there
  rankproof mcp logs/ --judge gpt-4o-mini --budget money=1.00

An agent starts this command and talks to it over standard input and output. Its tools are eval,
compare, answers, explain, diagnose, segments, gate and report: a tool answers with the sentence
that the command prints, and with JSON. Paths outside the folders, paths with .. and links out of
the folders are rejected, and no code is imported. Labels beside a results folder are read too.
Needs the extra mcp: pip install 'rankproof[mcp]'"""


class McpArguments(TypedDict, total=False):
    """The options of the server."""

    write: Annotated[bool, Option("offer the options that write files: save, log and path", default=False)]
    judges: Annotated[
        list[str] | None,
        Option("also allow this judge of claims, which may cost money", flag="--judge", metavar="NAME", repeated=True),
    ]
    budget: Annotated[str | None, BUDGET._replace(description=f"limits of each call: {BUDGET.description.partition(': ')[2]}")]
    limit: Annotated[
        int,
        Option("the most characters of JSON in a reply", least=2000, most=1_000_000, metavar="N", default=20_000, rare=True),
    ]
    all_options: Annotated[bool, Option("offer rare options too", default=False, rare=True)]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the folders and what tools may do."""
    parser.add_argument("folders", nargs="*", metavar="FOLDER", help="the folders that tools may use")
    add_flags(parser, McpArguments)


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Serves the tools until standard input ends."""
    import gc

    from rankproof._mcp.server import serve_tools
    from rankproof._mcp.tools import TOOLS, Access, Folders

    gc.enable()
    if not args.folders:
        raise UsageError("no folder", fix="name the folders that tools may use: rankproof mcp results/")
    access = Access(Folders(args.folders), args.write, tuple(args.judges or ()), args.budget, args.all_options)
    mode = "which may write" if args.write else "read-only"
    terminal.note(f"{len(TOOLS)} tools, {mode}; waiting for an agent on standard input")

    def report(error: Exception) -> None:
        terminal.say(escape_invisible(f"internal error: {type(error).__name__}: {error}"))
        if terminal.verbose:
            terminal.say(escaped_traceback(error))

    serve_tools(access, args.limit, report)
    return 0


COMMAND = Command(usage=USAGE, examples=EXAMPLES, add_arguments=add_arguments, run=run)
