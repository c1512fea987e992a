"""Clicks: models of how attractive documents are, and how often users look at each rank.

Every model compares the clicks on a document with those expected of an average document. They differ in what they expect.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from rankproof._data.arrays import FloatArray
from rankproof._data.text import pluralise
from rankproof.errors import InputError

IntpArray = npt.NDArray[np.intp]
BiasMethod = Literal["harvesting", "em"]
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


@dataclass(frozen=True, eq=False, slots=True)
class RankedClicks:
    """Each pair of query and document at each of its ranks (from 0): impressions, and impressions with a click."""

    pair: IntpArray
    rank: IntpArray
    shown: FloatArray
    clicked: FloatArray

    @classmethod
    def of(cls, pair: IntpArray, rank: IntpArray, clicked: npt.NDArray[np.bool_]) -> RankedClicks:
        """The counts of single impressions."""
        width = int(rank.max(initial=0)) + 1
        keys, inverse = np.unique(pair.astype(np.int64) * width + rank, return_inverse=True)
        shown, clicks = np.bincount(inverse).astype(np.float64), np.bincount(inverse, clicked).astype(np.float64)
        return cls(keys // width, keys % width, shown, clicks)

    @property
    def width(self) -> int:
        """The number of ranks."""
        return int(self.rank.max(initial=0)) + 1


def position_bias(cells: RankedClicks, queries: IntpArray | None = None) -> PositionBias:
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
    keys = cells.pair * width + cells.rank
    following = np.minimum(np.searchsorted(keys, keys + 1), max(len(keys) - 1, 0))
    upper = np.flatnonzero((keys[following] == keys + 1) & (cells.rank < width - 1))
    lower = following[upper]
    both = cells.shown[upper] + cells.shown[lower]
    above = np.bincount(cells.rank[upper], cells.clicked[upper] * cells.shown[lower] / both, minlength=width - 1)
    below = np.bincount(cells.rank[upper], cells.clicked[lower] * cells.shown[upper] / both, minlength=width - 1)
    return np.asarray(above, np.float64), np.asarray(below, np.float64), len(np.unique(cells.pair[upper]))


def _is_randomised(cells: RankedClicks, queries: IntpArray | None) -> bool:
    """Whether documents were shown all over the lists of their query, as only random orders do."""
    pairs, inverse = np.unique(cells.pair, return_inverse=True)
    ranks, shown = np.bincount(inverse), np.bincount(inverse, cells.shown)
    lengths = np.full(len(pairs), cells.width)
    if queries is not None and len(queries):
        deepest = np.zeros(int(queries.max()) + 1, dtype=np.intp)
        np.maximum.at(deepest, queries, cells.rank + 1)
        lengths[inverse] = deepest[queries]
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
    pair, rank, shown, clicked = cells.pair, cells.rank, cells.shown, cells.clicked
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


BoolArray = npt.NDArray[np.bool_]
Pair = tuple[str, str]
"""A query and a document."""

_TINY = 1e-12


@dataclass(frozen=True, eq=False)
class ClickLog:
    """The impressions of all lists as arrays: the place of the pair in `pairs`, the rank from 0, and the weight of its clicks.

    `examined` says whether the impression is at or above the last click of its list; all of a list without clicks are.
    """

    pairs: tuple[Pair, ...]
    pair: IntpArray
    rank: IntpArray
    clicks: FloatArray
    examined: BoolArray

    @classmethod
    def of(cls, pairs: tuple[Pair, ...], pair: IntpArray, rank: IntpArray, clicks: FloatArray, list_: IntpArray) -> ClickLog:
        """The impressions of lists, best rank first; `list_` is the list of each, in ascending order."""
        at = np.arange(len(pair))
        last = np.full(int(list_.max(initial=-1)) + 1, -1, dtype=np.intp)
        clicked = np.flatnonzero(clicks > 0)
        np.maximum.at(last, list_[clicked], clicked)
        return cls(pairs, pair, rank, clicks, (at <= last[list_]) | (last[list_] < 0))

    def by_rank(self) -> RankCounts:
        """Impressions and clicks at each rank, over all queries."""
        return RankCounts(np.bincount(self.rank).astype(np.float64), np.bincount(self.rank, self.clicks).astype(np.float64))

    def by_pair(self, model: ClickModel) -> dict[Pair, PairCounts]:
        """The counts of every pair that was shown; a pair that was never shown has none."""
        sums = (np.bincount(self.pair), np.bincount(self.pair, self.clicks), np.bincount(self.pair, model.expected(self)))
        columns = (sum_.tolist() for sum_ in sums)
        return {pair: PairCounts(*counts) for pair, counts in zip(self.pairs, zip(*columns, strict=True), strict=True)}

    def pairs_at_several_ranks(self) -> int:
        """How many pairs were shown at more than one rank."""
        return int((np.bincount(self._cells().pair) > 1).sum())

    @cached_property
    def position_bias(self) -> PositionBias:
        """The probability that a rank is looked at; an error where no document was shown at several ranks."""
        cells = self._cells()
        return position_bias(cells, self._query_of_pair()[cells.pair])

    def _query_of_pair(self) -> IntpArray:
        places: dict[str, int] = {}
        return np.array([places.setdefault(query, len(places)) for query, _ in self.pairs], dtype=np.intp)

    def _cells(self) -> RankedClicks:
        return RankedClicks.of(self.pair, self.rank, self.clicks > 0)


@dataclass(frozen=True, slots=True)
class RankCounts:
    """How often a document was shown and clicked at each rank, the first rank first."""

    shown: FloatArray
    clicked: FloatArray

    @property
    def rates(self) -> FloatArray:
        """The click-through rate at each rank; 0 where nothing was shown."""
        return np.divide(self.clicked, self.shown, out=np.zeros_like(self.clicked), where=self.shown > 0)


@dataclass(frozen=True, slots=True)
class PairCounts:
    """How often a document was shown for a query, the clicks on it, and those expected of an average document."""

    shown: int
    clicks: float
    expected: float

    def attraction(self, prior: float) -> float:
        """Clicks over expected clicks; `prior` expected clicks of an average document, whose value is 1, are added to both.

        This is the mean of a gamma posterior, and of a beta posterior in units of its prior mean.
        """
        return (self.clicks + prior) / (self.expected + prior)


@dataclass(frozen=True, slots=True)
class ClickModel:
    """A click model: its name, what it assumes, its source, and the clicks that it expects of each impression of a log."""

    name: str
    assumes: str
    source: str
    expected: Callable[[ClickLog], FloatArray]


def _by_rank(log: ClickLog) -> FloatArray:
    return np.asarray(log.by_rank().rates[log.rank])


def _by_examination(log: ClickLog) -> FloatArray:
    return _shared_by(log, log.examined.astype(np.float64))


def _by_examined_rank(log: ClickLog) -> FloatArray:
    return _shared_by(log, log.position_bias.examination[log.rank])


def _by_impression(log: ClickLog) -> FloatArray:
    return _shared_by(log, np.ones(len(log.rank)))


def _shared_by(log: ClickLog, looked: FloatArray) -> FloatArray:
    """All clicks, shared by the impressions as they were looked at."""
    return np.asarray(looked * (float(log.clicks.sum()) / max(float(looked.sum()), _TINY)))


CLICK_MODELS: Mapping[str, ClickModel] = {
    one.name: one
    for one in (
        ClickModel(
            "coec",
            "a document is clicked in proportion to the click-through rate of its rank, taken over all queries",
            "clicks over expected clicks: Zhang and Jones 2007",
            _by_rank,
        ),
        ClickModel(
            "cascade",
            "users read from the top down to their last click, and the whole list if they click nothing",
            "dependent click model: Guo, Liu and Wang 2009",
            _by_examination,
        ),
        ClickModel(
            "position",
            "a rank is looked at with its own probability, the same for all queries; pairs shown at neighbouring ranks tell it",
            "position-based model: Richardson, Dominowska and Ragno 2007",
            _by_examined_rank,
        ),
        ClickModel(
            "ctr",
            "every document of a list is seen, whatever its rank: position bias is not corrected",
            "click-through rate",
            _by_impression,
        ),
    )
}
"""The click models by name."""
