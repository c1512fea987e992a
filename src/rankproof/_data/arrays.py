"""Array types, ids packed into one text, ids found by their hash, unit vectors, and the test for collapsed vectors."""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from itertools import pairwise
from typing import TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from rankproof._engine_choice import chosen_name

_BLOCK_IDS = 4096


class PackedIds(Sequence[str]):
    """Concatenated ids in UTF-8: id i is text[bounds[i] : bounds[i + 1]]; a slice is a tuple of str."""

    __slots__ = ("bounds", "text")

    def __init__(self, text: bytes, bounds: IntArray) -> None:
        self.text, self.bounds = text, read_only(bounds)

    def __len__(self) -> int:
        return len(self.bounds) - 1

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[str, ...]: ...
    def __getitem__(self, at: int | slice) -> str | tuple[str, ...]:
        if isinstance(at, slice):
            start, end, step = at.indices(len(self))
            return self._between(start, max(start, end)) if step == 1 else tuple(self[one] for one in range(start, end, step))
        place = range(len(self))[at]
        return self.text[self.bounds[place] : self.bounds[place + 1]].decode()

    def __iter__(self) -> Iterator[str]:
        for start in range(0, len(self), _BLOCK_IDS):
            yield from self._between(start, min(len(self), start + _BLOCK_IDS))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, PackedIds):
            return self.text == other.text and bool(np.array_equal(self.bounds, other.bounds))
        return isinstance(other, tuple) and tuple(self) == other

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"<PackedIds: {len(self)} ids>"

    def blocks(self, spans: Sequence[tuple[int, int]]) -> PackedIds:
        """The ids of these spans, concatenated."""
        sizes = [np.diff(self.bounds[start : end + 1]) for start, end in spans]
        text = b"".join(self.text[self.bounds[start] : self.bounds[end]] for start, end in spans)
        return PackedIds(text, np.cumsum(np.concatenate([np.zeros(1, np.int64), *sizes]), dtype=np.int64))

    def _between(self, start: int, end: int) -> tuple[str, ...]:
        bounds = self.bounds[start : end + 1].tolist() or [0]
        part, first = self.text[bounds[0] : bounds[-1]], bounds[0]
        whole = part.decode()
        if len(whole) == len(part):
            return tuple([whole[left - first : right - first] for left, right in pairwise(bounds)])
        return tuple([part[left - first : right - first].decode() for left, right in pairwise(bounds)])


IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
Matrix = NDArray[np.float32]
_Item = TypeVar("_Item", bound=np.generic)
_Float = TypeVar("_Float", np.float32, np.float64)


def read_only(array: NDArray[_Item]) -> NDArray[_Item]:
    """The same array, made read-only."""
    array.flags.writeable = False
    return array


def normalise_rows(vectors: Matrix) -> Matrix:
    """The vectors along the last axis, each divided by its length; a zero vector is unchanged."""
    lengths: Matrix = np.sqrt(np.square(vectors).sum(axis=-1, keepdims=True))
    lengths[lengths == 0] = 1
    return vectors / lengths


COLLAPSE_THRESHOLD = 0.95
"""Mean cosines on SciFact, Cranfield, CoSQA and XQuAD: MiniLM 0.02-0.29, wordllama 0.06-0.33, random weights 0.977-1."""
_FRACTION_BITS = 30
_ROWS_PER_CHUNK = 4096
_UNIT_TOLERANCE = 1e-3


def _steps(units: NDArray[_Float]) -> NDArray[_Float]:
    """The numbers as multiples of 2^-30, rounded."""
    scaled = units * units.dtype.type(2**_FRACTION_BITS)
    np.rint(scaled, out=scaled)
    return scaled


@dataclass(frozen=True, eq=False, slots=True)
class CosineSums:
    """The sum of vectors scaled to length 1, zero vectors left out, as multiples of 2^-30, and their number.

    Integers add without rounding, so the mean cosine has the same bits however the vectors are split into parts.
    """

    sums: NDArray[np.int64]
    count: int

    @classmethod
    def of(cls, vectors: Matrix) -> CosineSums:
        """The sum of the rows; a row whose length is 1 within a thousandth is taken as it is."""
        total = cls(np.zeros(vectors.shape[1], np.int64), 0)
        for start in range(0, len(vectors), _ROWS_PER_CHUNK):
            total += cls._of_few(vectors[start : start + _ROWS_PER_CHUNK])
        return total

    @classmethod
    def _of_few(cls, vectors: Matrix) -> CosineSums:
        lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64))
        odd = np.abs(lengths - 1) > _UNIT_TOLERANCE
        steps = _steps(vectors[~odd] if odd.any() else vectors)
        # Sums of so few integers are exact in float64.
        total = cls(steps.sum(axis=0, dtype=np.float64).astype(np.int64), len(steps))
        return total + cls._of_odd(vectors[odd & (lengths > 0)].astype(np.float64)) if odd.any() else total

    @classmethod
    def _of_odd(cls, vectors: FloatArray) -> CosineSums:
        units = vectors / np.sqrt((vectors * vectors).sum(axis=1))[:, np.newaxis]
        return cls(_steps(units).astype(np.int64).sum(axis=0), len(units))

    def __add__(self, other: CosineSums) -> CosineSums:
        return CosineSums(self.sums + other.sums, self.count + other.count)

    def mean(self) -> float:
        """The mean cosine of all pairs of different vectors; 0 with fewer than two."""
        if self.count < 2:
            return 0.0
        sums: list[int] = self.sums.tolist()
        one = 1 << 2 * _FRACTION_BITS
        return (sum(value * value for value in sums) - self.count * one) / (self.count * (self.count - 1) * one)

    def collapse_note(self) -> str | None:
        """A warning if the vectors are so similar that ranking by them is ranking by noise; None if not."""
        mean = self.mean()
        if mean < COLLAPSE_THRESHOLD:
            return None
        return f"the encoder maps all texts to nearly the same vector: the mean cosine of two texts is {mean:.3f}; is it trained?"


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
