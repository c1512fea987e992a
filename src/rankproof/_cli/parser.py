"""The argument parser of every verb, whose errors say what to do."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import NoReturn

from rankproof._cli.command import Command
from rankproof._cli.terminal import Terminal, stream_width
from rankproof.errors import UsageError, closest_name, for_message

GLOBAL_OPTIONS = ("-v", "--verbose", "--quiet")
EXIT_CODES = """\
exit codes:
  0  done
  1  a disk, network or library failed
  2  wrong input or usage; the message says where, and what to do
  3  a check failed: gate, or doctor --strict
  130  interrupted (143: terminated)"""


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """A help page as wide as the terminal; argparse would import shutil for every argument to find the width."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=stream_width(sys.stdout) - 2)


_TWO_COLUMNS = re.compile(r"( *\S.*?\s{2,})(\S.*)")
_MIN_COLUMN = 30


def fitted_page(page: str) -> str:
    """The page with no line wider than the terminal: commands break with a backslash, columns and sentences between words."""
    import textwrap

    width = stream_width(sys.stdout)
    lines: list[str] = []
    for part in re.split(r"(\n{2,})", page):
        each = part.split("\n")
        if all(line[:1].isalpha() and not line.startswith("usage: ") for line in each):
            each = [" ".join(each)] if max(map(len, each)) > width else each
        lines.append("\n".join(line for one in each for line in _fitted_line(one, width, textwrap.wrap)))
    return "".join(lines)


def _fitted_line(line: str, width: int, wrap: Callable[..., list[str]]) -> list[str]:
    if len(line) <= width:
        return [line]
    columns = _TWO_COLUMNS.fullmatch(line)
    if columns is not None and width - len(columns[1]) >= _MIN_COLUMN:
        return wrap(columns[2], width, initial_indent=columns[1], subsequent_indent=" " * len(columns[1]))
    if columns is not None:
        return [*_fitted_command(columns[1].rstrip(), width, wrap), *wrap(columns[2], width, initial_indent=" " * 6)]
    if line.startswith("  rankproof "):
        return _fitted_command(line, width, wrap)
    indent = "       " if line.startswith("usage: ") else line[: -len(line.lstrip())]
    return wrap(line, width, subsequent_indent=indent, break_on_hyphens=False)


def _fitted_command(line: str, width: int, wrap: Callable[..., list[str]]) -> list[str]:
    parts = wrap(line.strip(), width - 2, initial_indent="  ", subsequent_indent=" " * 6, break_on_hyphens=False)
    return [*(f"{part} \\" for part in parts[:-1]), parts[-1]]


class Parser(argparse.ArgumentParser):
    """An argument parser that raises UsageError and suggests the nearest option.

    `help_tail` returns the end of the help page where that takes time, such as a list of the parts of installed packages.
    """

    help_tail: Callable[[], str] | None = None

    def format_help(self) -> str:
        """The help page, no wider than the terminal."""
        page = super().format_help()
        return fitted_page(page if self.help_tail is None else f"{page}\n{self.help_tail()}\n")

    def error(self, message: str) -> NoReturn:
        """Raises UsageError for a wrong argument."""
        raise UsageError(message, fix=f"see {self.prog} --help")

    def print_help(self, file: object = None) -> None:
        """Writes the help page as a result; failing to write it is an error."""
        Terminal().show(self.format_help())

    def parse(self, argv: Sequence[str]) -> argparse.Namespace:
        """The arguments; options and files may come in any order."""
        args, unknown = self.parse_known_intermixed_args(_protect_dash_files(argv))
        if unknown:
            raise self._unknown_option_error(unknown[0])
        return args

    def _unknown_option_error(self, argument: str) -> UsageError:
        option = argument.partition("=")[0]
        if not argument.startswith("-"):
            return UsageError(f"unexpected argument {for_message(argument)}", fix=f"see {self.prog} --help")
        return unknown_name_error("option", option, [*self._option_string_actions], see=f"{self.prog} --help")


def _protect_dash_files(argv: Sequence[str]) -> list[str]:
    """The arguments; a file after `--` that begins with a dash becomes ./-file, so that it is no option."""
    at = argv.index("--") + 1 if "--" in argv else len(argv)
    return [*argv[:at], *(f"./{one}" if one.startswith("-") and one != "-" else one for one in argv[at:])]


def command_parser(program: str, summary: str, command: Command) -> Parser:
    """The parser of a command, with the options that every command has."""
    parser = Parser(
        prog=program,
        usage=f"{program} {command.usage}",
        description=f"{summary[:1].upper()}{summary[1:]}.",
        epilog=f"{command.examples}\n\n{_exit_codes(command)}",
        formatter_class=HelpFormatter,
        allow_abbrev=False,
    )
    parser.help_tail = command.help_tail
    command.add_arguments(parser)
    parser.add_argument("-v", "--verbose", action="store_true", help="show more, and the traceback of an internal error")
    parser.add_argument("--quiet", action="store_true", help="show no notes and no progress, only errors")
    return parser


def _exit_codes(command: Command) -> str:
    """The exit codes that the command can end with."""
    return "\n".join(line for line in EXIT_CODES.splitlines() if command.can_fail or not line.startswith("  3 "))


def split_command(arguments: Sequence[str]) -> tuple[list[str], str | None, list[str]]:
    """The arguments before the verb, the verb (None if there is none), and those after it."""
    for at, argument in enumerate(arguments):
        if argument not in GLOBAL_OPTIONS:
            if argument.startswith("-"):
                break
            return [*arguments[:at]], argument, [*arguments[at + 1 :]]
    return [*arguments], None, []


def unknown_name_error(kind: str, name: str, known: Iterable[str], *, see: str) -> UsageError:
    """An error for an unknown name, with the nearest known one."""
    near = closest_name(name, known, min_similarity=0.5)
    fix = f"did you mean {near}? See {see}" if near else f"see {see}"
    return UsageError(f"unknown {kind} {for_message(name)}", fix=fix)
