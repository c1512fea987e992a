"""Rankings as lists of ids and one array of scores, and back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from ..data.arrays import FloatArray
from ..data.ranking import Ranking

Packed = tuple[list[list[str]], FloatArray]


def packed(rankings: Iterable[Ranking]) -> Packed:
    """The documents of each ranking, and the scores of all, one after the other."""
    each = list(rankings)
    scores = np.concatenate([np.zeros(0), *(np.asarray(scores, np.float64) for _, scores in each)])
    return [list(docs) for docs, _ in each], scores


def unpacked(docs: Iterable[list[str]], scores: FloatArray) -> Iterator[Ranking]:
    """The rankings again, their scores copied."""
    at = 0
    for found in docs:
        yield found, np.array(scores[at : at + len(found)])
        at += len(found)
