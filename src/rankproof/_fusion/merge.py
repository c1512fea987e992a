"""What several systems give the documents of one query, added up and put in order: the one definition behind every fusion.

The native way and the plain one give the same documents in the same order with the same bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from typing import Literal

import numpy as np

from rankproof._data.arrays import FloatArray
from rankproof._data.ordering import Ranking, rank_documents

Kernel = Literal["native", "plain"]
Given = tuple[Sequence[str], int, FloatArray]
"""Documents, at which of them one ranking starts, and what each from there gets from it."""


@cache
def best_kernel() -> Kernel:
    """The native way where it was built."""
    return "native" if find_spec("rankproof._native.merge") is not None else "plain"


def merge(given: Sequence[Given], *, times_found: bool, kernel: Kernel | None = None) -> Ranking:
    """Each document once, best first, with the sum of what it gets, times the number of rankings that have it where asked.

    Parts are added in the order of the rankings. A document twice in one ranking is a KeyError.
    """
    if (kernel or best_kernel()) == "plain":
        return _plain(given, times_found)
    from rankproof._native import merge

    docs, scores = merge.merge([(docs, start, np.ascontiguousarray(parts)) for docs, start, parts in given], times_found)
    return docs, np.frombuffer(scores, dtype=np.float64)


def _plain(given: Sequence[Given], times_found: bool) -> Ranking:
    totals: dict[str, float] = {}
    times: dict[str, int] = {}
    for docs, start, parts in given:
        here = docs[start : start + len(parts)]
        if len(set(here)) < len(here):
            raise KeyError("a document twice")
        for doc, part in zip(here, parts.tolist(), strict=True):
            totals[doc] = totals.get(doc, 0.0) + part
            times[doc] = times.get(doc, 0) + 1
    values = [total * times[doc] if times_found else total for doc, total in totals.items()]
    return rank_documents(list(totals), np.array(values, dtype=np.float64))
