"""`rankproof help`: the page of all commands, or that of one."""

from __future__ import annotations

import argparse

from rankproof._cli.parser import COMMANDS, GROUPS, MORE, Command, command_lines, fitted_page, parser_of
from rankproof._cli.terminal import Terminal

_HEAD = """\
usage: rankproof COMMAND …

Shows which search or RAG system is better, and whether the difference is real.

try:
  rankproof run                                     default systems on a sample
  rankproof compare qrels.txt bm25.run dense.run    which of two run files to ship
  rankproof answers log.jsonl                       are the answers of RAG right?"""
_OPTIONS = """\
rankproof COMMAND --help describes one command; rankproof --version"""


def first_page() -> str:
    """The page of all commands, which fits a screen: 45 lines of 80 columns."""
    lines = command_lines()
    groups = {title: [command.name for command in commands] for title, commands in GROUPS.items() if title != MORE}
    grouped = {name for commands in GROUPS.values() for name in (command.name for command in commands)}
    if installed := [name for name in COMMANDS if name not in grouped]:
        groups["Installed"] = installed
    title_width, name_width = max(map(len, groups)), max(len(name) for names in groups.values() for name in names)
    blocks = []
    for title, names in groups.items():
        titles = [title, *([""] * len(names))]
        rows = zip(titles, names, strict=False)
        blocks.append("\n".join(f"{shown:{title_width}}  {name:{name_width}}  {lines[name]}" for shown, name in rows))
    more = f"{MORE:{title_width}}  {', '.join(command.name for command in GROUPS[MORE])}"
    return fitted_page("\n\n".join((_HEAD, *blocks, more, _OPTIONS)) + "\n")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the command."""
    parser.add_argument("command", nargs="?", metavar="COMMAND", help="the command (default: the page with all commands)")


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Shows the page of the command, as `rankproof COMMAND --help` does, or that of all commands."""
    terminal.show(first_page() if args.command is None else parser_of(args.command).format_help())
    return 0


EXAMPLES = """\
examples:
  rankproof help           as rankproof --help
  rankproof help compare   as rankproof compare --help"""
COMMAND = Command(usage="[COMMAND]", examples=EXAMPLES, add_arguments=add_arguments, run=run)
