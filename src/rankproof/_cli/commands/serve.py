"""`rankproof serve`: results folders in a browser, looked at, compared and judged."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from rankproof._cli.command import Command
from rankproof._cli.exit_codes import escaped_traceback
from rankproof._cli.options import DEFAULT_SPLIT, read_dataset_or_sample
from rankproof._cli.terminal import Terminal
from rankproof.errors import UsageError, escape_invisible, for_message

if TYPE_CHECKING:
    from rankproof._server.judgement_log import JudgementLog
    from rankproof._server.judging_queue import DocumentTexts
    from rankproof._server.library import ResultsLibrary


USAGE = "RESULTS… [--port N] [--judge QRELS] [--assessor NAME] [--dataset FOLDER]"
EXAMPLES = """\
examples:
  rankproof serve rankproof-results/                       every results folder in it
  rankproof serve old-results/ new-results/                two experiments, to compare
  rankproof serve results/ --judge my.qrels --assessor ann      and judge what nobody judged yet

open the address that it prints; nobody else has it, and only this machine can. Ctrl-C ends it.
The file of judgements is new, or one that serve wrote before: rankproof eval reads it"""
_MAX_PORT = 65535


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which results, where, and who judges."""
    parser.add_argument("results", nargs="+", metavar="RESULTS", help="folders that `rankproof run` wrote, or a folder of them")
    parser.add_argument("--port", type=_port, default=0, metavar="N", help="on 127.0.0.1 (0: any that is free)")
    parser.add_argument("--judge", metavar="QRELS", help="let a person judge unjudged pairs, into this file")
    parser.add_argument("--assessor", metavar="NAME", help="who judges (the login name)")
    parser.add_argument("--dataset", metavar="FOLDER", help="what was searched, to judge whole documents (else their beginnings)")
    parser.add_argument(
        "--split", default=DEFAULT_SPLIT, metavar="NAME", help=f"which judgements of the dataset ({DEFAULT_SPLIT})"
    )


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Serves until it is interrupted."""
    import gc

    from rankproof._cli.exit_codes import handle_sigterm
    from rankproof._server.judging_queue import JudgingPage
    from rankproof._server.library import ResultsLibrary
    from rankproof._server.pages import Router
    from rankproof._server.server import Server

    gc.enable()
    shelf = ResultsLibrary(args.results)
    passages = _document_texts(args, shelf)
    ledger = _judgement_log(args)
    try:
        site = Router(shelf, None if ledger is None else JudgingPage(ledger), passages)
        with handle_sigterm(), Server(args.port, site.answer, _error_reporter(terminal)) as service:
            _print_address(service.door.url, shelf, ledger, terminal)
            service.serve_forever()
    except KeyboardInterrupt:
        terminal.note("ended")
    finally:
        if ledger is not None:
            ledger.close()
    return 0


def _judgement_log(args: argparse.Namespace) -> JudgementLog | None:
    from rankproof._server.judgement_log import JudgementLog

    if args.judge is None:
        if args.assessor is not None:
            raise UsageError("--assessor says who judges, and nobody does", fix="add --judge FILE, or leave out --assessor")
        return None
    return JudgementLog(args.judge, _login_name() if args.assessor is None else args.assessor)


def _document_texts(args: argparse.Namespace, library: ResultsLibrary) -> DocumentTexts:
    from rankproof._server.judging_queue import DocumentTexts

    if args.dataset is None:
        return DocumentTexts()
    if args.judge is None:
        raise UsageError("--dataset is for judging, and nobody does", fix="add --judge FILE, or leave out --dataset")
    passages = DocumentTexts(read_dataset_or_sample(args.dataset, args.split))
    passages.check_fingerprints([summary.fingerprint for summary in library.summaries()], args.dataset)
    return passages


def _scale_notes(library: ResultsLibrary) -> Iterator[str]:
    """The results that were judged on another scale than a person has here."""
    from rankproof._server.judging_queue import scale_warning

    for summary in library.summaries():
        if said := scale_warning(summary.highest):
            yield f"{for_message(summary.name)}: {said}"


def _print_address(url: str, library: ResultsLibrary, log: JudgementLog | None, terminal: Terminal) -> None:
    """The address is the result; nothing else that is printed has the token."""
    folders = len(library.entries())
    if log is not None:
        if log.cut:
            terminal.note(f"the log of {for_message(log.path)} ended in half a line, which was never saved: it is taken off")
        terminal.note(f"judgements go to {for_message(log.path)} as {log.assessor}")
        for note in _scale_notes(library):
            terminal.note(note)
    terminal.note(f"{folders} results {'folder' if folders == 1 else 'folders'}; open the address in a browser; Ctrl-C ends")
    terminal.show(f"{url}\n")


def _error_reporter(terminal: Terminal) -> Callable[[Exception], None]:
    """Says what went wrong inside, without what was asked for."""

    def tell(error: Exception) -> None:
        terminal.say(escape_invisible(f"internal error: {type(error).__name__}: {error}"))
        if terminal.verbose:
            terminal.say(escaped_traceback(error))

    return tell


def _login_name() -> str:
    import getpass

    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        raise UsageError("it is not known who judges", fix="say it with --assessor NAME") from None


def _port(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= len(str(_MAX_PORT)) and int(text) <= _MAX_PORT):
        raise argparse.ArgumentTypeError(f"{for_message(repr(text))} is no port: a whole number up to {_MAX_PORT}")
    return int(text)


COMMAND = Command(usage=USAGE, examples=EXAMPLES, add_arguments=add_arguments, run=run)
