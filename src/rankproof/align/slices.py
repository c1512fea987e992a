"""A run file read by several threads: cut where one query ends and the next begins, each slice aligned on its own."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import fields, replace
from itertools import pairwise
from threading import Event
from typing import BinaryIO, TypeVar

import numpy as np

from .hits import Hits, Seen
from .reference import FEW_QUERIES, FEW_TAGS

LEAST_BYTES = 4 << 20
_LOOK_BYTES = 1 << 20
_Part = TypeVar("_Part")


class Slice:
    """Bytes `start` to `end` of a file, which end early once `stop` is set."""

    def __init__(self, path: str, start: int, end: int, stop: Event) -> None:
        self._file = open(path, "rb", buffering=0)  # noqa: SIM115
        self._file.seek(start)
        self._left = end - start
        self._stop = stop

    def readinto(self, buffer: memoryview, /) -> int | None:
        if self._stop.is_set():
            return 0
        count = self._file.readinto(buffer[: self._left])
        self._left -= count or 0
        return count

    def close(self) -> None:
        self._file.close()


def cuts(path: str, count: int, least: int) -> list[int]:
    """Where to cut a file into `count` slices of about the same size, from 0 to its size; fewer where it is small."""
    size = os.path.getsize(path)
    count = max(1, min(count, size // max(least, 1)))
    with open(path, "rb") as file:
        inner = {_boundary(file, size * index // count) for index in range(1, count)}
    return sorted({0, size, *(cut for cut in inner if cut is not None)})


def _boundary(file: BinaryIO, near: int) -> int | None:
    """The first place after `near` where a line has another query than the line before."""
    file.seek(near)
    look = file.read(_LOOK_BYTES)
    start, query = look.find(b"\n") + 1, b""
    while start > 0 and (end := look.find(b"\n", start)) >= 0:
        first = b"" if look.startswith(b"#", start) else b"".join(look[start:end].split(None, 1)[:1])
        if query and first and first != query:
            return near + start
        query, start = first or query, end + 1
    return None


def aligned_in_slices(path: str, marks: list[int], align: Callable[[Slice, bool], _Part | None]) -> list[_Part] | None:
    """Each slice aligned by its own thread; None where one of them cannot be, so that the whole file must be read in one go."""
    from concurrent.futures import ThreadPoolExecutor

    stop = Event()
    streams = [Slice(path, start, end, stop) for start, end in pairwise(marks)]
    with ThreadPoolExecutor(len(streams)) as pool:
        try:
            waiting = [pool.submit(align, stream, index > 0) for index, stream in enumerate(streams)]
            parts = [part.result() for part in waiting]
        finally:
            stop.set()
    found = [part for part in parts if part is not None]
    return found if len(found) == len(parts) else None


def are_apart(hits: list[Hits], strangers: list[bytes]) -> bool:
    """Whether no query is in two slices."""
    hashes = np.concatenate([np.frombuffer(each, dtype=np.uint64) for each in strangers])
    judged = np.sum([part.present for part in hits], axis=0)
    return len(np.unique(hashes)) == len(hashes) and bool(np.all(judged <= 1))


def merged(hits: list[Hits]) -> Hits:
    """The hits of slices that have no query in common, in the order of the slices."""
    owners = np.concatenate([part.owners for part in hits])
    order = np.argsort(owners, kind="stable")
    counts = np.bincount(owners, minlength=len(hits[0].queries))
    return replace(
        hits[0],
        present=np.any([part.present for part in hits], axis=0),
        retrieved=np.sum([part.retrieved for part in hits], axis=0),
        offsets=np.concatenate(([0], np.cumsum(counts))),
        ranks=np.concatenate([part.ranks for part in hits])[order],
        grades=np.concatenate([part.grades for part in hits])[order],
        seen=_merged_seen([part.seen for part in hits]),
    )


def _merged_seen(seen: list[Seen]) -> Seen:
    names = [field.name for field in fields(Seen) if isinstance(getattr(seen[0], field.name), int)]
    counts = {name: sum(getattr(part, name) for part in seen) for name in names}
    queries = [query for part in seen for query in part.unjudged_queries]
    tags = dict.fromkeys(tag for part in seen for tag in part.tags)
    return Seen(**counts, unjudged_queries=tuple(queries[:FEW_QUERIES]), tags=tuple(tags)[:FEW_TAGS])
