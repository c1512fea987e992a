"""Whether an encoder maps everything to nearly one point."""

from __future__ import annotations

import numpy as np

from ..data.arrays import Matrix

COLLAPSED = 0.95
"""Measured on documents of SciFact, Cranfield, CoSQA and XQuAD: MiniLM .02-.29, wordllama .06-.33, random weights .977-1."""
_PAIRS = 1000
_SEED = 20_240_501


def collapse_of(vectors: Matrix) -> float:
    """The mean cosine of random pairs of different rows, each of length 1; 0 where there are fewer than two."""
    count = len(vectors)
    if count < 2:
        return 0.0
    random = np.random.default_rng(_SEED)
    first = random.integers(count, size=_PAIRS)
    second = (first + random.integers(1, count, size=_PAIRS)) % count
    return float(np.einsum("ij,ij->i", vectors[first], vectors[second], dtype=np.float64).mean())


def collapse_note(vectors: Matrix) -> str | None:
    """A sentence for the reader where the rows lie so close together that ranking by them is ranking by noise."""
    mean = collapse_of(vectors)
    if mean < COLLAPSED:
        return None
    return (
        f"the encoder maps everything to nearly one point: two random texts have a cosine of {mean:.3f}; is it a trained encoder?"
    )
