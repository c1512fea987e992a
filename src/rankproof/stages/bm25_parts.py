"""One BM25 score taken apart, term by term."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from .idf import idf
from .postings import Postings


@dataclass(frozen=True, slots=True)
class TermPart:
    """A query's term in one document: weight = idf x tf (k1 + 1) / (tf + norm) in 32 bits; 0 where it is absent."""

    term: str
    tf: int
    df: int
    idf: float
    norm: float
    weight: float


def term_parts(index: Postings, query: Sequence[str], document: Sequence[str], row: int, k1: float, b: float) -> list[TermPart]:
    """What each term of the query adds to the score of the document in that row, in the query's order."""
    times = Counter(document)
    mean = float(index.lengths.mean())
    norm = k1 * (1 - b + b * len(document) / mean) if mean else 0.0
    return [_part(index, term, times[term], norm, row) for term in query]


def _part(index: Postings, term: str, tf: int, norm: float, row: int) -> TermPart:
    at = index.vocabulary.get(term)
    if at is None:
        return TermPart(term, tf, 0, 0.0, norm, 0.0)
    df = int(index.starts[at + 1] - index.starts[at])
    return TermPart(term, tf, df, idf(df, len(index.lengths)), norm, index.weight(at, row))
