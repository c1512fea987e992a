"""Click models: how attractive a document is for a query, from the lists that were shown and the clicks on them.

Every model compares the clicks on a document with those expected of an average document. They differ in what they expect.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from rankproof._data.arrays import BoolArray, FloatArray, IntArray
from rankproof._statistics.position_bias import Codes, PositionBias, RankedClicks, blocks, position_bias

_TINY = 1e-12


@dataclass(frozen=True, eq=False)
class ClickLog:
    """The impressions of all lists, list by list and best rank first, in the smallest types that hold them.

    `pair` is the number of the pair of a query and a document, `rank` counts from 0, `weight` is the place of the weight of its
    clicks in `weights`, which begin with 0 and rise. `query_of_pair` is the query of each pair, `lengths` the number of
    impressions of each list.
    """

    query_of_pair: Codes
    pair: Codes
    rank: Codes
    weight: Codes
    weights: FloatArray
    lengths: IntArray

    @property
    def pairs(self) -> int:
        """The number of pairs that were shown."""
        return len(self.query_of_pair)

    @property
    def total_clicks(self) -> float:
        """The weights of all clicks together."""
        return float(np.bincount(self.weight, minlength=len(self.weights)) @ self.weights)

    @cached_property
    def examined(self) -> BoolArray:
        """Whether each impression is at or above the last click of its list; all of a list without clicks are."""
        ends = np.cumsum(self.lengths)
        clicked = np.flatnonzero(self.weight)
        last = np.full(len(ends), -1, dtype=np.int64)
        np.maximum.at(last, np.searchsorted(ends, clicked, side="right"), clicked)
        down_to = np.where(last < 0, self.lengths, last + 1 - ends + self.lengths)
        counts = np.column_stack([down_to, self.lengths - down_to]).ravel()
        return np.repeat(np.tile([True, False], len(ends)), counts)

    def by_rank(self) -> RankCounts:
        """Impressions and clicks at each rank, over all queries."""
        shown = np.zeros(int(self.rank.max(initial=-1)) + 1, dtype=np.int64)
        clicked = np.zeros(len(shown))
        for rows in blocks(len(self.pair)):
            np.add.at(shown, self.rank[rows], 1)
            np.add.at(clicked, self.rank[rows], self.weights[self.weight[rows]])
        return RankCounts(shown.astype(np.float64), clicked)

    def by_pair(self, model: ClickModel) -> PairCounts:
        """The counts of every pair that was shown."""
        shown, clicks, expected = np.zeros(self.pairs, dtype=np.int32), np.zeros(self.pairs), np.zeros(self.pairs)
        of_rank = model.expected(self)
        for rows in blocks(len(self.pair)):
            pair, looked = self.pair[rows], of_rank[self.rank[rows]]
            np.add.at(shown, pair, 1)
            np.add.at(clicks, pair, self.weights[self.weight[rows]])
            np.add.at(expected, pair, looked * self.examined[rows] if model.needs_examination else looked)
        return PairCounts(shown, clicks, expected)

    def pairs_at_several_ranks(self) -> int:
        """How many pairs were shown at more than one rank."""
        lowest, highest = np.zeros(self.pairs, dtype=self.rank.dtype), np.zeros(self.pairs, dtype=self.rank.dtype)
        lowest[self.pair] = highest[self.pair] = self.rank
        for rows in blocks(len(self.pair)):
            np.minimum.at(lowest, self.pair[rows], self.rank[rows])
            np.maximum.at(highest, self.pair[rows], self.rank[rows])
        return int(np.count_nonzero(lowest < highest))

    @cached_property
    def position_bias(self) -> PositionBias:
        """The probability that a rank is looked at; an error where no document was shown at several ranks."""
        cells = self._cells()
        return position_bias(cells, self.query_of_pair[cells.pair])

    def _cells(self) -> RankedClicks:
        return RankedClicks.of(self.pair, self.rank, self.weight > 0)


@dataclass(frozen=True, slots=True)
class RankCounts:
    """How often a document was shown and clicked at each rank, the first rank first."""

    shown: FloatArray
    clicked: FloatArray

    @property
    def rates(self) -> FloatArray:
        """The click-through rate at each rank; 0 where nothing was shown."""
        return np.divide(self.clicked, self.shown, out=np.zeros_like(self.clicked), where=self.shown > 0)


@dataclass(frozen=True, eq=False, slots=True)
class PairCounts:
    """How often each document was shown for its query, the clicks on it, and those expected of an average document."""

    shown: npt.NDArray[Any]
    clicks: FloatArray
    expected: FloatArray

    def part(self, rows: IntArray) -> PairCounts:
        """The counts of these pairs."""
        return PairCounts(self.shown[rows], self.clicks[rows], self.expected[rows])

    def attraction(self, prior: float) -> FloatArray:
        """Clicks over expected clicks; `prior` expected clicks of an average document, whose value is 1, are added to both.

        This is the mean of a gamma posterior, and of a beta posterior in units of its prior mean.
        """
        return (self.clicks + prior) / (self.expected + prior)


@dataclass(frozen=True, slots=True)
class ClickModel:
    """A click model: its name, what it assumes, its source, and the clicks that it expects of an impression at each rank.

    With `needs_examination`, none are expected of an impression that was not looked at.
    """

    name: str
    assumes: str
    source: str
    expected: Callable[[ClickLog], FloatArray]
    needs_examination: bool = False


def _by_rank(log: ClickLog) -> FloatArray:
    return log.by_rank().rates


def _by_examination(log: ClickLog) -> FloatArray:
    return _shared_by(log, np.ones(len(log.by_rank().shown)), float(np.count_nonzero(log.examined)))


def _by_examined_rank(log: ClickLog) -> FloatArray:
    examination = log.position_bias.examination
    return _shared_by(log, examination, float(log.by_rank().shown @ examination))


def _by_impression(log: ClickLog) -> FloatArray:
    return _shared_by(log, np.ones(len(log.by_rank().shown)), float(len(log.rank)))


def _shared_by(log: ClickLog, looked: FloatArray, total: float) -> FloatArray:
    """All clicks, shared by the impressions as they were looked at, `total` times in all."""
    return np.asarray(looked * (log.total_clicks / max(total, _TINY)))


CLICK_MODELS: Mapping[str, ClickModel] = {
    model.name: model
    for model in (
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
            needs_examination=True,
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
