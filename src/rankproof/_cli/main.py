"""Entry, verb lookup, help."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Sequence

from rankproof._cli.parser import EXIT_CODES, GLOBAL_OPTIONS, split_command, unknown_name_error
from rankproof._cli.terminal import Terminal


def entry() -> None:
    """The installed command; to start and end fast it collects no cyclic garbage, neither on the way nor at the end."""
    gc.disable()
    code = main()
    gc.freeze()
    sys.exit(code)


def main(argv: list[str] | None = None) -> int:
    """Runs the command line and gives its exit code; nothing escapes as a traceback."""
    return exit_code_of(_run, sys.argv[1:] if argv is None else argv)


def exit_code_of(run: Callable[[Sequence[str]], int], arguments: Sequence[str]) -> int:
    """The exit code of a command, whatever becomes of it."""
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


_REFERENCE = {True: "reference reader: asked for by RANKPROOF_ENGINE", False: "reference reader: no compiler was at hand"}
_HEAD = """\
usage: rankproof VERB …

Proves, with numbers, whether one search or RAG system is better than another."""
_OPTIONS = """\
options:
  -h, --help     this page; rankproof VERB --help is the page of one verb
  --version      version, and which reader is in use
  -v, --verbose  say more
  --quiet        no notes and no progress, errors only"""
_EXAMPLES = """\
examples:
  rankproof run                                    start here: the ladder on the built-in sample
  rankproof run --dataset my-data                  the same on your documents
  rankproof eval --sample                          the built-in sample, three systems
  rankproof eval qrels.txt bm25.run dense.run      the usual measures
  rankproof eval qrels.txt bm25.run -m nDCG@10,RR -q --format json
  rankproof measures nDCG                          what a measure is
  rankproof fuse bm25.run dense.run -o both.run
  source <(rankproof completion bash)"""


def _run_without_verb(arguments: Sequence[str]) -> int:
    """Prints the version or the help."""
    asked = [argument for argument in arguments if argument not in GLOBAL_OPTIONS]
    if asked and asked[0] not in ("--version", "-V", "--help", "-h"):
        raise unknown_name_error("option", asked[0], ["--version", "--help", *GLOBAL_OPTIONS], see="rankproof --help")
    Terminal().show(version() if asked and asked[0] in ("--version", "-V") else _help())
    return 0


def version() -> str:
    """rankproof's version and reader, and those of what it stands on."""
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
    return f"{_HEAD}\n\nverbs:\n{listed}\n\n{_OPTIONS}\n\n{_EXAMPLES}\n\n{EXIT_CODES}\n"
