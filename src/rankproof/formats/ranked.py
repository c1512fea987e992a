"""A run's rows in the order that its scores say, which is the order they are written in."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ..data.refusals import refusal
from ..data.run import Run, RunRow


def ranked_rows(run: Run) -> Iterator[RunRow]:
    """Every row, query by query: score descending, then document id descending by bytes; ranks count from 1."""
    for index, query in enumerate(run.queries):
        start, end = int(run.offsets[index]), int(run.offsets[index + 1])
        scores = run.scores[start:end].tolist()
        _refuse_infinite(scores, run.source)
        # Text compares by code point, which for UTF-8 is the order of the bytes.
        order = sorted(zip(scores, run.docs[start:end], strict=True), reverse=True)
        for rank, (score, doc) in enumerate(order, start=1):
            yield RunRow(query, doc, score, rank)


def _refuse_infinite(scores: list[float], source: str) -> None:
    for score in scores:
        if not math.isfinite(score):
            raise refusal("score-infinite", source=source, token=str(score))
