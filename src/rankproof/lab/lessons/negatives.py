"""Hard negatives: documents that BM25 finds for a query, and that do not answer it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice

from ...data.corpus import Corpus, Document
from ...data.queries import Query
from ...stages.bm25 import BM25
from .crops import is_unspaced

_LOOKED_AT = 20
"""Texts by which a language is told to put no blanks between words."""


def hard_negatives(
    texts: Mapping[int, str], queries: Sequence[str], relevant: Sequence[frozenset[int]], count: int
) -> list[list[int]]:
    """For each query the rows of at most `count` documents, best first, of `texts` by row; none that is relevant."""
    if not count or not queries:
        return [[] for _ in queries]
    most = max(map(len, relevant))
    searcher = _stage(texts, count + most).index(Corpus(Document(str(row), text) for row, text in texts.items()))
    rankings = searcher.search_all([Query(str(at), text) for at, text in enumerate(queries)])
    found = [[int(doc) for doc in docs] for docs, _ in rankings]
    return [[row for row in rows if row not in taken][:count] for rows, taken in zip(found, relevant, strict=True)]


def _stage(texts: Mapping[int, str], depth: int) -> BM25:
    """Words as they stand, whatever the language, or groups of characters where words are not set apart."""
    first = " ".join(islice(texts.values(), _LOOKED_AT))
    tokens = "characters-3" if is_unspaced(first) else "words"
    return BM25(stemming=False, stop_words=False, tokens=tokens, depth=depth)
