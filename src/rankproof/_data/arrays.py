"""Array types, unit vectors, and the test for collapsed vectors."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

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
