"""A command, its argument parser and help, and the commands by group, in the order of `rankproof --help`."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NoReturn

from rankproof._cli.terminal import Terminal, stream_width
from rankproof._registry import Component, Registry
from rankproof.errors import ExternalError, UsageError, closest_name, for_message

GLOBAL_OPTIONS = ("-v", "--verbose", "--quiet", "--notes")
EXIT_CODES = """\
exit codes:
  0  done
  1  a disk, network or library failed
  2  wrong input or usage; the message says where, and what to do
  3  a check failed: gate, or doctor --strict
  130  interrupted (143: terminated)"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A command of the CLI: its arguments, and a function that runs it and returns the exit code.

    `usage` follows the name in the usage line; it contains the word RESULTS if the command reads a results folder. The first
    three of `examples` are what people do with the command. `help_tail` returns the end of the help page if that takes time to
    make, in full for --help-all. `can_fail` says that the command exits with 3 if a check fails. `summary` is the line of a
    command of another package in `rankproof --help`; the registry has the lines of this package.
    """

    usage: str
    examples: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace, Terminal], int]
    summary: str = ""
    can_fail: bool = False
    help_tail: Callable[[bool], str] | None = None


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
        part_lines = part.split("\n")
        if all(line and not line[0].isspace() and not line.startswith("usage: ") for line in part_lines):
            part_lines = [" ".join(part_lines)] if max(map(len, part_lines)) > width else part_lines
        lines.append("\n".join(line for line_text in part_lines for line in _fitted_line(line_text, width, textwrap.wrap)))
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


_SHOWN_EXAMPLES = 3


class Parser(argparse.ArgumentParser):
    """The argument parser of a command: its help page hides `rare` options, and its errors suggest the nearest option."""

    def __init__(self, program: str, summary: str, command: Command) -> None:
        super().__init__(
            prog=program,
            usage=f"{program} {command.usage}",
            description=f"{summary[:1].upper()}{summary[1:]}{'' if summary.endswith('?') else '.'}",
            formatter_class=HelpFormatter,
            allow_abbrev=False,
            add_help=False,
        )
        self.command = command
        self.add_argument("-h", "--help", action="help", help="show this page")
        self.add_argument("--help-all", action=_HelpAll, help="show this page with rare options and all examples")
        command.add_arguments(self)
        self.add_argument("-v", "--verbose", action="store_true", help="show more, and the traceback of an internal error")
        self.add_argument("--notes", action="store_true", help="show every note, also those that change no decision")
        self.add_argument("--quiet", action="store_true", help="show no notes and no progress, only errors")

    def format_help(self, *, everything: bool = False) -> str:
        """The help page, no wider than the terminal: usage, what people do, options, then what else there is to know."""
        examples, about = _examples_and_rest(self.command.examples)
        shown = examples if everything else examples[:_SHOWN_EXAMPLES]
        formatter = self._get_formatter()
        formatter.add_usage(self.usage, self._actions, self._mutually_exclusive_groups)
        formatter.add_text(self.description)
        formatter.add_text("\n".join(("examples:", *shown)))
        for group in self._action_groups:
            formatter.start_section(group.title)
            formatter.add_text(group.description)
            formatter.add_arguments([action for action in group._group_actions if everything or not _is_rare(action)])
            formatter.end_section()
        tail = "" if self.command.help_tail is None else self.command.help_tail(everything)
        is_whole = everything or not (any(map(_is_rare, self._actions)) or len(examples) > _SHOWN_EXAMPLES)
        more = "" if is_whole else f"{self.prog} --help-all shows all options and examples"
        for text in (about, tail, _exit_codes(self.command), more):
            formatter.add_text(text)
        return fitted_page(formatter.format_help())

    def error(self, message: str) -> NoReturn:
        """Raises UsageError for a wrong argument."""
        raise UsageError(message, fix=f"see {self.prog} --help")

    def print_help(self, file: object = None, *, everything: bool = False) -> None:
        """Writes the help page as a result; failing to write it is an error."""
        Terminal().show(self.format_help(everything=everything))

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
    return [
        *argv[:at],
        *(f"./{argument}" if argument.startswith("-") and argument != "-" else argument for argument in argv[at:]),
    ]


class _HelpAll(argparse.Action):
    """Shows the whole help page."""

    def __init__(self, option_strings: Sequence[str], dest: str, help: str) -> None:
        super().__init__(option_strings, argparse.SUPPRESS, nargs=0, default=argparse.SUPPRESS, help=help)

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        assert isinstance(parser, Parser)
        parser.print_help(everything=True)
        parser.exit()


def _is_rare(action: argparse.Action) -> bool:
    return getattr(action, "rare", False)


def _examples_and_rest(text: str) -> tuple[list[str], str]:
    """The examples of a command with their continuation lines, and the text after the first blank line."""
    first, _, rest = text.partition("\n\n")
    examples: list[str] = []
    for line in first.splitlines()[1:]:
        if line.startswith("   "):
            examples[-1] += f"\n{line}"
        else:
            examples.append(line)
    return examples, rest


def _exit_codes(command: Command) -> str:
    """The exit codes that the command can end with."""
    return "\n".join(line for line in EXIT_CODES.splitlines() if command.can_fail or not line.startswith("  3 "))


def split_command(arguments: Sequence[str]) -> tuple[list[str], str | None, list[str]]:
    """The arguments before the command, the command (None if there is none), and those after it."""
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


def _commands(**summaries: str) -> tuple[Component, ...]:
    """Commands of one name with their module in `commands/`; a module called `import_` defines the command `import`."""
    home = "rankproof._cli.commands"
    return tuple(Component(name.rstrip("_"), f"{home}.{name}:COMMAND", summary) for name, summary in summaries.items())


MORE = "More"
"""The group of which `rankproof --help` lists only the names."""
GROUPS: Mapping[str, tuple[Component, ...]] = {
    "Decide": _commands(
        run="run search systems on a dataset: quality, latency and cost",
        compare="say which system to ship, and which differences are real",
        answers="evaluate RAG logs: answers, contexts and references",
        gate="pass, fail or unsure: is a build as good as its baseline?",
    ),
    "Live": _commands(
        online="say from a log of live search which system users prefer",
        sample="draw queries that stand for the traffic of a log",
    ),
    "Look": _commands(
        serve="try queries and settings, judge documents, browse",
        report="write results, or what changed, as one HTML page",
        plot="draw charts of results as PNG, SVG or PDF",
    ),
    "Understand": _commands(
        diagnose="find weak systems, stages and queries",
        explain="show how a value is computed: ranks, gains, terms",
        audit="show how ties and unjudged documents change values",
        doctor="check data, runs and encoders for common mistakes",
    ),
    "Improve": _commands(
        tune="find parameters, and their gain on held-out queries",
        fuse="merge several runs into one by rank or score fusion",
        judge="grade documents with a language model, or by rules",
        generate="generate test queries from documents",
    ),
    "Files": _commands(
        eval="evaluate run files against relevance judgements",
        import_="turn a table or another tool's export into a dataset",
        convert="convert a run, judgements or a dataset to another format",
        export="write results as CSV, JSON, LaTeX, Parquet and others",
        init="write an example experiment file with comments",
    ),
    MORE: _commands(
        prefer="say which system people prefer, from pairs of answers",
        segments="find groups of queries on which a system is significantly weaker",
        baselines="compare values with random, simple and best possible rankings",
        stability="say whether a decision stands with fewer queries or other judges",
        correlate="show how much rankings, or orders of systems, agree",
        agreement="show how far people, and a language model, agree on grades",
        measures="list the measures, or describe one: formula, source, when to use it",
        models="download and list model weights",
        cache="show or clear the cache",
        tokenizers="train and compare encoders that differ only in their tokenizer or prompts",
        mcp="let an agent ask all this: tools of the Model Context Protocol",
        completion="print a shell completion script",
        help="show this page, or the page of a command",
    ),
}
COMMANDS: Registry[Command] = Registry("command", "rankproof.commands", tuple(chain.from_iterable(GROUPS.values())))


def command_named(name: str) -> Command:
    """The command of that name; an unknown name is rejected with the nearest known one."""
    if name not in COMMANDS:
        raise unknown_name_error("command", name, COMMANDS.names(), see="rankproof --help")
    command = COMMANDS.load(name)
    if not isinstance(command, Command):
        raise ExternalError(f"the command {name} of another package is not a rankproof.plugins.Command; update or remove it")
    return command


def command_summary(name: str) -> str:
    """What the command does, in one line."""
    own = (component.summary for component in COMMANDS.components if component.name == name)
    return next(own, None) or command_named(name).summary


def parser_of(name: str) -> Parser:
    """The parser of a command."""
    command = command_named(name)
    return Parser(f"rankproof {name}", command_summary(name), command)


def loadable_commands() -> list[tuple[str, str]]:
    """Every command that can be loaded, with its summary."""
    return [(name, summary) for name, summary, is_loadable in _listed() if is_loadable]


def command_lines() -> dict[str, str]:
    """The summary of every command, or the reason why it cannot be loaded."""
    return {name: text for name, text, _ in _listed()}


def _listed() -> Iterator[tuple[str, str, bool]]:
    for name in COMMANDS.names():
        try:
            yield name, command_summary(name), True
        except ExternalError as error:
            yield name, str(error), False
