"""Lists of documents with clicks, as a `ClickLog` has them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from rankproof._statistics.clicks import CLICK_MODELS, ClickLog

Pair = tuple[str, str]
"""A query and a document."""


class ShownList(NamedTuple):
    """Documents that were shown for a query, best rank first, their ranks from 1, and the weight of the clicks on each."""

    query: str
    docs: tuple[str, ...]
    ranks: tuple[int, ...]
    clicks: Mapping[str, float]


class PairCount(NamedTuple):
    """How often a document was shown for a query, the clicks on it, and those expected of an average document."""

    shown: int
    clicks: float
    expected: float
    attraction: float
    """With a prior of 1."""


def _places(lists: Iterable[ShownList]) -> dict[Pair, int]:
    """The number of each pair, in the order in which pairs come."""
    pairs = ((shown.query, doc) for shown in lists for doc in shown.docs)
    return {pair: number for number, pair in enumerate(dict.fromkeys(pairs))}


def click_log(lists: Iterable[ShownList]) -> ClickLog:
    """The impressions of the lists."""
    lists = list(lists)
    places, queries = _places(lists), list(dict.fromkeys(shown.query for shown in lists))
    rows = [
        (places[shown.query, doc], rank - 1, shown.clicks.get(doc, 0.0))
        for shown in lists
        for doc, rank in zip(shown.docs, shown.ranks, strict=True)
    ]
    pair, rank, clicks = np.array(rows, dtype=np.float64).reshape(-1, 3).T
    weights, weight = np.unique(np.append(clicks, 0.0), return_inverse=True)
    return ClickLog(
        np.array([queries.index(query) for query, _ in places], dtype=np.int32),
        pair.astype(np.int32),
        rank.astype(np.int8),
        weight[:-1].astype(np.int16),
        weights,
        np.array([len(shown.docs) for shown in lists]),
    )


def pair_counts(lists: Iterable[ShownList], model: str) -> dict[Pair, PairCount]:
    """The counts of each pair by a click model."""
    lists = list(lists)
    counts = click_log(lists).by_pair(CLICK_MODELS[model])
    columns = counts.shown, counts.clicks, counts.expected, counts.attraction(1.0)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return dict(zip(_places(lists), map(PairCount._make, rows), strict=True))
