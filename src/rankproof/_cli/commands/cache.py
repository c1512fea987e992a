"""`rankproof cache`: shows or clears the cache."""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from rankproof._cli.flags import nonnegative_int
from rankproof._cli.parser import Command
from rankproof._cli.terminal import Terminal
from rankproof._io.cache_items import KINDS, PAID_KIND, CacheItem, CacheUse, cache_items, remove_items, size_text
from rankproof._io.paths import cache_home
from rankproof.errors import ExternalError, escape_invisible

USAGE = "[list | clear] [--kind K] [--older-than DAYS]"
EXAMPLES = """\
examples:
  rankproof cache                            its folder and what it holds
  rankproof cache clear --older-than 30      entries not used for 30 days
  rankproof cache clear --kind stages        only the results of stages

Everything in the cache can be recomputed, but responses of models cost money again: clear
removes them only with --kind responses. `rankproof run --cache-limit 20GB` keeps the cache small.
RANKPROOF_CACHE names another folder"""
ACTIONS = ("list", "clear")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the action and the entries."""
    parser.add_argument(
        "action", nargs="?", default="list", choices=ACTIONS, help="list the entries or remove them (default: list)"
    )
    parser.add_argument(
        "--kind", action="append", choices=tuple(KINDS), help="only this kind; repeatable (default of clear: all but responses)"
    )
    parser.add_argument("--older-than", type=nonnegative_int, metavar="DAYS", help="only entries not used for DAYS days")


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Lists or removes the entries."""
    home = cache_home()
    before = None if args.older_than is None else time.time() - args.older_than * 86400
    kinds = args.kind or [kind for kind in KINDS if args.action == "list" or kind != PAID_KIND]
    if args.action == "clear":
        return _clear(home, kinds, before, terminal)
    terminal.show(_table(escape_invisible(str(home)), _found(home, kinds, before)))
    return 0


def _found(home: Path, kinds: Sequence[str], before: float | None) -> dict[str, list[CacheItem]]:
    """The entries of each kind that were last used before the time."""
    return {kind: [item for item in cache_items(home / kind) if before is None or item.used < before] for kind in kinds}


def _clear(home: Path, kinds: Sequence[str], before: float | None, terminal: Terminal) -> int:
    with CacheUse(home if home.is_dir() else None, None) as use, use.alone() as alone:
        if not alone:
            fix = "wait until it ends, or remove the folder yourself if its file system has no locks"
            raise ExternalError(escape_invisible(f"{home}: another rankproof uses the cache; {fix}"))
        gone = [item for entries in _found(home, kinds, before).values() for item in remove_items(entries)]
    terminal.note(f"{len(gone)} entries removed from {home}, {size_text(sum(entry.size for entry in gone))} freed")
    return 0


def _table(home: str, entries_of_kinds: Mapping[str, Sequence[CacheItem]]) -> str:
    lines = [home, f"{'kind':<10} {'items':>6}  {'size':>9}  last used"]
    lines += [_row(kind, entries, KINDS[kind]) for kind, entries in entries_of_kinds.items()]
    lines.append(_row("total", [entry for entries in entries_of_kinds.values() for entry in entries], ""))
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _row(kind: str, entries: Sequence[CacheItem], what: str) -> str:
    used = time.strftime("%Y-%m-%d", time.localtime(max(entry.used for entry in entries))) if entries else ""
    return f"{kind:<10} {len(entries):>6}  {size_text(sum(entry.size for entry in entries)):>9}  {used:<10}  {what}"


COMMAND = Command(usage=USAGE, examples=EXAMPLES, add_arguments=add_arguments, run=run)
