"""BM25 over words, or over other tokens: the rung that every other one is measured against."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np

from .._registry import Option
from ..data.corpus import Corpus
from ..data.counting import counted
from ..data.queries import Query
from ..data.ranking import Ranking
from ..data.versions import behind, version_of
from .base import Cost, Ground, Stage
from .bm25_parts import TermPart, term_parts
from .clock import Clock
from .compiled import numba_is_there, search_compiled
from .passages import DEFAULT_FIELDS, passage, passages
from .postings import Postings, best_rows, postings
from .settings import Depth, Fields, check
from .tokens import WORDS, Tokens, libraries, refuse_tokens, tokens_named
from .words import Terms, refuse_language


@dataclass(frozen=True)
class BM25:
    """Robertson's BM25 by bm25s; `stop_words` is true for the language's list, false for none, or a tuple of words.

    `tokens` is words, characters-N, bytes-N or bpe-N; stemming and stop words are for words, and off for any other.
    """

    k1: Annotated[float, Option("term-frequency saturation: how much repeated words count", least=0, most=1000)] = 1.5
    b: Annotated[float, Option("length normalisation, from 0 (none) to 1 (full)", least=0, most=1)] = 0.75
    language: Annotated[str, Option("language of stemmer and stop words; for words only")] = "english"
    stemming: Annotated[bool, Option("whether words are stemmed")] = True
    stop_words: Annotated[bool | tuple[str, ...], Option("whether stop words are left out, or which words are")] = True
    fields: Fields = DEFAULT_FIELDS
    depth: Depth = 100
    tokens: Annotated[str, Option("what is counted: words, or without a language characters-N, bytes-N or bpe-N")] = WORDS

    def __post_init__(self) -> None:
        check(self)
        refuse_tokens(self.tokens, language=self.language, stop_words=self.stop_words)
        if self.tokens != WORDS:
            object.__setattr__(self, "stemming", False)
            object.__setattr__(self, "stop_words", False)
        refuse_language(self.language, stemming=self.stemming, stop_words=self.stop_words)

    def below(self) -> tuple[Stage, ...]:
        """Nothing: it searches the documents themselves."""
        return ()

    def revision(self) -> str:
        """The libraries whose arithmetic and word forms the scores follow from."""
        return behind("bm25s", *libraries(self.tokens))

    def build(self, ground: Ground) -> BM25Searcher:
        """Indexes the passages."""
        return self.index(ground.corpus)

    def index(self, corpus: Corpus) -> BM25Searcher:
        """The documents, ready to search."""
        start = time.perf_counter()
        texts = passages(corpus, self.fields)
        docs = sorted(texts, reverse=True)
        terms = self._cut([texts[doc] for doc in docs])
        index = postings((terms.of(texts[doc]) for doc in docs), self.k1, self.b)
        return BM25Searcher(self, corpus, terms, docs, index, time.perf_counter() - start)

    def _cut(self, texts: Sequence[str]) -> Tokens:
        if self.tokens != WORDS:
            return tokens_named(self.tokens, texts)
        return Terms(self.language, stemming=self.stemming, stop_words=self.stop_words)


class BM25Searcher:
    """The index, ready to search."""

    def __init__(self, stage: BM25, corpus: Corpus, terms: Tokens, docs: list[str], index: Postings, seconds: float) -> None:
        self.stage, self.corpus, self.terms, self.docs, self.index = stage, corpus, terms, docs, index
        self._cost = Cost(seconds=seconds, bytes=index.size())
        self._names = np.array(docs, dtype=object)

    def search(self, query: Query, below: Sequence[Ranking], clock: Clock) -> Ranking:
        """The documents that share a term with the query, best first."""
        with clock.part("search"):
            known = self.index.known(self.terms.of(query.text))
            rows, scores = best_rows(self.index.totals(known), self.stage.depth)
            return self._names[rows].tolist(), scores.astype(np.float64)

    def search_all(self, queries: Sequence[Query]) -> list[Ranking]:
        """The same rankings to the last bit, compiled where numba is installed; the first call compiles."""
        if not numba_is_there():
            return [self.search(query, (), Clock()) for query in queries]
        return self.search_terms([self.terms.of(query.text) for query in queries])

    def search_terms(self, queries: Sequence[Sequence[str]]) -> list[Ranking]:
        """The compiled search of queries that are terms already."""
        known = [self.index.known(query) for query in queries]
        rows, scores, lengths = search_compiled(self.index, known, self.stage.depth)
        names, values = self._names[rows], scores.astype(np.float64)
        return [(names[at, :length].tolist(), values[at, :length]) for at, length in enumerate(lengths.tolist())]

    def parts(self, text: str, doc: str) -> list[TermPart]:
        """What each term of a query adds to one document's score; the weights added in order, in 32 bits, are the score."""
        document = self.terms.of(passage(self.corpus[doc], self.stage.fields))
        row = self.docs.index(doc)
        parts = term_parts(self.index, self.terms.of(text), document, row, self.stage.k1, self.stage.b)
        return [replace(part, term=self.terms.shown(part.term)) for part in parts]

    def cost(self) -> Cost:
        """Tokenising and indexing, and the bytes of the index."""
        return self._cost

    def facts(self) -> Mapping[str, Any]:
        """The libraries, and what the index holds."""
        lengths = self.index.lengths
        return {
            "library": self.stage.revision(),
            "batch": version_of("numba") if numba_is_there() else "one by one; the extra numba makes it faster",
            "tokens": self.stage.tokens,
            "documents": len(self.docs),
            "documents_without_words": int(np.count_nonzero(lengths == 0)),
            "mean_length": float(lengths.mean()) if len(lengths) else 0.0,
            "vocabulary": len(self.index.vocabulary),
        }

    def notes(self) -> Sequence[str]:
        """Documents that no query can find."""
        fields = " and ".join(self.stage.fields)
        if not self.index.vocabulary:
            return [f"no document has a word in {fields}: nothing is retrieved"]
        silent = int(np.count_nonzero(self.index.lengths == 0))
        return [f"{counted(silent, 'document has', 'documents have')} no word in {fields} and cannot be found"] if silent else []

    def close(self) -> None:
        """Nothing is open."""
