"""Exact search in memory, by the native kernel or numpy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from types import TracebackType
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from rankproof._data.arrays import FloatArray, IntArray, Matrix
from rankproof._data.ordering import Ranking
from rankproof.errors import ExternalError
from rankproof.stores._base import checked_batch, checked_depth, checked_dimensions, checked_vectors, vector_lengths

Kernel = Literal["native", "numpy"]
QUERIES_PER_BATCH = 2048
PRODUCTS_PER_BATCH = 1 << 22
CANDIDATES_PER_BATCH = 1024
SUM_LANES = 16
FLOAT32_ROUNDING = 2.0**-24


@dataclass(frozen=True, slots=True)
class VectorRows:
    """Vectors to search, where ties go to the lower row; `longest` is the largest vector length."""

    vectors: Matrix
    longest: float

    @classmethod
    def of(cls, vectors: Matrix) -> VectorRows:
        """The rows of a contiguous matrix."""
        return cls(vectors, float(vector_lengths(vectors).max(initial=0.0)))


@cache
def best_kernel() -> Kernel:
    """The native kernel if it was built, else numpy."""
    return "native" if find_spec("rankproof._native.topk") is not None else "numpy"


def nearest(rows: VectorRows, queries: Matrix, k: int, kernel: Kernel) -> tuple[IntArray, FloatArray]:
    """The k best rows of each query and their scores, best first; all rows if there are fewer."""
    k = min(k, len(rows.vectors))
    if k == 0 or len(queries) == 0:
        return np.zeros((len(queries), k), np.int64), np.zeros((len(queries), k))
    narrow, held = (_nearest_native, _capacity(k)) if kernel == "native" else (_nearest_numpy, len(rows.vectors))
    most = max(1, min(QUERIES_PER_BATCH, PRODUCTS_PER_BATCH // held))
    parts = [narrow(rows, part, k) for part in np.array_split(queries, -(-len(queries) // most))]
    return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])


def _capacity(k: int) -> int:
    """The number of candidates per query before the kernel prunes them."""
    return 2 * k + 128


def _nearest_native(rows: VectorRows, queries: Matrix, k: int) -> tuple[IntArray, FloatArray]:
    try:
        from rankproof._native import topk
    except ImportError as error:
        raise ExternalError(f"the native kernel cannot be loaded ({error}); install rankproof again") from None
    batch = topk.batch(_rounding_margins(rows, queries), k, _capacity(k))
    width = min(max(1, PRODUCTS_PER_BATCH // len(queries)), len(rows.vectors))
    buffer = np.empty(len(queries) * width, np.float32)
    for first in range(0, len(rows.vectors), width):
        block = rows.vectors[first : first + width]
        products = buffer[: len(queries) * len(block)].reshape(len(queries), len(block))
        topk.sieve(batch, np.matmul(queries, block.T, out=products), first)
    found, scores, done = topk.settle(batch, rows.vectors, queries)
    best = np.frombuffer(found, np.int64).reshape(-1, k), np.frombuffer(scores, np.float64).reshape(-1, k)
    return _search_crowded(rows, queries, np.flatnonzero(np.frombuffer(done, np.bool_) == 0), best)


def _search_crowded(
    rows: VectorRows, queries: Matrix, crowded: IntArray, best: tuple[IntArray, FloatArray]
) -> tuple[IntArray, FloatArray]:
    """Searches queries with very many ties at the k-th score with numpy."""
    if len(crowded) == 0:
        return best
    found, scores = best[0].copy(), best[1].copy()
    found[crowded], scores[crowded] = nearest(rows, queries[crowded], found.shape[1], "numpy")
    return found, scores


def _nearest_numpy(rows: VectorRows, queries: Matrix, k: int) -> tuple[IntArray, FloatArray]:
    best, scores = np.empty((len(queries), k), np.int64), np.empty((len(queries), k))
    products = queries @ rows.vectors.T
    kth = len(rows.vectors) - k
    floors = np.partition(products, kth, axis=1)[:, kth] - _rounding_margins(rows, queries)
    for at, floor in enumerate(floors):
        candidates = np.flatnonzero(products[at] >= floor)
        exact = rounded_dots(rows.vectors, candidates, queries[at])
        order = np.lexsort((candidates, -exact))[:k]
        best[at], scores[at] = candidates[order], exact[order]
    return best, scores


def _rounding_margins(rows: VectorRows, queries: Matrix) -> NDArray[np.float32]:
    """The largest error of a float32 product for each query, whatever the order of summation."""
    errors = (2 * queries.shape[1] + 16) * FLOAT32_ROUNDING * vector_lengths(queries) * rows.longest
    margins: NDArray[np.float32] = np.nextafter((errors + 1e-35).astype(np.float32), np.float32(np.inf))
    return margins


def rounded_dots(vectors: Matrix, chosen: IntArray, query: Matrix) -> NDArray[np.float32]:
    """The inner products of the chosen rows: summed in float64 in sixteen lanes, added pairwise, and rounded to float32."""
    parts = [
        _lane_sums(vectors[chosen[start : start + CANDIDATES_PER_BATCH]], query)
        for start in range(0, len(chosen), CANDIDATES_PER_BATCH)
    ]
    sums = np.concatenate(parts)
    for half in (8, 4, 2, 1):
        sums = sums[:, :half] + sums[:, half:]
    rounded: NDArray[np.float32] = sums[:, 0].astype(np.float32) + np.float32(0)
    return rounded


def _lane_sums(vectors: Matrix, query: Matrix) -> FloatArray:
    products = vectors.astype(np.float64) * query.astype(np.float64)
    sums = np.zeros((len(vectors), SUM_LANES))
    for start in range(0, products.shape[1], SUM_LANES):
        part = products[:, start : start + SUM_LANES]
        sums[:, : part.shape[1]] += part
    return sums


@dataclass(frozen=True, slots=True)
class Memory:
    """Exact search over all vectors in memory."""

    @property
    def exact(self) -> bool:
        """True."""
        return True

    @property
    def needs_folder(self) -> bool:
        """False."""
        return False

    def open(self, name: str, dimensions: int, folder: str) -> OpenMemory:
        """An empty collection; name and folder are not used."""
        return OpenMemory(dimensions, best_kernel())


class OpenMemory:
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
        return {"store": "memory", "library": f"numpy {np.__version__}", "exact": True, "kernel": self._kernel}

    def size(self) -> int:
        """The bytes of the vectors."""
        return len(self._row_of) * self._dimensions * 4

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        return None

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
