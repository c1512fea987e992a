"""Click models: how attractive a document is for a query, from the lists that were shown and the clicks on them.

Every model compares the clicks on a document with those expected of an average document. They differ in what they expect.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rankproof._data.arrays import FloatArray

IntpArray = npt.NDArray[np.intp]
Pair = tuple[str, str]
"""A query and a document."""

_TINY = 1e-12
_MOST_ROUNDS, _CONVERGED = 500, 1e-5


class ShownList(NamedTuple):
    """Documents that were shown for a query, best rank first, their ranks from 1, and the weight of the clicks on each."""

    query: str
    docs: tuple[str, ...]
    ranks: tuple[int, ...]
    clicks: Mapping[str, float]


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


Expected = Callable[[ShownList], FloatArray]
"""The clicks that are expected on each document of a list."""


@dataclass(frozen=True, slots=True)
class ClickModel:
    """A click model: its name, what it assumes, its source, and what it expects, which depends on all lists."""

    name: str
    assumes: str
    source: str
    expected: Callable[[Sequence[ShownList]], Expected]


def counts_by_rank(lists: Iterable[ShownList]) -> RankCounts:
    """Impressions and clicks at each rank, over all queries."""
    shown: list[float] = []
    clicked: list[float] = []
    for one in lists:
        missing = max(one.ranks, default=0) - len(shown)
        shown += [0.0] * missing
        clicked += [0.0] * missing
        for rank, doc in zip(one.ranks, one.docs, strict=True):
            shown[rank - 1] += 1
            clicked[rank - 1] += one.clicks.get(doc, 0.0)
    return RankCounts(np.array(shown), np.array(clicked))


def pair_counts(lists: Sequence[ShownList], model: ClickModel) -> dict[Pair, PairCounts]:
    """The counts of every pair that was shown; a pair that was never shown has none."""
    expected_of = model.expected(lists)
    found: dict[Pair, PairCounts] = {}
    nothing = PairCounts(0, 0.0, 0.0)
    for one in lists:
        for doc, expected in zip(one.docs, expected_of(one).tolist(), strict=True):
            key = one.query, doc
            so_far = found.get(key, nothing)
            clicks = so_far.clicks + one.clicks.get(doc, 0.0)
            found[key] = PairCounts(so_far.shown + 1, clicks, so_far.expected + expected)
    return found


def examined(one: ShownList) -> int:
    """How many documents are at or above the last click; all of a list without clicks."""
    clicked = [place for place, doc in enumerate(one.docs, start=1) if one.clicks.get(doc, 0.0) > 0]
    return clicked[-1] if clicked else len(one.docs)


def _by_rank(lists: Sequence[ShownList]) -> Expected:
    rates = counts_by_rank(lists).rates
    return lambda one: np.asarray(rates[np.array(one.ranks, dtype=np.intp) - 1])


def _by_examination(lists: Sequence[ShownList]) -> Expected:
    rate = _clicks_in(lists) / max(sum(map(examined, lists)), 1)
    return lambda one: np.where(np.arange(len(one.docs)) < examined(one), rate, 0.0)


def _by_impression(lists: Sequence[ShownList]) -> Expected:
    rate = _clicks_in(lists) / max(sum(len(one.docs) for one in lists), 1)
    return lambda one: np.full(len(one.docs), rate)


def examination_by_rank(lists: Sequence[ShownList]) -> FloatArray:
    """The probability that a rank is looked at, in units of the most looked at rank, by expectation maximisation.

    Only pairs that were shown at several ranks tell this apart from attractiveness; other ranks keep their click-through rate.
    """
    pairs: dict[Pair, int] = {}
    cells: dict[tuple[int, int], list[float]] = {}
    for one in lists:
        for rank, doc in zip(one.ranks, one.docs, strict=True):
            pair = pairs.setdefault((one.query, doc), len(pairs))
            cell = cells.setdefault((pair, rank - 1), [0.0, 0.0])
            cell[0] += 1
            cell[1] += one.clicks.get(doc, 0.0) > 0
    pair_at, rank_at = (np.array(each, dtype=np.intp) for each in zip(*cells, strict=True))
    shown, clicked = (np.array(each) for each in zip(*cells.values(), strict=True))
    return _fitted_examination(pair_at, rank_at, shown, clicked)


def _fitted_examination(pair: IntpArray, rank: IntpArray, shown: FloatArray, clicked: FloatArray) -> FloatArray:
    """The position-based model (Richardson, Dominowska and Ragno 2007; Chuklin, Markov and de Rijke 2015, 3.2)."""
    seen_at, seen_of = np.bincount(rank, shown), np.bincount(pair, shown)
    examination = np.divide(np.bincount(rank, clicked), seen_at, out=np.zeros_like(seen_at), where=seen_at > 0)
    examination = examination / max(float(examination.max()), _TINY)
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
    return np.asarray(examination / max(float(examination.max()), _TINY))


def pairs_at_several_ranks(lists: Iterable[ShownList]) -> tuple[int, int]:
    """How many pairs were shown at more than one rank, and how many were shown."""
    ranks: dict[Pair, set[int]] = {}
    for one in lists:
        for rank, doc in zip(one.ranks, one.docs, strict=True):
            ranks.setdefault((one.query, doc), set()).add(rank)
    return sum(len(each) > 1 for each in ranks.values()), len(ranks)


def _by_examined_rank(lists: Sequence[ShownList]) -> Expected:
    examination = examination_by_rank(lists)
    looked = float(sum(examination[rank - 1] for one in lists for rank in one.ranks))
    rate = _clicks_in(lists) / max(looked, _TINY)
    return lambda one: np.asarray(rate * examination[np.array(one.ranks, dtype=np.intp) - 1])


def _clicks_in(lists: Iterable[ShownList]) -> float:
    return sum(one.clicks.get(doc, 0.0) for one in lists for doc in one.docs)


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
            "a rank is looked at with its own probability, the same for all queries; pairs shown at several ranks tell which",
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
