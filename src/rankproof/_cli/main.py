"""The installed command: it finds the verb, runs it and returns the exit code."""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Callable, Sequence

from rankproof._cli.command import Command
from rankproof._cli.parser import EXIT_CODES, GLOBAL_OPTIONS, fitted_page, split_command, unknown_name_error
from rankproof._cli.terminal import Terminal


def entry() -> None:
    """Runs the installed command without the garbage collector, which makes it start and end faster."""
    gc.disable()
    code = main()
    gc.freeze()
    sys.exit(code)


def main(argv: list[str] | None = None) -> int:
    """Runs the command line and returns its exit code; no exception leaves it."""
    return exit_code_of(_run, sys.argv[1:] if argv is None else argv)


def exit_code_of(run: Callable[[Sequence[str]], int], arguments: Sequence[str]) -> int:
    """Runs a command and returns its exit code, also after an error."""
    try:
        from rankproof._cli.exit_codes import flush_output, prepare_streams

        prepare_streams()
        code = run(arguments)
        flush_output()
    except BaseException as error:
        from rankproof._cli.exit_codes import report_error

        return report_error(error, verbose=_is_verbose(arguments))
    return code


def _run(arguments: Sequence[str]) -> int:
    before, verb, rest = split_command(arguments)
    if verb is None:
        return _run_without_verb(before)
    from rankproof._cli.registry import command_named, parser_of

    args = parser_of(verb).parse([*before, *rest])
    return command_named(verb).run(args, Terminal(quiet=args.quiet, verbose=args.verbose))


def _is_verbose(arguments: Sequence[str]) -> bool:
    return any(argument in ("-v", "--verbose") for argument in arguments)


_REFERENCE = {True: "reference reader: chosen by RANKPROOF_ENGINE", False: "reference reader: installed without a C compiler"}
_HEAD = """\
usage: rankproof COMMAND …

Evaluates search and RAG systems, and tests whether one is better than another."""
_OPTIONS = """\
options:
  -h, --help     show this page; rankproof COMMAND --help describes one command
  --version      show the version and the file reader in use
  -v, --verbose  show more
  --quiet        show no notes and no progress, only errors"""
_EXAMPLES = """\
examples:
  rankproof run                                    start here: the default systems on the sample
  rankproof run --dataset my-data                  the same systems on your documents
  rankproof eval --sample                          three systems on the built-in sample
  rankproof eval qrels.txt bm25.run dense.run      the default measures
  rankproof eval qrels.txt bm25.run -m nDCG@10,RR -q --format json
  rankproof measures nDCG                          when to use nDCG, and when not
  rankproof fuse bm25.run dense.run -o both.run
  source <(rankproof completion bash)"""


def _run_without_verb(arguments: Sequence[str]) -> int:
    """Shows the version or the help."""
    asked = [argument for argument in arguments if argument not in GLOBAL_OPTIONS]
    if asked and asked[0] not in ("--version", "-V", "--help", "-h"):
        raise unknown_name_error("option", asked[0], ["--version", "--help", *GLOBAL_OPTIONS], see="rankproof --help")
    Terminal().show(version() if asked and asked[0] in ("--version", "-V") else _help())
    return 0


def version() -> str:
    """The versions of rankproof, Python and numpy, and the file reader in use."""
    import platform

    import numpy

    from rankproof import _engine_choice
    from rankproof._version import __version__

    reader = "native reader" if _engine_choice.chosen_name() == "native" else _REFERENCE[_engine_choice.is_built()]
    return f"rankproof {__version__} ({reader})\nPython {platform.python_version()}, numpy {numpy.__version__}\n"


def _help() -> str:
    from rankproof._cli.registry import verb_lines

    verbs = verb_lines()
    width = max(map(len, verbs))
    listed = "\n".join(f"  {verb:{width}}  {summary}" for verb, summary in verbs.items())
    return fitted_page(f"{_HEAD}\n\ncommands:\n{listed}\n\n{_OPTIONS}\n\n{_EXAMPLES}\n\n{EXIT_CODES}\n")


def _add_help_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the command."""
    parser.add_argument("command", nargs="?", metavar="COMMAND", help="the command (default: the page with all commands)")


def _run_help(args: argparse.Namespace, terminal: Terminal) -> int:
    """Shows the page of the command, as `rankproof COMMAND --help` does, or that of all commands."""
    from rankproof._cli.registry import parser_of

    terminal.show(_help() if args.command is None else parser_of(args.command).format_help())
    return 0


_HELP_EXAMPLES = """\
examples:
  rankproof help           as rankproof --help
  rankproof help compare   as rankproof compare --help"""
HELP = Command(usage="[COMMAND]", examples=_HELP_EXAMPLES, add_arguments=_add_help_arguments, run=_run_help)
