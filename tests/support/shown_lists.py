"""Lists of documents with clicks, as a `ClickLog` has them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from rankproof._statistics.clicks import ClickLog, Pair


class ShownList(NamedTuple):
    """Documents that were shown for a query, best rank first, their ranks from 1, and the weight of the clicks on each."""

    query: str
    docs: tuple[str, ...]
    ranks: tuple[int, ...]
    clicks: Mapping[str, float]


def click_log(lists: Iterable[ShownList]) -> ClickLog:
    """The impressions of the lists."""
    places: dict[Pair, int] = {}
    rows = [
        (places.setdefault((shown.query, doc), len(places)), rank - 1, shown.clicks.get(doc, 0.0), at)
        for at, shown in enumerate(lists)
        for doc, rank in zip(shown.docs, shown.ranks, strict=True)
    ]
    pair, rank, clicks, list_ = np.array(rows, dtype=np.float64).reshape(-1, 4).T
    return ClickLog.of(tuple(places), pair.astype(np.intp), rank.astype(np.intp), clicks, list_.astype(np.intp))
