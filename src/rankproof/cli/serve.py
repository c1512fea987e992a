"""`rankproof serve`: results folders in a browser, looked at, compared and judged."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from ..errors import UsageError, shown, visible
from .dataset import SPLIT, read_named
from .endings import escaped_trace
from .terminal import Terminal

if TYPE_CHECKING:
    from ..serving.ledger import Ledger
    from ..serving.passages import Passages
    from ..serving.shelf import Shelf

USAGE = "RESULTS… [--port N] [--judge QRELS] [--who NAME] [--dataset FOLDER]"
EXAMPLES = """\
examples:
  rankproof serve rankproof-results/                       every results folder in it
  rankproof serve old-results/ new-results/                two experiments, to compare
  rankproof serve results/ --judge my.qrels --who ann      and judge what nobody judged yet

open the address that it prints; nobody else has it, and only this machine can. Ctrl-C ends it.
The file of judgements is new, or one that serve wrote before: rankproof eval reads it"""
_HIGHEST = 65535


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which results, where, and who judges."""
    parser.add_argument("results", nargs="+", metavar="RESULTS", help="folders that `rankproof run` wrote, or a folder of them")
    parser.add_argument("--port", type=_port, default=0, metavar="N", help="on 127.0.0.1 (0: any that is free)")
    parser.add_argument("--judge", metavar="QRELS", help="let a person judge unjudged pairs, into this file")
    parser.add_argument("--who", metavar="NAME", help="who judges (the login name)")
    parser.add_argument("--dataset", metavar="FOLDER", help="what was searched, to judge whole documents (else their beginnings)")
    parser.add_argument("--split", default=SPLIT, metavar="NAME", help=f"which judgements of the dataset ({SPLIT})")


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Serves until it is interrupted."""
    import gc

    from ..serving.bench import Bench
    from ..serving.server import Service
    from ..serving.shelf import Shelf
    from ..serving.site import Site
    from .termination import heard_termination

    gc.enable()
    shelf = Shelf(args.results)
    passages = _passages(args, shelf)
    ledger = _ledger(args)
    try:
        site = Site(shelf, None if ledger is None else Bench(ledger), passages)
        with heard_termination(), Service(args.port, site.answer, _teller(terminal)) as service:
            _greet(service.door.url, shelf, ledger, terminal)
            service.serve_forever()
    except KeyboardInterrupt:
        terminal.note("ended")
    finally:
        if ledger is not None:
            ledger.close()
    return 0


def _ledger(args: argparse.Namespace) -> Ledger | None:
    from ..serving.ledger import Ledger

    if args.judge is None:
        if args.who is not None:
            raise UsageError("--who says who judges, and nobody does", fix="add --judge FILE, or leave out --who")
        return None
    return Ledger(args.judge, _login() if args.who is None else args.who)


def _passages(args: argparse.Namespace, shelf: Shelf) -> Passages:
    from ..serving.passages import Passages

    if args.dataset is None:
        return Passages()
    if args.judge is None:
        raise UsageError("--dataset is for judging, and nobody does", fix="add --judge FILE, or leave out --dataset")
    passages = Passages(read_named(args.dataset, args.split))
    passages.refuse_strange([summary.fingerprint for summary in shelf.summaries()], args.dataset)
    return passages


def _scales(shelf: Shelf) -> Iterator[str]:
    """The results that were judged on another scale than a person has here."""
    from ..serving.bench import other_scale

    for summary in shelf.summaries():
        if said := other_scale(summary.highest):
            yield f"{shown(summary.name)}: {said}"


def _greet(url: str, shelf: Shelf, ledger: Ledger | None, terminal: Terminal) -> None:
    """The address is the result; nothing else that is printed has the token."""
    folders = len(shelf.spots())
    if ledger is not None:
        if ledger.cut:
            terminal.note(f"the log of {shown(ledger.path)} ended in half a line, which was never saved: it is taken off")
        terminal.note(f"judgements go to {shown(ledger.path)} as {ledger.who}")
        for note in _scales(shelf):
            terminal.note(note)
    terminal.note(f"{folders} results {'folder' if folders == 1 else 'folders'}; open the address in a browser; Ctrl-C ends")
    terminal.show(f"{url}\n")


def _teller(terminal: Terminal) -> Callable[[Exception], None]:
    """Says what went wrong inside, without what was asked for."""

    def tell(error: Exception) -> None:
        terminal.say(visible(f"internal error: {type(error).__name__}: {error}"))
        if terminal.verbose:
            terminal.say(escaped_trace(error))

    return tell


def _login() -> str:
    import getpass

    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        raise UsageError("it is not known who judges", fix="say it with --who NAME") from None


def _port(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= len(str(_HIGHEST)) and int(text) <= _HIGHEST):
        raise argparse.ArgumentTypeError(f"{shown(repr(text))} is no port: a whole number up to {_HIGHEST}")
    return int(text)
