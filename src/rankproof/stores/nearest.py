"""The k nearest rows by inner product: narrowed down by a float32 matrix product, settled by one rounding of a double sum.

Where the native sieve was built it works beside the matrix product; both ways give the same rows and the same bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..data.arrays import FloatArray, IntArray, Matrix
from ..errors import WorldError
from .vectors import lengths

Kernel = Literal["native", "numpy"]
QUERIES = 2048
PRODUCTS = 1 << 22
CHOSEN = 1024
LANES = 16
UNIT = 2.0**-24


@dataclass(frozen=True, slots=True)
class Rows:
    """Vectors to search, the row that comes first winning among equals; `longest` is the greatest length of one."""

    vectors: Matrix
    longest: float

    @classmethod
    def of(cls, vectors: Matrix) -> Rows:
        """The rows of a contiguous matrix."""
        return cls(vectors, float(lengths(vectors).max(initial=0.0)))


@cache
def best_kernel() -> Kernel:
    """The native sieve where it was built, else numpy."""
    return "native" if find_spec("rankproof.stores._topk") is not None else "numpy"


def nearest(rows: Rows, queries: Matrix, k: int, kernel: Kernel) -> tuple[IntArray, FloatArray]:
    """For each query the k best rows and their scores, best first; all rows where there are fewer."""
    k = min(k, len(rows.vectors))
    if k == 0 or len(queries) == 0:
        return np.zeros((len(queries), k), np.int64), np.zeros((len(queries), k))
    narrow, held = (_native, _capacity(k)) if kernel == "native" else (_plain, len(rows.vectors))
    most = max(1, min(QUERIES, PRODUCTS // held))
    parts = [narrow(rows, part, k) for part in np.array_split(queries, -(-len(queries) // most))]
    return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])


def _capacity(k: int) -> int:
    """How many candidates a query's sieve holds before it is tightened."""
    return 2 * k + 128


def _native(rows: Rows, queries: Matrix, k: int) -> tuple[IntArray, FloatArray]:
    try:
        from . import _topk
    except ImportError as error:
        raise WorldError(f"the native sieve cannot be loaded ({error}); install rankproof again") from None
    batch = _topk.batch(_margins(rows, queries), k, _capacity(k))
    width = min(max(1, PRODUCTS // len(queries)), len(rows.vectors))
    room = np.empty(len(queries) * width, np.float32)
    for first in range(0, len(rows.vectors), width):
        block = rows.vectors[first : first + width]
        products = room[: len(queries) * len(block)].reshape(len(queries), len(block))
        _topk.sieve(batch, np.matmul(queries, block.T, out=products), first)
    found, scores, done = _topk.settle(batch, rows.vectors, queries)
    best = np.frombuffer(found, np.int64).reshape(-1, k), np.frombuffer(scores, np.float64).reshape(-1, k)
    return _with_crowded(rows, queries, np.flatnonzero(np.frombuffer(done, np.bool_) == 0), best)


def _with_crowded(
    rows: Rows, queries: Matrix, crowded: IntArray, best: tuple[IntArray, FloatArray]
) -> tuple[IntArray, FloatArray]:
    """The queries with very many rows as good as the k-th are settled without a sieve."""
    if len(crowded) == 0:
        return best
    found, scores = best[0].copy(), best[1].copy()
    found[crowded], scores[crowded] = nearest(rows, queries[crowded], found.shape[1], "numpy")
    return found, scores


def _plain(rows: Rows, queries: Matrix, k: int) -> tuple[IntArray, FloatArray]:
    best, scores = np.empty((len(queries), k), np.int64), np.empty((len(queries), k))
    products = queries @ rows.vectors.T
    kth = len(rows.vectors) - k
    floors = np.partition(products, kth, axis=1)[:, kth] - _margins(rows, queries)
    for at, floor in enumerate(floors):
        candidates = np.flatnonzero(products[at] >= floor)
        exact = rounded_dots(rows.vectors, candidates, queries[at])
        order = np.lexsort((candidates, -exact))[:k]
        best[at], scores[at] = candidates[order], exact[order]
    return best, scores


def _margins(rows: Rows, queries: Matrix) -> NDArray[np.float32]:
    """By how much two float32 products of a query may stand the wrong way round, whatever order their sums are taken in."""
    wrong = (2 * queries.shape[1] + 16) * UNIT * lengths(queries) * rows.longest
    margins: NDArray[np.float32] = np.nextafter((wrong + 1e-35).astype(np.float32), np.float32(np.inf))
    return margins


def rounded_dots(vectors: Matrix, chosen: IntArray, query: Matrix) -> NDArray[np.float32]:
    """The products of the chosen rows: summed as doubles in sixteen lanes, which are added by halves, and rounded to float32."""
    parts = [_lanes(vectors[chosen[start : start + CHOSEN]], query) for start in range(0, len(chosen), CHOSEN)]
    sums = np.concatenate(parts)
    for half in (8, 4, 2, 1):
        sums = sums[:, :half] + sums[:, half:]
    rounded: NDArray[np.float32] = sums[:, 0].astype(np.float32) + np.float32(0)
    return rounded


def _lanes(vectors: Matrix, query: Matrix) -> FloatArray:
    products = vectors.astype(np.float64) * query.astype(np.float64)
    sums = np.zeros((len(vectors), LANES))
    for start in range(0, products.shape[1], LANES):
        part = products[:, start : start + LANES]
        sums[:, : part.shape[1]] += part
    return sums
