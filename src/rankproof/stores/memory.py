"""Vectors in memory, searched exactly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import numpy as np

from ..data.arrays import Matrix
from ..data.ranking import Ranking
from .nearest import Kernel, Rows, best_kernel, nearest
from .vectors import checked_batch, checked_depth, checked_vectors, checked_width


@dataclass(frozen=True, slots=True)
class Memory:
    """Every vector against every query: exact, and gone when the program ends."""

    @property
    def exact(self) -> bool:
        """Always."""
        return True

    @property
    def needs_folder(self) -> bool:
        """Never."""
        return False

    def open(self, name: str, dimensions: int, folder: str) -> OpenMemory:
        """An empty collection; neither name nor folder is needed."""
        return OpenMemory(dimensions, best_kernel())


class OpenMemory:
    """The vectors that were added, put in order of their ids when they are first searched."""

    def __init__(self, dimensions: int, kernel: Kernel) -> None:
        self._dimensions, self._kernel = checked_width(dimensions), kernel
        self._pieces: list[Matrix] = []
        self._places: dict[str, int] = {}
        self._ids = np.zeros(0, object)
        self._rows = Rows.of(np.zeros((0, dimensions), np.float32))

    def add(self, ids: Sequence[str], vectors: Matrix) -> None:
        """Adds the vectors; an id that is there already gets the new vector."""
        names, rows = checked_batch(ids, vectors, self._dimensions)
        if not self._pieces and self._places:
            self._pieces.append(self._rows.vectors)
        start = sum(len(piece) for piece in self._pieces)
        self._pieces.append(rows.copy())
        self._places.update((name, start + at) for at, name in enumerate(names))

    def search(self, vectors: Matrix, k: int) -> list[Ranking]:
        """For each row the k nearest; a score is a sum of doubles, rounded once to float32: the same bits in any batch."""
        depth, queries = checked_depth(k), checked_vectors(vectors, self._dimensions)
        self._settle()
        rows, scores = nearest(self._rows, queries, depth, self._kernel)
        return list(zip(self._ids[rows].tolist(), scores, strict=True))

    def facts(self) -> Mapping[str, Any]:
        """The library that multiplies, and whether the native sieve stands beside it."""
        return {"store": "memory", "library": f"numpy {np.__version__}", "exact": True, "kernel": self._kernel}

    def size(self) -> int:
        """Bytes of the vectors."""
        return len(self._places) * self._dimensions * 4

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        return None

    def _settle(self) -> None:
        """One matrix, larger ids first: among equal scores the smaller row then wins."""
        if not self._pieces:
            return
        names = sorted(self._places, reverse=True)
        target = np.full(sum(len(piece) for piece in self._pieces), -1)
        target[[self._places[name] for name in names]] = np.arange(len(names))
        matrix = np.empty((len(names), self._dimensions), np.float32)
        start = 0
        for piece in self._pieces:
            to = target[start : start + len(piece)]
            matrix[to[to >= 0]] = piece[to >= 0]
            start += len(piece)
        self._ids, self._rows, self._pieces = np.array(names, object), Rows.of(matrix), []
        self._places = {name: at for at, name in enumerate(names)}
