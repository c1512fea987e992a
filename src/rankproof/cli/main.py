"""The `rankproof` command: finds the verb, runs it, and turns every ending into an exit code and at most one line.

Verbs are imported when they are called, so that none pays for the others.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Sequence

VERBS = {
    "run": "climb the ladder of an experiment: quality, latency and cost of each system",
    "init": "write a commented experiment file",
    "eval": "evaluate run files against judgements",
    "compare": "say which differences between systems are real, in numbers and in words",
    "doctor": "look for what may be wrong with data or runs, before a number is believed",
    "explain": "take one number apart: queries, ranks, gains, terms",
    "audit": "the same runs by other tools' conventions; ties; holes in the judgements",
    "segments": "show on which kinds of queries a system is weak, and whether that is chance",
    "diagnose": "say what is wrong with each system, stage and segment, and which queries fail",
    "baselines": "show every value beside chance, the simplest search, the best order, and bands",
    "answers": "measure answers against references, and say what holds them back",
    "gate": "fail a build on a significant drop, a missed bound, or queries that went missing",
    "bless": "keep the values of systems as the baseline of the gate",
    "report": "write one page with the verdict, the ladder and every query, which opens anywhere",
    "serve": "show results folders in a browser: list, reports, compare, and judging by a person",
    "plot": "draw charts as PNG, SVG or PDF: quality, latency, recall, differences, segments",
    "export": "write results as CSV, JSON, Markdown, LaTeX, JUnit or Parquet, or to MLflow",
    "generate": "make synthetic queries from documents, each with the document it was made from",
    "judge": "grade pairs of query and document by a language model, and hold it against people",
    "fuse": "join several runs into one, by reciprocal rank or by score",
    "convert": "turn a run, judgements or a dataset into another format",
    "measures": "list the measures, with definition, range, source and aliases",
    "cache": "show or clear what is kept for the next run",
    "models": "get and list model weights",
    "tokenizers": "train and compare encoders that differ in their tokenizer alone",
    "completion": "print the completion script of a shell",
}


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
        from .streams import flush_output, prepare_streams

        prepare_streams()
        code = run(arguments)
        flush_output()
    except BaseException as error:
        from .endings import ended_by

        return ended_by(error, verbose=_is_verbose(arguments))
    return code


def _run(arguments: Sequence[str]) -> int:
    from .parsing import split_verb

    before, verb, rest = split_verb(arguments)
    if verb is None:
        from .top import run_top

        return run_top(before, VERBS)
    if verb not in VERBS:
        from .parsing import unknown

        raise unknown("verb", verb, VERBS, see="rankproof --help")
    return _run_verb(verb, [*before, *rest])


def _run_verb(verb: str, arguments: list[str]) -> int:
    from importlib import import_module

    from .parsing import parser_of
    from .terminal import Terminal

    module = import_module(f"rankproof.cli.{verb}")
    args = parser_of(verb, VERBS[verb], module).arguments_of(arguments)
    code: int = module.run(args, Terminal(quiet=args.quiet, verbose=args.verbose))
    return code


def _is_verbose(arguments: Sequence[str]) -> bool:
    return any(argument in ("-v", "--verbose") for argument in arguments)
