"""An inverted index with the BM25 weight of every term in every document, made by bm25s.

The weight is idf x tf (k1 + 1) / (tf + k1 (1 - b + b length / mean length)) with idf = ln(1 + (N - df + 0.5) / (df + 0.5)): what
bm25s calls ATIRE's term frequency with Lucene's idf. Rows are by id descending, so that of equal scores the first row wins.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._extras import extra
from ..data.arrays import IntArray, Matrix

RowArray = NDArray[np.int32]


@dataclass(frozen=True, eq=False, slots=True)
class Postings:
    """Term t's rows and weights are starts[t] to starts[t + 1]; its rows ascend."""

    vocabulary: dict[str, int]
    weights: Matrix
    rows: RowArray
    starts: IntArray
    lengths: IntArray

    def known(self, terms: Sequence[str]) -> list[int]:
        """The numbers of the terms that some document has, as often as they stand."""
        return [at for term in terms if (at := self.vocabulary.get(term, -1)) >= 0]

    def totals(self, known: Sequence[int]) -> Matrix:
        """Every row's score for the terms, added in their order."""
        totals = np.zeros(len(self.lengths), dtype=np.float32)
        for at in known:
            span = slice(self.starts[at], self.starts[at + 1])
            totals[self.rows[span]] += self.weights[span]
        return totals

    def weight(self, term: int, row: int) -> float:
        """What one term adds to one row's score, 0 where the document lacks it."""
        start, end = int(self.starts[term]), int(self.starts[term + 1])
        at = start + int(np.searchsorted(self.rows[start:end], row))
        return float(self.weights[at]) if at < end and self.rows[at] == row else 0.0

    def size(self) -> int:
        """Bytes of the arrays."""
        return self.weights.nbytes + self.rows.nbytes + self.starts.nbytes + self.lengths.nbytes


def postings(documents: Iterable[Sequence[str]], k1: float, b: float) -> Postings:
    """The index of documents given as terms, which are not kept; without a single term among them nothing will be found."""
    numbering: defaultdict[str, int] = defaultdict()
    numbering.default_factory = numbering.__len__
    numbers = [list(map(numbering.__getitem__, terms)) for terms in documents]
    vocabulary = dict(numbering)
    lengths = np.array(list(map(len, numbers)), dtype=np.int64)
    if not vocabulary:
        empty = np.zeros(0, dtype=np.int32)
        return Postings(vocabulary, np.zeros(0, dtype=np.float32), empty, np.zeros(1, dtype=np.int64), lengths)
    import logging

    with extra("retrieval"):
        import bm25s

    # Its import sets this logger to tell of every step.
    logging.getLogger("bm25s").setLevel(logging.WARNING)
    index = bm25s.BM25(k1=k1, b=b, method="atire", idf_method="lucene")
    index.index((numbers, vocabulary), create_empty_token=False, show_progress=False)
    made = index.scores
    return Postings(vocabulary, made["data"], made["indices"], np.asarray(made["indptr"], dtype=np.int64), lengths)


def best_rows(totals: Matrix, depth: int) -> tuple[IntArray, Matrix]:
    """The rows with the highest scores above 0, best first, and their scores; of equal scores the first row."""
    rows = np.flatnonzero(totals)
    scores = totals[rows]
    if len(rows) > depth:
        least = np.partition(scores, len(rows) - depth)[len(rows) - depth]
        level = np.flatnonzero(scores == least)
        above = np.flatnonzero(scores > least)
        kept = np.sort(np.concatenate([above, level[: depth - len(above)]]))
        rows, scores = rows[kept], scores[kept]
    order = np.argsort(-scores, kind="stable")
    return rows[order], scores[order]
