"""One query's documents in the order of their scores, as every ranking here is ordered."""

from __future__ import annotations

import numpy as np

from ..data.arrays import FloatArray
from ..data.order import best_first, settled
from ..data.reading import Reading
from ..data.refusals import refusal
from ..data.run import NO_RANK, Run

Ranking = tuple[list[str], FloatArray]


def ranked(docs: list[str], scores: FloatArray) -> Ranking:
    """The documents best first, and their scores."""
    order = best_first(docs, scores)
    return [docs[at] for at in order.tolist()], scores[order]


def rankings(run: Run, reading: Reading) -> dict[str, Ranking]:
    """Each query's ranking as the reading orders it, higher scores being better; a document that stands twice is refused."""
    keys = _keys(run, reading)
    found: dict[str, Ranking] = {}
    for index, query in enumerate(run.queries):
        start, end = int(run.offsets[index]), int(run.offsets[index + 1])
        docs = list(run.docs[start:end])
        if len(set(docs)) < len(docs):
            settled(run, Reading())
        found[query] = ranked(docs, keys[start:end])
    return found


def _keys(run: Run, reading: Reading) -> FloatArray:
    if reading.order == "score":
        return -run.scores if reading.lower_is_better else run.scores
    if run.docs and (run.ranks is None or NO_RANK in run.ranks):
        raise refusal("rank-missing", source=run.source)
    return np.zeros(0) if run.ranks is None else -run.ranks.astype(np.float64)
