"""Exact search over vectors in memory, and the check of what stores return against the vectors they were given.

A score has the same bits from every kernel, device and BLAS library, in any batch and in any part of the vectors.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from rankproof._data.arrays import FloatArray, IntArray, Matrix
from rankproof._data.ordering import Ranking
from rankproof._extras import extra
from rankproof.errors import ExternalError, for_message
from rankproof.stores._base import (
    ROUNDING,
    OpenStore,
    Store,
    ann_recall,
    checked_batch,
    checked_depth,
    checked_dimensions,
    checked_vectors,
    vector_lengths,
)

Kernel = Literal["native", "numpy"]
QUERIES_PER_BATCH = 2048
# 16 MiB in float32.
PRODUCTS_PER_BATCH = 1 << 22
CANDIDATES_PER_BATCH = 1024
# Sixteen partial sums, added pairwise, suit vector registers, and every kernel can add in this order.
SUM_LANES = 16
FLOAT32_ROUNDING = 2.0**-24
GPU_VECTORS = 1 << 28
"""The float32 numbers of a block of vectors on the GPU: 1 GiB."""
GPU_PRODUCTS, GPU_CANDIDATES = 1 << 28, 1 << 18
"""The products that are made at once, and the candidates whose scores are summed at once."""


@dataclass(frozen=True, slots=True)
class VectorRows:
    """Vectors to search, where ties go to the lower row; `longest` is the largest vector length."""

    vectors: Matrix
    longest: float

    @classmethod
    def of(cls, vectors: Matrix) -> VectorRows:
        """The rows of a contiguous matrix."""
        return cls(vectors, float(vector_lengths(vectors).max(initial=0.0)))

    def slices(self, width: int) -> Iterator[tuple[int, VectorRows]]:
        """Consecutive parts of so many rows, each with the number of its first row."""
        for first in range(0, len(self.vectors), width):
            yield first, VectorRows(self.vectors[first : first + width], self.longest)


@cache
def best_kernel() -> Kernel:
    """The native kernel if it was built, else numpy."""
    return "native" if find_spec("rankproof._native.topk") is not None else "numpy"


def nearest(rows: VectorRows, queries: Matrix, k: int, kernel: Kernel) -> tuple[IntArray, FloatArray]:
    """The k best rows of each query and their scores, best first; all rows if there are fewer."""
    k = min(k, len(rows.vectors))
    if k == 0 or len(queries) == 0:
        return np.zeros((len(queries), k), np.int64), np.zeros((len(queries), k))
    search, held = (_nearest_native, _capacity(k)) if kernel == "native" else (_nearest_numpy, len(rows.vectors))
    most = max(1, min(QUERIES_PER_BATCH, PRODUCTS_PER_BATCH // held))
    parts = [search(rows, part, k) for part in np.array_split(queries, -(-len(queries) // most))]
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
    best_rows, scores, done = topk.settle(batch, rows.vectors, queries)
    best = np.frombuffer(best_rows, np.int64).reshape(-1, k), np.frombuffer(scores, np.float64).reshape(-1, k)
    return _search_crowded(rows, queries, np.flatnonzero(np.frombuffer(done, np.bool_) == 0), best)


def _search_crowded(
    rows: VectorRows, queries: Matrix, crowded: IntArray, best: tuple[IntArray, FloatArray]
) -> tuple[IntArray, FloatArray]:
    """Searches queries with very many ties at the k-th score with numpy."""
    if len(crowded) == 0:
        return best
    best_rows, scores = best[0].copy(), best[1].copy()
    best_rows[crowded], scores[crowded] = nearest(rows, queries[crowded], best_rows.shape[1], "numpy")
    return best_rows, scores


def _nearest_numpy(rows: VectorRows, queries: Matrix, k: int) -> tuple[IntArray, FloatArray]:
    best, scores = np.empty((len(queries), k), np.int64), np.empty((len(queries), k))
    products = queries @ rows.vectors.T
    kth = len(rows.vectors) - k
    # The margin covers the rounding of both products, so no document of the exact top k is below the floor.
    floors = np.partition(products, kth, axis=1)[:, kth] - _rounding_margins(rows, queries)
    for at, floor in enumerate(floors):
        candidates = np.flatnonzero(products[at] >= floor)
        exact = rounded_dots(rows.vectors, candidates, queries[at])
        order = np.lexsort((candidates, -exact))[:k]
        best[at], scores[at] = candidates[order], exact[order]
    return best, scores


def _rounding_margins(rows: VectorRows, queries: Matrix) -> NDArray[np.float32]:
    """The largest error of a float32 product for each query, whatever the order of summation."""
    errors = product_errors(queries.shape[1]) * vector_lengths(queries) * rows.longest
    margins: NDArray[np.float32] = np.nextafter((errors + 1e-35).astype(np.float32), np.float32(np.inf))
    return margins


def product_errors(dimensions: int) -> float:
    """The largest difference of two float32 products of unit vectors, whatever the order of summation."""
    return (2 * dimensions + 16) * FLOAT32_ROUNDING


def rounded_dots(vectors: Matrix, chosen: IntArray, query: Matrix) -> NDArray[np.float32]:
    """The inner products of the chosen rows: summed in float64 in sixteen lanes, added pairwise, and rounded to float32."""
    parts = [
        _lane_sums(vectors[chosen[start : start + CANDIDATES_PER_BATCH]], query)
        for start in range(0, len(chosen), CANDIDATES_PER_BATCH)
    ]
    sums = np.concatenate(parts) if parts else np.zeros((0, SUM_LANES))
    for half in (8, 4, 2, 1):
        sums = sums[:, :half] + sums[:, half:]
    # Adding 0 turns -0.0 into 0.0, so that equal scores have equal bits.
    rounded: NDArray[np.float32] = sums[:, 0].astype(np.float32) + np.float32(0)
    return rounded


def _lane_sums(vectors: Matrix, query: Matrix) -> FloatArray:
    products = vectors.astype(np.float64) * query.astype(np.float64)
    sums = np.zeros((len(vectors), SUM_LANES))
    for start in range(0, products.shape[1], SUM_LANES):
        part = products[:, start : start + SUM_LANES]
        sums[:, : part.shape[1]] += part
    return sums


def nearest_by_torch(rows: VectorRows, queries: Matrix, k: int, device: str) -> tuple[IntArray, FloatArray]:
    """As `nearest`, on a device of PyTorch; the vectors go there in blocks."""
    with extra("torch"):
        import torch
    k = min(k, len(rows.vectors))
    if k == 0 or len(queries) == 0:
        return np.zeros((len(queries), k), np.int64), np.zeros((len(queries), k))
    with torch.inference_mode(), _without_tf32(torch), torch.autocast(torch.device(device).type, enabled=False):
        asked, best = torch.tensor(queries, device=device), None
        for first, block in rows.slices(max(1, GPU_VECTORS // queries.shape[1])):
            search = _TorchBlock(torch, _on_device(torch, block.vectors, device), _rounding_margins(block, queries))
            of_block = search.nearest(asked, min(k, len(block.vectors)))
            best = _merged(torch, best, (of_block[0] + first, of_block[1]), k)
        assert best is not None
        return best[0].cpu().numpy(), best[1].double().cpu().numpy()


@contextmanager
def _without_tf32(torch: Any) -> Iterator[None]:
    """Matrix products of CUDA in whole float32, as the margins assume."""
    matmul = torch.backends.cuda.matmul
    name, value = ("fp32_precision", "ieee") if hasattr(matmul, "fp32_precision") else ("allow_tf32", False)
    before = getattr(matmul, name)
    setattr(matmul, name, value)
    try:
        yield
    finally:
        setattr(matmul, name, before)


def _on_device(torch: Any, vectors: Matrix, device: str) -> Any:
    """A copy of the vectors on the device, made in pieces, as they may be a file."""
    copy = torch.empty(vectors.shape, dtype=torch.float32, device=device)
    piece = max(1, GPU_VECTORS // 16 // vectors.shape[1])
    for start in range(0, len(vectors), piece):
        copy[start : start + piece] = torch.from_numpy(np.array(vectors[start : start + piece]))
    return copy


def _merged(torch: Any, best: Any, of_block: Any, k: int) -> Any:
    """The k best of two results, of which the first has the lower rows."""
    if best is None:
        return of_block
    rows, scores = (torch.cat(pair, dim=1) for pair in zip(best, of_block, strict=True))
    order = torch.sort(scores, dim=1, descending=True, stable=True).indices[:, :k]
    return rows.gather(1, order), scores.gather(1, order)


@dataclass(frozen=True, slots=True)
class _TorchBlock:
    """A block of vectors on a device, and the error of a product for each query."""

    torch: Any
    vectors: Any
    margins: NDArray[np.float32]

    def nearest(self, queries: Any, k: int) -> tuple[Any, Any]:
        """The k best rows of each query and their scores."""
        margins = self.torch.tensor(self.margins, device=queries.device)
        most = max(1, GPU_PRODUCTS // len(self.vectors))
        parts = [
            self._some(queries[start : start + most], margins[start : start + most], k, k + k // 8 + 128)
            for start in range(0, len(queries), most)
        ]
        return self.torch.cat([part[0] for part in parts]), self.torch.cat([part[1] for part in parts])

    def _some(self, queries: Any, margins: Any, k: int, most: int) -> tuple[Any, Any]:
        """The k best of the rows whose products are largest; a query with more candidates than `most` is searched again."""
        most = min(most, len(self.vectors))
        products, rows = self.torch.topk(queries @ self.vectors.T, most, dim=1)
        crowded = (products[:, -1] >= products[:, k - 1] - margins).nonzero()[:, 0] if most < len(self.vectors) else ()
        del products
        # In the order of the rows, so that the stable sort below gives ties to the lower row.
        rows = rows.sort(dim=1).values
        scores = self._scores(queries, rows)
        order = self.torch.sort(scores, dim=1, descending=True, stable=True).indices[:, :k]
        best = rows.gather(1, order), scores.gather(1, order)
        if len(crowded):
            best[0][crowded], best[1][crowded] = self._some(queries[crowded], margins[crowded], k, 16 * most)
        return best

    def _scores(self, queries: Any, rows: Any) -> Any:
        """`rounded_dots` of each query with its rows."""
        scores = self.torch.empty(rows.shape, dtype=self.torch.float32, device=rows.device)
        width = min(rows.shape[1], GPU_CANDIDATES)
        height = max(1, GPU_CANDIDATES // width)
        for top in range(0, len(rows), height):
            asked = queries[top : top + height, None].double()
            for left in range(0, rows.shape[1], width):
                place = slice(top, top + height), slice(left, left + width)
                scores[place] = self._lane_sums(self.vectors[rows[place]], asked)
        return scores

    def _lane_sums(self, vectors: Any, queries: Any) -> Any:
        sums = self.torch.zeros((*vectors.shape[:2], SUM_LANES), dtype=self.torch.float64, device=vectors.device)
        for start in range(0, vectors.shape[2], SUM_LANES):
            part = vectors[..., start : start + SUM_LANES] * queries[..., start : start + SUM_LANES]
            sums[..., : part.shape[2]] += part
        for half in (8, 4, 2, 1):
            sums = sums[..., :half] + sums[..., half:]
        return sums[..., 0].float() + 0.0


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


class StoredVectors(Protocol):
    """The vectors that a store was given."""

    def search_all(self, queries: Matrix, k: int) -> list[Ranking]:
        """The k nearest of each query, exactly."""
        ...

    def of_documents(self, docs: Sequence[str]) -> Matrix:
        """The vectors of the documents."""
        ...

    def products(self, rows: Matrix, vector: Matrix) -> FloatArray:
        """The inner products of the rows with the vector, as exact search computes them."""
        ...


@dataclass(frozen=True, eq=False, slots=True)
class _StoreSearch:
    query: str
    vector: Matrix
    ranking: Ranking

    def has(self, ranking: Ranking) -> bool:
        """Whether the ranking is the same."""
        return self.ranking[0] == ranking[0] and np.array_equal(self.ranking[1], ranking[1])


class StoreCheck:
    """Records what a store returns; its scores must be inner products, and an exact store must return the nearest vectors.

    The check is made when the facts are read, so that no search is timed with it; an approximate store gets its recall.
    """

    def __init__(self, store: Store, vectors: StoredVectors, depth: int) -> None:
        self._vectors, self._depth, self._exact = vectors, depth, store.exact
        self._name = type(store).__name__
        self._recorded: dict[str, _StoreSearch] = {}
        self._replaced: list[_StoreSearch] = []

    def record(self, query: str, vector: Matrix, ranking: Ranking) -> None:
        """Records one search; the recall counts the last one of a query, a zero vector is left out."""
        if not vector.any():
            return
        before = self._recorded.get(query)
        if before is not None and not before.has(ranking):
            self._replaced.append(before)
        self._recorded[query] = _StoreSearch(query, vector, ranking)

    def facts(self) -> Mapping[str, Any]:
        """The mean recall of the exact results over the queries, None without a query; nothing for an exact store."""
        searches = [*self._recorded.values(), *self._replaced]
        if not searches:
            return {} if self._exact else self._recall_facts(None)
        nearest = self._vectors.search_all(np.array([search.vector for search in searches]), self._depth)
        rankings = [self._checked(search) for search in searches]
        if self._exact:
            for search, ranking, wanted in zip(searches, rankings, nearest, strict=True):
                self._check_nearest(search, ranking, wanted)
            return {}
        count = len(self._recorded)
        return self._recall_facts(ann_recall(rankings[:count], nearest[:count]))

    def _recall_facts(self, recall: float | None) -> dict[str, Any]:
        return {"recall_of_exact": recall, "recall_depth": self._depth, "recall_queries": len(self._recorded)}

    def _checked(self, search: _StoreSearch) -> Ranking:
        """The ranking with the inner products of the vectors; an error if the store returned other scores."""
        docs, scores = search.ranking
        if not docs:
            return [], np.zeros(0)
        rows = self._vectors.of_documents(docs)
        products = self._vectors.products(rows, search.vector)
        wrong = np.flatnonzero(~(np.abs(scores - products) <= _tolerance(rows, search.vector, products)))
        if len(wrong):
            doc, score, product = docs[wrong[0]], scores[wrong[0]], products[wrong[0]]
            what = f"document {for_message(doc)} has the score {score:.6g}, but the inner product of its vectors is {product:.6g}"
            raise self._wrong(search, what)
        return docs, products

    def _check_nearest(self, search: _StoreSearch, ranking: Ranking, nearest: Ranking) -> None:
        """Raises an error if a document is nearer than the last one returned, by more than rounding explains."""
        (docs, products), (wanted, scores) = ranking, nearest
        found = set(docs)
        missing = [(doc, score) for doc, score in zip(wanted, scores.tolist(), strict=True) if doc not in found]
        if not missing:
            return
        doc, score = missing[0]
        slack = 2 * _tolerance(self._vectors.of_documents([doc]), search.vector, np.array([score]))[0]
        if not docs or score > products.min() + slack:
            what = f"{len(wanted) - len(missing)} of the {len(wanted)} nearest documents, without {for_message(doc)}"
            raise self._wrong(search, f"its exact search found {what}")

    def _wrong(self, search: _StoreSearch, what: str) -> ExternalError:
        fix = "check the server, its version and what else writes to the collection, then run again"
        return ExternalError(f"the reply of {self._name} to query {for_message(search.query)} is wrong: {what}; {fix}")


def _tolerance(rows: Matrix, vector: Matrix, products: FloatArray) -> FloatArray:
    """How far a float32 score may be from the product: the rounding of the sum, and of an engine that stores 1 + x or 1 - x."""
    sums = product_errors(rows.shape[1]) * vector_lengths(rows) * float(vector_lengths(vector[np.newaxis])[0])
    tolerance: FloatArray = sums + ROUNDING * np.maximum(1.0, np.abs(products))
    return tolerance
