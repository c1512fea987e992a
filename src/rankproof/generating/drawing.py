"""Which documents queries are made from: drawn by the seed, for each category on its own."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from random import Random

from ..data.corpus import Corpus
from ..data.queries import Query
from ..stages.bm25 import BM25, BM25Searcher
from ..stages.clock import Clock
from ..stages.words import words
from .draft import Source
from .lexicon import Lexicon
from .prompts import PAIRED

LEAST_WORDS = 8
"""Of a document that a query can be made from."""
_NEAR = 5
_TELLING = 30


class Drawing:
    """The documents of a collection that have enough words, in an order that only the seed and the category decide."""

    def __init__(self, corpus: Corpus, lexicon: Lexicon, fields: tuple[str, ...], seed: int) -> None:
        self._corpus, self._lexicon, self._fields, self._seed = corpus, lexicon, fields, seed
        self.docs = sorted(doc for doc, text in lexicon.texts.items() if len(words(text)) >= LEAST_WORDS)
        self._fit = frozenset(self.docs)

    def sources(self, category: str) -> Iterator[Source]:
        """Each document once; for a category that takes two, with the document nearest to it."""
        docs = list(self.docs)
        Random(f"{self._seed}\0{category}").shuffle(docs)
        for doc in docs:
            if category not in PAIRED:
                yield Source(category, (doc,))
            elif (other := self._nearest(doc)) is not None:
                yield Source(category, (doc, other))

    def _nearest(self, doc: str) -> str | None:
        """Another document that shares the most telling words; None where none shares any."""
        telling = " ".join(self._lexicon.telling(self._lexicon.texts[doc], _TELLING))
        found, _ = self._index.search(Query(doc, telling), (), Clock())
        return next((other for other in found if other != doc and other in self._fit), None)

    @cached_property
    def _index(self) -> BM25Searcher:
        return BM25(fields=self._fields, depth=_NEAR).index(self._corpus)
