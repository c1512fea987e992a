"""`rankproof cache`: shows or clears the cache."""

from __future__ import annotations

import argparse
import os
import shutil
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rankproof._cli.arg_types import nonnegative_int
from rankproof._cli.command import Command
from rankproof._cli.terminal import Terminal
from rankproof.errors import ExternalError, escape_invisible

USAGE = "[list | clear] [--kind K] [--older-than DAYS]"
EXAMPLES = """\
examples:
  rankproof cache                            its folder and what it holds
  rankproof cache clear --older-than 30      entries not written to for 30 days
  rankproof cache clear --kind stages        only the results of stages

Everything in the cache can be recomputed, but responses of language models cost money again: clear
removes them only with --kind responses. RANKPROOF_CACHE names another folder"""
ACTIONS = ("list", "clear")
KINDS = {
    "models": "model weights",
    "stages": "results of stages",
    "journals": "unfinished stages, document vectors",
    "databases": "left behind by killed runs",
    "responses": "responses of language models and search engines",
}
PAID_KIND = "responses"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the action and the entries."""
    parser.add_argument(
        "action", nargs="?", default="list", choices=ACTIONS, help="list the entries or remove them (default: list)"
    )
    parser.add_argument(
        "--kind", action="append", choices=tuple(KINDS), help="only this kind; repeatable (default of clear: all but responses)"
    )
    parser.add_argument("--older-than", type=nonnegative_int, metavar="DAYS", help="only entries not written to for DAYS days")


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Lists or removes the entries."""
    import time

    from rankproof._io.paths import cache_home

    home = cache_home()
    before = None if args.older_than is None else time.time() - args.older_than * 86400
    kinds = args.kind or [kind for kind in KINDS if args.action == "list" or kind != PAID_KIND]
    found = {kind: [one for one in cache_items(home / kind) if before is None or one.written < before] for kind in kinds}
    if args.action == "clear":
        gone = [one for entries in found.values() for one in remove_items(entries)]
        terminal.note(f"{len(gone)} entries removed from {home}, {_size(sum(one.size for one in gone))} freed")
        return 0
    terminal.show(_table(escape_invisible(str(home)), found))
    return 0


def _table(home: str, found: Mapping[str, Sequence[CacheItem]]) -> str:
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


@dataclass(frozen=True, slots=True)
class CacheItem:
    """A file or folder of the cache, its size in bytes and the time of its last write."""

    path: Path
    size: int
    written: float


def cache_items(folder: Path) -> list[CacheItem]:
    """The entries of a folder; none if it is missing or a link."""
    if folder.is_symlink() or not folder.is_dir():
        return []
    try:
        return [_cache_item(path) for path in sorted(folder.iterdir())]
    except OSError as error:
        raise _disk_error(folder, error) from None


def remove_items(entries: Iterable[CacheItem]) -> Iterator[CacheItem]:
    """Removes and yields each entry; of a link only the link itself."""
    for entry in entries:
        try:
            if entry.path.is_dir() and not entry.path.is_symlink():
                shutil.rmtree(entry.path)
            else:
                entry.path.unlink()
        except OSError as error:
            raise _disk_error(entry.path, error) from None
        yield entry


def _cache_item(path: Path) -> CacheItem:
    stats = list(_stats(path))
    return CacheItem(path, sum(one.st_size for one in stats if stat.S_ISREG(one.st_mode)), max(one.st_mtime for one in stats))


def _stats(path: Path) -> Iterator[os.stat_result]:
    own = path.lstat()
    yield own
    if stat.S_ISDIR(own.st_mode):
        for inner in path.iterdir():
            yield from _stats(inner)


def _disk_error(path: Path, error: OSError) -> ExternalError:
    return ExternalError(escape_invisible(f"{path}: {error.strerror or error}; check that this user may read and remove it"))


COMMAND = Command(usage=USAGE, examples=EXAMPLES, add_arguments=add_arguments, run=run)
