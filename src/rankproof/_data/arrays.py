"""Array types, ids packed into one text, unit vectors, and the test for collapsed vectors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TypeVar, overload

import numpy as np
from numpy.typing import NDArray

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
_SAMPLED_PAIRS = 1000
_SEED = 20_240_501


def mean_pair_cosine(vectors: Matrix) -> float:
    """The mean cosine of random pairs of different rows, which have length 1; 0 with fewer than two rows."""
    count = len(vectors)
    if count < 2:
        return 0.0
    random = np.random.default_rng(_SEED)
    first = random.integers(count, size=_SAMPLED_PAIRS)
    second = (first + random.integers(1, count, size=_SAMPLED_PAIRS)) % count
    return float(np.einsum("ij,ij->i", vectors[first], vectors[second], dtype=np.float64).mean())


def collapse_note(vectors: Matrix) -> str | None:
    """A warning if the rows are so similar that ranking by them is ranking by noise; None if not."""
    mean = mean_pair_cosine(vectors)
    if mean < COLLAPSE_THRESHOLD:
        return None
    return f"the encoder maps all texts to nearly the same vector: the mean cosine of random pairs is {mean:.3f}; is it trained?"
