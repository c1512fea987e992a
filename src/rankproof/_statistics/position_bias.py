"""Position bias: how often users look at each rank, estimated from clicks on documents that were shown at several ranks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from rankproof._data.arrays import BoolArray, FloatArray, IntArray, distinct_numbers
from rankproof._data.text import pluralise
from rankproof.errors import InputError

IntpArray = npt.NDArray[np.intp]
Codes = npt.NDArray[Any]
"""Whole numbers in whatever type holds them."""
BiasMethod = Literal["harvesting", "em"]
_TINY = 1e-12
_MOST_ROUNDS, _CONVERGED = 500, 1e-5
_RANDOM_RANKS, _RANDOM_SHARE, _LEAST_RANKS = 0.5, 0.5, 4
"""Lists were randomised if half of the impressions are of documents that were shown at half of the ranks of their query."""
NO_VARIATION = "no clicked document was shown at two neighbouring ranks, so position bias cannot be told from relevance"
VARIATION_FIX = "show some lists in another order, such as with two neighbours swapped, or log an interleaving"


@dataclass(frozen=True, eq=False, slots=True)
class PositionBias:
    """The probability that a rank is looked at, in units of the first rank, and how it was estimated.

    Ranks from `known` on have the value of the last known one: no clicked document links them to the ranks above.
    """

    examination: FloatArray
    method: BiasMethod
    known: int
    pairs: int

    def __str__(self) -> str:
        """How it was estimated, in words."""
        how = (
            "intervention harvesting (Agarwal et al. 2019), made monotone"
            if self.method == "harvesting"
            else "expectation maximisation of the position-based model, as lists were randomised"
        )
        limit = "" if self.known == len(self.examination) else f"; it is known for the first {pluralise(self.known, 'rank')} only"
        return f"position bias by {how}: {self.pairs:,} pairs were shown at two neighbouring ranks{limit}"


_ROWS_AT_ONCE = 1 << 17


def blocks(rows: int) -> Iterator[slice]:
    """Parts of so many rows: numbers of 8 bytes for all impressions of a log would take most of the memory."""
    for start in range(0, rows, _ROWS_AT_ONCE):
        yield slice(start, start + _ROWS_AT_ONCE)


@dataclass(frozen=True, eq=False, slots=True)
class RankedClicks:
    """Each pair of query and document at each of its ranks (from 0), in order: impressions, and impressions with a click."""

    pair: Codes
    rank: Codes
    shown: Codes
    clicked: Codes

    @classmethod
    def of(cls, pair: Codes, rank: Codes, clicked: BoolArray) -> RankedClicks:
        """The counts of single impressions."""
        width = int(rank.max(initial=0)) + 1

        def keys_of(rows: slice) -> IntArray:
            return pair[rows].astype(np.int64) * width + rank[rows]

        keys = distinct_numbers(map(keys_of, blocks(len(pair))))
        shown, clicks = np.zeros(len(keys), dtype=np.int32), np.zeros(len(keys), dtype=np.int32)
        for rows in blocks(len(pair)):
            cell = np.searchsorted(keys, keys_of(rows))
            np.add.at(shown, cell, 1)
            np.add.at(clicks, cell[clicked[rows]], 1)
        ranks = (keys % width).astype(rank.dtype)
        keys //= width
        return cls(keys.astype(pair.dtype), ranks, shown, clicks)

    @property
    def width(self) -> int:
        """The number of ranks."""
        return int(self.rank.max(initial=0)) + 1


def position_bias(cells: RankedClicks, queries: Codes | None = None) -> PositionBias:
    """The examination of each rank, by intervention harvesting, or by expectation maximisation where lists were randomised.

    `queries` is the query of each cell, which tells how many ranks its lists have. Without documents at several ranks the bias is
    not identified, whatever the model, and this is an error.
    """
    upper, lower, linked = _neighbours(cells)
    known = int(np.argmin(np.append(upper * lower > 0, False))) + 1
    if known == 1 and cells.width > 1:
        raise InputError(NO_VARIATION, fix=VARIATION_FIX)
    if _is_randomised(cells, queries):
        return PositionBias(fitted_examination(cells), "em", cells.width, linked)
    ratios = lower[: known - 1] / upper[: known - 1]
    examination = np.concatenate([[1.0], np.cumprod(ratios)])
    # A rank is known as well as the clicks that link it to the rank above.
    clicks = np.concatenate([upper[:1], (upper + lower)[: known - 1]])
    falling = _falling(examination, np.maximum(clicks, _TINY))
    last = np.full(cells.width - known, falling[-1])
    return PositionBias(np.concatenate([falling, last]) / falling[0], "harvesting", known, linked)


def _neighbours(cells: RankedClicks) -> tuple[FloatArray, FloatArray, int]:
    """Clicks on the same pairs at each rank and at the next, as if shown equally often at both, and the number of such pairs.

    The weights are those of Mantel and Haenszel (1959), which count a pair by the smaller of its two numbers of impressions.
    """
    width = cells.width
    upper = np.flatnonzero((cells.pair[1:] == cells.pair[:-1]) & (cells.rank[1:] - cells.rank[:-1] == 1))
    lower, rank = upper + 1, cells.rank[upper]
    shown, clicked = ((column[upper].astype(np.float64), column[lower]) for column in (cells.shown, cells.clicked))
    both = shown[0] + shown[1]
    above = np.bincount(rank, clicked[0] * shown[1] / both, minlength=width - 1)
    below = np.bincount(rank, clicked[1] * shown[0] / both, minlength=width - 1)
    return np.asarray(above, np.float64), np.asarray(below, np.float64), len(np.unique(cells.pair[upper]))


def _is_randomised(cells: RankedClicks, queries: Codes | None) -> bool:
    """Whether documents were shown all over the lists of their query, as only random orders do."""
    starts = np.flatnonzero(np.diff(cells.pair, prepend=-1))
    ranks, shown = np.diff(starts, append=len(cells.pair)), np.add.reduceat(cells.shown, starts, dtype=np.float64)
    lengths: Codes | int = cells.width
    if queries is not None and len(queries):
        deepest = np.zeros(int(queries.max()) + 1, dtype=np.intp)
        np.maximum.at(deepest, queries, cells.rank + 1)
        lengths = deepest[queries[starts]]
    wide = (ranks >= _LEAST_RANKS) & (ranks >= _RANDOM_RANKS * lengths)
    return bool(shown[wide].sum() >= _RANDOM_SHARE * shown.sum())


def _falling(values: FloatArray, weights: FloatArray) -> FloatArray:
    """The nearest values that never rise: pools of neighbours that do (Ayer et al. 1955)."""
    pools = list[tuple[float, float, int]]()
    for value, weight in zip(values.tolist(), weights.tolist(), strict=True):
        pools.append((value, weight, 1))
        while len(pools) > 1 and pools[-2][0] < pools[-1][0]:
            (value, weight, size), (above, above_weight, above_size) = pools.pop(), pools.pop()
            total = weight + above_weight
            pools.append(((value * weight + above * above_weight) / total, total, size + above_size))
    return np.concatenate([np.full(size, value) for value, _, size in pools])


def fitted_examination(cells: RankedClicks) -> FloatArray:
    """The position-based model (Richardson, Dominowska and Ragno 2007; Chuklin, Markov and de Rijke 2015, 3.2).

    The most looked at rank has the value 1.
    """
    pair, rank = cells.pair, cells.rank
    shown, clicked = cells.shown.astype(np.float64), cells.clicked.astype(np.float64)
    seen_at, seen_of = np.bincount(rank, shown), np.maximum(np.bincount(pair, shown), _TINY)
    examination = np.divide(np.bincount(rank, clicked), seen_at, out=np.zeros_like(seen_at), where=seen_at > 0)
    examination = examination / max(float(examination.max(initial=0.0)), _TINY)
    attraction = np.full(len(seen_of), 0.5)
    for _ in range(_MOST_ROUNDS):
        before = examination
        both = examination[rank] * attraction[pair]
        no_click = np.maximum(1 - both, _TINY)
        looked = clicked + (shown - clicked) * (examination[rank] - both) / no_click
        liked = clicked + (shown - clicked) * (attraction[pair] - both) / no_click
        examination = np.divide(np.bincount(rank, looked), seen_at, out=np.zeros_like(seen_at), where=seen_at > 0)
        attraction = np.bincount(pair, liked) / seen_of
        if float(np.abs(examination - before).max()) < _CONVERGED:
            break
    return np.asarray(examination / max(float(examination.max(initial=0.0)), _TINY))
