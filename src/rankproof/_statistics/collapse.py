"""The test for collapsed vectors: the mean cosine of all pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from rankproof._data.arrays import FloatArray, Matrix

_Float = TypeVar("_Float", np.float32, np.float64)
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
        unit = 1 << 2 * _FRACTION_BITS
        return (sum(value * value for value in sums) - self.count * unit) / (self.count * (self.count - 1) * unit)

    def collapse_note(self) -> str | None:
        """A warning if the vectors are so similar that ranking by them is ranking by noise; None if not."""
        mean = self.mean()
        if mean < COLLAPSE_THRESHOLD:
            return None
        return f"the encoder maps all texts to nearly the same vector: the mean cosine of two texts is {mean:.3f}; is it trained?"
