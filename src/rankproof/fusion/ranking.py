"""One query's documents in the order of their scores, as every ranking here is ordered."""

from __future__ import annotations

import numpy as np

from ..data.arrays import FloatArray
from ..data.order import settled
from ..data.reading import Reading
from ..data.run import Run

Ranking = tuple[list[str], FloatArray]


def ranked(docs: list[str], scores: FloatArray) -> Ranking:
    """Score descending, then document id descending by bytes (which is how Python compares text)."""
    if bool(np.all(scores[1:] < scores[:-1])):
        return docs, scores
    if len(np.unique(scores)) == len(scores):
        order = np.argsort(-scores)
        return [docs[at] for at in order.tolist()], scores[order]
    by_id = sorted(range(len(docs)), key=docs.__getitem__, reverse=True)
    order = np.array(by_id)[np.argsort(-scores[by_id], kind="stable")]
    return [docs[at] for at in order.tolist()], scores[order]


def rankings(run: Run) -> dict[str, Ranking]:
    """Each query's ranking; a document that stands twice for a query is refused."""
    found: dict[str, Ranking] = {}
    for index, query in enumerate(run.queries):
        start, end = int(run.offsets[index]), int(run.offsets[index + 1])
        docs = list(run.docs[start:end])
        if len(set(docs)) < len(docs):
            settled(run, Reading())
        found[query] = ranked(docs, run.scores[start:end])
    return found
