"""`rankproof serve`: results folders in a browser, looked at, compared and judged."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..errors import UsageError, shown, visible
from .endings import escaped_trace
from .terminal import Terminal

if TYPE_CHECKING:
    from ..serving.ledger import Ledger

USAGE = "RESULTS… [--port N] [--judge QRELS] [--who NAME]"
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
    ledger = _ledger(args)
    try:
        site = Site(shelf, None if ledger is None else Bench(ledger))
        with heard_termination(), Service(args.port, site.answer, _teller(terminal)) as service:
            _greet(service.door.url, len(shelf.spots()), ledger, terminal)
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


def _greet(url: str, folders: int, ledger: Ledger | None, terminal: Terminal) -> None:
    """The address is the result; nothing else that is printed has the token."""
    if ledger is not None:
        if ledger.cut:
            terminal.note(f"the log of {shown(ledger.path)} ended in half a line, which was never saved: it is taken off")
        terminal.note(f"judgements go to {shown(ledger.path)} as {ledger.who}")
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
