"""Click models: how attractive a document is for a query, from the lists that were shown and the clicks on them.

Every model compares the clicks on a document with those expected of an average document. They differ in what they expect.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from rankproof._data.arrays import FloatArray
from rankproof._statistics.position_bias import IntpArray, PositionBias, RankedClicks, position_bias

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
