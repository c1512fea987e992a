"""Ids found by their hash: entries of hash and row in ascending order, merged over partitions block by block."""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib.util import find_spec

import numpy as np
from numpy.typing import NDArray

from rankproof._engine_choice import chosen_name

Entries = NDArray[np.uint64]
"""Hash and row, or hash and position in the corpus, of each id; ascending by hash, equal hashes in input order."""
_ENTRIES_AT_ONCE = 1 << 20


@cache
def has_native_scanner() -> bool:
    """Whether documents are read and found by the C extension."""
    return chosen_name() == "native" and find_spec("rankproof._native.documents") is not None


def id_hash(key: bytes) -> int:
    """The 64-bit hash of an id."""
    return int.from_bytes(hashlib.blake2b(key, digest_size=8).digest(), "little")


def sorted_entries(hashes: NDArray[np.uint64]) -> Entries:
    """The entries of rows with these hashes."""
    order = np.argsort(hashes, kind="stable")
    return np.stack((hashes[order], order.astype(np.uint64)), axis=1)


def merged_entries(parts: Sequence[tuple[int, Entries]], at_once: int = _ENTRIES_AT_ONCE) -> Iterator[Entries]:
    """The entries of several partitions as blocks in ascending order, each about `at_once` long.

    A part is the position of the partition's first document and its entries. Equal hashes are in one block.
    """
    count = 1 + sum(len(entries) for _, entries in parts) // at_once
    limits = [(bucket << 64) // count for bucket in range(1, count)]
    cuts = [[0, *np.searchsorted(entries[:, 0], np.array(limits, dtype=np.uint64)), len(entries)] for _, entries in parts]
    for bucket in range(count):
        blocks = []
        for (first, entries), cut in zip(parts, cuts, strict=True):
            block = entries[cut[bucket] : cut[bucket + 1]]
            blocks.append(block + np.array([0, first], dtype=np.uint64))
        block = np.concatenate(blocks) if blocks else np.empty((0, 2), dtype=np.uint64)
        yield block[np.argsort(block[:, 0], kind="stable")]


def equal_hashes(block: Entries) -> Iterator[list[int]]:
    """The positions of ids that share a hash, in input order."""
    hashes = block[:, 0]
    bounds = np.flatnonzero(np.concatenate(([True], hashes[1:] != hashes[:-1], [True]))) if len(hashes) else np.zeros(1, np.int64)
    for begin in np.flatnonzero(np.diff(bounds) > 1).tolist():
        yield block[bounds[begin] : bounds[begin + 1], 1].tolist()


class IdIndex:
    """The positions of ids in a corpus; `id_at` is the id at a position."""

    def __init__(self, entries: Entries, id_at: Callable[[int], bytes]) -> None:
        self.entries, self._id_at = entries, id_at
        self._hashes, self._positions = entries[:, 0].data, entries[:, 1].data

    def position(self, key: bytes) -> int | None:
        """The position of the id, None where no document has it."""
        wanted, hashes = id_hash(key), self._hashes
        at = bisect_left(hashes, wanted)
        while at < len(hashes) and hashes[at] == wanted:
            position: int = self._positions[at]
            if self._id_at(position) == key:
                return position
            at += 1
        return None
