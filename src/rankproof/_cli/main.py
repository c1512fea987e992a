"""Entry, verb lookup, help."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Mapping, Sequence

from rankproof._cli.parser import EXIT_CODES, GLOBAL_OPTIONS, unknown_name_error
from rankproof._cli.terminal import Terminal

COMMANDS = {
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
    "save-baseline": "keep the values of systems as the baseline of the gate",
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
        from rankproof._cli.exit_codes import flush_output, prepare_streams

        prepare_streams()
        code = run(arguments)
        flush_output()
    except BaseException as error:
        from rankproof._cli.exit_codes import report_error

        return report_error(error, verbose=_is_verbose(arguments))
    return code


def _run(arguments: Sequence[str]) -> int:
    from rankproof._cli.parser import split_command

    before, verb, rest = split_command(arguments)
    if verb is None:
        # import dropped

        return run_without_command(before, COMMANDS)
    if verb not in COMMANDS:
        from rankproof._cli.parser import unknown_name_error

        raise unknown_name_error("verb", verb, COMMANDS, see="rankproof --help")
    return _run_command(verb, [*before, *rest])


def _run_command(verb: str, arguments: list[str]) -> int:
    from importlib import import_module

    from rankproof._cli.parser import command_parser
    from rankproof._cli.terminal import Terminal

    module = import_module(f"rankproof._cli.commands.{verb.replace('-', '_')}")
    args = command_parser(verb, COMMANDS[verb], module).parse(arguments)
    code: int = module.run(args, Terminal(quiet=args.quiet, verbose=args.verbose))
    return code


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


def run_without_command(arguments: Sequence[str], verbs: Mapping[str, str]) -> int:
    """Prints the version or the help."""
    asked = [argument for argument in arguments if argument not in GLOBAL_OPTIONS]
    if asked and asked[0] not in ("--version", "-V", "--help", "-h"):
        raise unknown_name_error("option", asked[0], ["--version", "--help", *GLOBAL_OPTIONS], see="rankproof --help")
    Terminal().show(version() if asked and asked[0] in ("--version", "-V") else _help(verbs))
    return 0


def version() -> str:
    """rankproof's version and reader, and those of what it stands on."""
    import platform

    import numpy

    from rankproof import _engine_choice
    from rankproof._version import __version__

    reader = "native reader" if _engine_choice.chosen_name() == "native" else _REFERENCE[_engine_choice.is_built()]
    return f"rankproof {__version__} ({reader})\nPython {platform.python_version()}, numpy {numpy.__version__}\n"


def _help(verbs: Mapping[str, str]) -> str:
    width = max(map(len, verbs))
    listed = "\n".join(f"  {verb:{width}}  {summary}" for verb, summary in verbs.items())
    return f"{_HEAD}\n\nverbs:\n{listed}\n\n{_OPTIONS}\n\n{_EXAMPLES}\n\n{EXIT_CODES}\n"
