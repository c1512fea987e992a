"""Array types, ids packed into one text, ids found by their hash, and unit vectors."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from importlib.util import find_spec
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar, overload

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
            return (
                self._between(start, max(start, end))
                if step == 1
                else tuple(self[position] for position in range(start, end, step))
            )
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
        starts, ends = (np.array(column, np.int64) for column in (zip(*spans, strict=True) if spans else ((), ())))
        lengths = ends - starts
        rows = list_places(lengths) + repeat_each(starts, lengths)
        sizes = self.bounds[rows + 1] - self.bounds[rows]
        cuts = zip(self.bounds[starts].tolist(), self.bounds[ends].tolist(), strict=True)
        text = b"".join([self.text[start:end] for start, end in cuts])
        return PackedIds(text, np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)]))

    def _between(self, start: int, end: int) -> tuple[str, ...]:
        bounds = self.bounds[start : end + 1].tolist() or [0]
        part, first = self.text[bounds[0] : bounds[-1]], bounds[0]
        whole = part.decode()
        # In ASCII text, bytes and characters have the same offsets: one decoding serves all ids.
        if len(whole) == len(part):
            return tuple([whole[left - first : right - first] for left, right in pairwise(bounds)])
        return tuple([part[left - first : right - first].decode() for left, right in pairwise(bounds)])


IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
Matrix = NDArray[np.float32]
_Item = TypeVar("_Item", bound=np.generic)


if TYPE_CHECKING:
    _FloatBase = np.ndarray[tuple[Any, ...], np.dtype[np.float64]]
else:
    _FloatBase = np.ndarray


class DrawnWeight(float):
    """The weight of a query of a sample of the traffic; `chance` is the chance with which the query was drawn, 1 if certain."""

    __slots__ = ("chance",)
    chance: float

    def __new__(cls, weight: float, chance: float) -> DrawnWeight:
        """The weight with its chance, from above 0 to 1."""
        drawn = super().__new__(cls, weight)
        drawn.chance = chance
        return drawn


class DrawnWeights(_FloatBase):
    """Weights of a sample of the traffic: an array that keeps the chances of its queries when queries are chosen.

    What is computed from it is a plain array, so an interval that ignores the chances is only too wide.
    """

    chances: FloatArray

    def __new__(cls, weights: FloatArray, chances: FloatArray) -> DrawnWeights:
        """The weights with their chances."""
        drawn = weights.view(cls)
        drawn.chances = chances
        return drawn

    def __getitem__(self, rows: Any) -> Any:
        """The weights of these rows with their chances; one weight is a number."""
        chosen = self.view(np.ndarray)[rows]
        return DrawnWeights(chosen, self.chances[rows]) if isinstance(chosen, np.ndarray) and chosen.ndim == 1 else chosen

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        """The result of arithmetic, without chances."""
        return array[()] if return_scalar else array.view(np.ndarray)


def weight_column(weights: Iterable[float]) -> FloatArray:
    """The weights of queries as an array, with the chances of a sample."""
    listed = list(weights)
    column = np.array(listed, np.float64)
    if not any(isinstance(weight, DrawnWeight) for weight in listed):
        return column
    return DrawnWeights(column, np.array([getattr(weight, "chance", 0.0) for weight in listed], np.float64))


def weights_by_query(queries: Sequence[str], weights: FloatArray) -> dict[str, float]:
    """The weight of each query, with the chances of a sample."""
    listed = weights.tolist()
    if isinstance(weights, DrawnWeights):
        listed = [DrawnWeight(weight, chance) for weight, chance in zip(listed, weights.chances.tolist(), strict=True)]
    return dict(zip(queries, listed, strict=True))


def read_only(array: NDArray[_Item]) -> NDArray[_Item]:
    """The same array, made read-only."""
    array.flags.writeable = False
    return array


def repeat_each(values: NDArray[_Item], counts: IntArray) -> NDArray[_Item]:
    """Each value as often as its count says; numpy of a 32-bit processor takes no 64-bit counts."""
    return np.repeat(values, counts.astype(np.intp, copy=False))


def list_numbers(lengths: IntArray) -> IntArray:
    """For each item of lists of these lengths, the number of its list, from 0."""
    return repeat_each(np.arange(len(lengths)), lengths)


def list_places(lengths: IntArray) -> IntArray:
    """For each item of lists of these lengths, its place in its list, from 0."""
    return np.arange(int(lengths.sum())) - repeat_each(np.cumsum(lengths) - lengths, lengths)


def normalise_rows(vectors: Matrix) -> Matrix:
    """The vectors along the last axis, each divided by its length; a zero vector is unchanged."""
    lengths: Matrix = np.sqrt(np.square(vectors).sum(axis=-1, keepdims=True))
    lengths[lengths == 0] = 1
    return vectors / lengths


Entries = NDArray[np.uint64]
"""Hash and row, or hash and position in the corpus, of each id; ascending by hash, equal hashes in input order."""
_ENTRIES_AT_ONCE = 1 << 20


@cache
def has_native_scanner() -> bool:
    """Whether documents are read and found by the C extension."""
    return chosen_name() == "native" and find_spec("rankproof._native.documents") is not None


def id_hash(key: bytes) -> int:
    """The 64-bit hash of an id."""
    from hashlib import blake2b

    return int.from_bytes(blake2b(key, digest_size=8).digest(), "little")


def sorted_entries(hashes: NDArray[np.uint64]) -> Entries:
    """The entries of rows with these hashes."""
    # Stable, so that equal hashes stay in input order and the first of two equal ids is found first.
    order = np.argsort(hashes, kind="stable")
    return np.stack((hashes[order], order.astype(np.uint64)), axis=1)


def merged_entries(parts: Sequence[tuple[int, Entries]], at_once: int = _ENTRIES_AT_ONCE) -> Iterator[Entries]:
    """The entries of several partitions as blocks in ascending order, each about `at_once` long.

    A part is the position of the partition's first document and its entries. Equal hashes are in one block.
    """
    count = 1 + sum(len(entries) for _, entries in parts) // at_once
    # Hashes are uniform, so that equal ranges of them have about as many entries.
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


_LEAST_WAITING = 1 << 21


def distinct_numbers(parts: Iterable[IntArray]) -> IntArray:
    """The different numbers of all parts in order, in little more memory than these take."""
    merged = np.empty(0, dtype=np.int64)
    waiting, count = list[IntArray](), 0
    for part in parts:
        waiting.append(_sorted_once(part.copy()))
        count += len(waiting[-1])
        # Numbers wait until there are many, so that merging them does not take most of the time.
        if count > max(len(merged) // 4, _LEAST_WAITING):
            merged, waiting, count = np.concatenate([merged, *waiting]), [], 0
            merged = _sorted_once(merged)
    return _sorted_once(np.concatenate([merged, *waiting]))


def _sorted_once(numbers: IntArray) -> IntArray:
    """The numbers sorted in place, each once: `np.unique` makes further copies."""
    numbers.sort()
    is_first = np.ones(len(numbers), dtype=bool)
    np.not_equal(numbers[1:], numbers[:-1], out=is_first[1:])
    return numbers[is_first]
