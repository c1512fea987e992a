"""A run as lists of documents, best first, read by the same rules as its values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..data.order import best_first, order_key, settled
from ..data.qrels import Qrels
from ..data.reading import Reading
from ..data.run import Run, RunRow

Rankings = dict[str, list[str]]


def rankings(run: Run, reading: Reading, qrels: Qrels) -> Rankings:
    """Query to documents, best first; queries that nobody judged are left out."""
    rows, _ = settled(run, reading)
    return {query: _ordered(rows[query], reading, qrels[query]) for query in rows if query in qrels}


def _ordered(rows: Sequence[RunRow], reading: Reading, grades: Mapping[str, int]) -> list[str]:
    docs = [row.doc for row in rows]
    keys = np.array([order_key(row, reading) for row in rows], dtype=np.float64)
    ordered = [docs[at] for at in best_first(docs, keys).tolist()] if docs else []
    ordered = ordered[: reading.depth]
    return [doc for doc in ordered if grades.get(doc, -1) >= 0] if reading.judged_only else ordered


def relevant_of(grades: Mapping[str, int], rel: int) -> list[str]:
    """The relevant documents, those of the highest grade first."""
    return sorted((doc for doc, grade in grades.items() if grade >= rel), key=lambda doc: -grades[doc])
