"""Exact search over vectors in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankproof._data.arrays import Matrix
from rankproof._data.ordering import Ranking
from rankproof.stores._base import OpenStore, Store, checked_batch, checked_depth, checked_dimensions, checked_vectors
from rankproof.stores._nearest import Kernel, VectorRows, best_kernel, nearest


@dataclass(frozen=True, slots=True)
class Memory(Store):
    """Exact search over all vectors in memory."""

    def open(self, name: str, dimensions: int, folder: str) -> OpenMemory:
        """An empty collection; name and folder are not used."""
        return OpenMemory(dimensions, best_kernel())


def memory_facts(kernel: Kernel, device: str = "cpu") -> Mapping[str, Any]:
    """The library and the kernel of exact search, and the device of batches if it is not the CPU."""
    facts = {"store": "memory", "library": f"numpy {np.__version__}", "exact": True, "kernel": kernel}
    return facts if device == "cpu" else {**facts, "batch_device": device.partition(":")[0]}


class OpenMemory(OpenStore):
    """The added vectors, sorted by id before the first search."""

    def __init__(self, dimensions: int, kernel: Kernel) -> None:
        self._dimensions, self._kernel = checked_dimensions(dimensions), kernel
        self._blocks: list[Matrix] = []
        self._row_of: dict[str, int] = {}
        self._ids = np.zeros(0, object)
        self._rows = VectorRows.of(np.zeros((0, dimensions), np.float32))

    def add(self, ids: Sequence[str], vectors: Matrix) -> None:
        """Adds the vectors; an existing id gets the new vector."""
        names, rows = checked_batch(ids, vectors, self._dimensions)
        if not self._blocks and self._row_of:
            self._blocks.append(self._rows.vectors)
        start = sum(len(block) for block in self._blocks)
        self._blocks.append(rows.copy())
        self._row_of.update((name, start + at) for at, name in enumerate(names))

    def search(self, vectors: Matrix, k: int) -> list[Ranking]:
        """For each row the k nearest vectors; a score is a float64 sum rounded once to float32, the same in any batch."""
        depth, queries = checked_depth(k), checked_vectors(vectors, self._dimensions)
        self._sort()
        rows, scores = nearest(self._rows, queries, depth, self._kernel)
        return list(zip(self._ids[rows].tolist(), scores, strict=True))

    def facts(self) -> Mapping[str, Any]:
        """The library and the kernel."""
        return memory_facts(self._kernel)

    def size(self) -> int:
        """The bytes of the vectors."""
        return len(self._row_of) * self._dimensions * 4

    def _sort(self) -> None:
        """Sorts the vectors into one matrix, larger ids first, so that ties go to the lower row."""
        if not self._blocks:
            return
        names = sorted(self._row_of, reverse=True)
        target = np.full(sum(len(block) for block in self._blocks), -1)
        target[[self._row_of[name] for name in names]] = np.arange(len(names))
        matrix = np.empty((len(names), self._dimensions), np.float32)
        start = 0
        for block in self._blocks:
            to = target[start : start + len(block)]
            matrix[to[to >= 0]] = block[to >= 0]
            start += len(block)
        self._ids, self._rows, self._blocks = np.array(names, object), VectorRows.of(matrix), []
        self._row_of = {name: at for at, name in enumerate(names)}
