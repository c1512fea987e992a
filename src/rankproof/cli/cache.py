"""`rankproof cache`: what is kept for the next run, how large it is, and its removal."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ..errors import visible
from .terminal import Terminal
from .values import whole

if TYPE_CHECKING:
    from .cache_entries import Entry

USAGE = "[list | clear] [--kind K] [--older-than DAYS]"
EXAMPLES = """\
examples:
  rankproof cache                            what is kept, and where
  rankproof cache clear --older-than 30      what was not written to for 30 days
  rankproof cache clear --kind stages        finished systems; models stay

everything here can be made again, but replies cost what they cost before: clear removes them only
where it is told to (--kind replies); RANKPROOF_CACHE names another folder"""
ACTIONS = ("list", "clear")
KINDS = {
    "models": "weights, as they are run",
    "stages": "finished systems",
    "journals": "unfinished work, vectors of documents",
    "databases": "left behind by runs that were killed",
    "replies": "what language models said",
}
PAID = "replies"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """List or clear, and which part."""
    parser.add_argument("action", nargs="?", default="list", choices=ACTIONS, help="show it (list), or remove it")
    parser.add_argument("--kind", action="append", choices=tuple(KINDS), help="only this kind, repeatable (all but replies)")
    parser.add_argument("--older-than", type=whole, metavar="DAYS", help="only what was not written to for so many days")


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Lists or clears."""
    import time

    from ..places import cache_home
    from .cache_entries import entries_of, removed

    home = cache_home()
    before = None if args.older_than is None else time.time() - args.older_than * 86400
    kinds = args.kind or [kind for kind in KINDS if args.action == "list" or kind != PAID]
    found = {kind: [one for one in entries_of(home / kind) if before is None or one.written < before] for kind in kinds}
    if args.action == "clear":
        gone = [one for entries in found.values() for one in removed(entries)]
        terminal.note(f"{len(gone)} entries removed from {home}, {_size(sum(one.size for one in gone))} freed")
        return 0
    terminal.show(_table(visible(str(home)), found))
    return 0


def _table(home: str, found: Mapping[str, Sequence[Entry]]) -> str:
    lines = [home, f"{'kind':<10} {'items':>6}  {'size':>9}"]
    for kind, entries in found.items():
        size = _size(sum(entry.size for entry in entries))
        lines.append(f"{kind:<10} {len(entries):>6}  {size:>9}  {KINDS[kind]}")
    return "\n".join(lines) + "\n"


def _size(size: float) -> str:
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"
