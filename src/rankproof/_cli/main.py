"""The installed program: it finds the command, runs it and returns the exit code."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Sequence

from rankproof._cli.parser import GLOBAL_OPTIONS, split_command, unknown_name_error
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
    before, name, rest = split_command(arguments)
    if name is None:
        return _run_without_command(before)
    from rankproof._cli.parser import command_named, parser_of

    args = parser_of(name).parse([*before, *rest])
    terminal = Terminal(quiet=args.quiet, verbose=args.verbose, all_notes=args.notes)
    code = command_named(name).run(args, terminal)
    terminal.count_held_notes()
    return code


def _is_verbose(arguments: Sequence[str]) -> bool:
    return any(argument in ("-v", "--verbose") for argument in arguments)


_REFERENCE = {True: "reference reader: chosen by RANKPROOF_ENGINE", False: "reference reader: installed without a C compiler"}


def _run_without_command(arguments: Sequence[str]) -> int:
    """Shows the version or the help."""
    asked = [argument for argument in arguments if argument not in GLOBAL_OPTIONS]
    if asked and asked[0] not in ("--version", "-V", "--help", "-h"):
        raise unknown_name_error("option", asked[0], ["--version", "--help", *GLOBAL_OPTIONS], see="rankproof --help")
    if asked and asked[0] in ("--version", "-V"):
        Terminal().show(version())
        return 0
    from rankproof._cli.commands.help import first_page

    Terminal().show(first_page())
    return 0


def version() -> str:
    """The versions of rankproof, Python and numpy, and the file reader in use."""
    import platform

    import numpy

    from rankproof import _engine_choice
    from rankproof._version import __version__

    reader = "native reader" if _engine_choice.chosen_name() == "native" else _REFERENCE[_engine_choice.is_built()]
    return f"rankproof {__version__} ({reader})\nPython {platform.python_version()}, numpy {numpy.__version__}\n"
