"""A run's rows in the order that its scores say, which is the order they are written in."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..data.order import best_first
from ..data.refusals import refusal
from ..data.run import Run, RunRow


def ranked_rows(run: Run) -> Iterator[RunRow]:
    """Every row, query by query, best first; ranks count from 1."""
    infinite = run.scores[~np.isfinite(run.scores)]
    if len(infinite):
        raise refusal("score-infinite", source=run.source, token=str(infinite[0]))
    for index, query in enumerate(run.queries):
        start, end = int(run.offsets[index]), int(run.offsets[index + 1])
        docs, scores = run.docs[start:end], run.scores[start:end].tolist()
        for rank, at in enumerate(best_first(docs, run.scores[start:end]).tolist(), start=1):
            yield RunRow(query, docs[at], scores[at], rank)
