"""BM25 over words, n-grams or BPE tokens."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np

from rankproof._data.corpus import Corpus
from rankproof._data.dataset import Query
from rankproof._data.identity import library_version, library_versions
from rankproof._data.ordering import Ranking
from rankproof._data.run import TermPart
from rankproof._data.text import pluralise
from rankproof._registry import Option
from rankproof.stages._analyzer import (
    WORD_ANALYZER,
    Analyzer,
    WordAnalyzer,
    analyzer_by_name,
    analyzer_libraries,
    check_analyzer,
    check_language,
)
from rankproof.stages._base import BuildContext, Cost, QueryTimer, Stage
from rankproof.stages._bm25_index import InvertedIndex, best_rows, build_inverted_index, is_numba_installed, search_compiled
from rankproof.stages._fields import DEFAULT_FIELDS, Depth, Fields, check_settings, passage_text, passage_texts


def idf(found: int, size: int) -> float:
    """ln(1 + (N - df + 0.5) / (df + 0.5)): the inverse document frequency of a term in `found` of `size` documents."""
    return math.log(1 + (size - found + 0.5) / (found + 0.5))


def term_parts(
    index: InvertedIndex, query: Sequence[str], document: Sequence[str], row: int, k1: float, b: float
) -> list[TermPart]:
    """What each query term adds to the score of the document in that row, in the order of the query."""
    times = Counter(document)
    mean = float(index.lengths.mean())
    norm = k1 * (1 - b + b * len(document) / mean) if mean else 0.0
    return [_term_part(index, term, times[term], norm, row) for term in query]


def _term_part(index: InvertedIndex, term: str, tf: int, norm: float, row: int) -> TermPart:
    at = index.vocabulary.get(term)
    if at is None:
        return TermPart(term, tf, 0, 0.0, norm, 0.0)
    df = int(index.starts[at + 1] - index.starts[at])
    return TermPart(term, tf, df, idf(df, len(index.lengths)), norm, index.weight(at, row))


@dataclass(frozen=True)
class BM25:
    """BM25 as in bm25s; `stop_words` is True for the list of the language, False for none, or a tuple of words.

    `tokens` is words, characters-N, bytes-N or bpe-N; stemming and stop words apply to words only.
    """

    k1: Annotated[float, Option("term-frequency saturation: how much repeated words count", least=0, most=1000)] = 1.5
    b: Annotated[float, Option("length normalisation, from 0 (none) to 1 (full)", least=0, most=1)] = 0.75
    language: Annotated[str, Option("language of stemmer and stop words, if tokens is words")] = "english"
    stemming: Annotated[bool, Option("whether words are stemmed")] = True
    stop_words: Annotated[bool | tuple[str, ...], Option("whether stop words are removed, or a list of words to remove")] = True
    fields: Fields = DEFAULT_FIELDS
    depth: Depth = 100
    tokens: Annotated[str, Option("token type: words, characters-N, bytes-N or bpe-N; only words depend on the language")] = (
        WORD_ANALYZER
    )

    def __post_init__(self) -> None:
        check_settings(self)
        check_analyzer(self.tokens, language=self.language, stop_words=self.stop_words)
        if self.tokens != WORD_ANALYZER:
            object.__setattr__(self, "stemming", False)
            object.__setattr__(self, "stop_words", False)
        check_language(self.language, stemming=self.stemming, stop_words=self.stop_words)

    def inputs(self) -> tuple[Stage, ...]:
        """None: it searches the documents."""
        return ()

    def revision(self) -> str:
        """The versions of the libraries that the scores depend on."""
        return library_versions("bm25s", *analyzer_libraries(self.tokens))

    def build(self, context: BuildContext) -> BM25Searcher:
        """Indexes the passages."""
        return self.index(context.corpus)

    def index(self, corpus: Corpus) -> BM25Searcher:
        """The searcher of the corpus."""
        start = time.perf_counter()
        texts = passage_texts(corpus, self.fields)
        docs = sorted(texts, reverse=True)
        terms = self._cut([texts[doc] for doc in docs])
        index = build_inverted_index((terms.tokenize(texts[doc]) for doc in docs), self.k1, self.b)
        return BM25Searcher(self, corpus, terms, docs, index, time.perf_counter() - start)

    def _cut(self, texts: Sequence[str]) -> Analyzer:
        if self.tokens != WORD_ANALYZER:
            return analyzer_by_name(self.tokens, texts)
        return WordAnalyzer(self.language, stemming=self.stemming, stop_words=self.stop_words)


class BM25Searcher:
    """The index, ready to search."""

    def __init__(
        self, stage: BM25, corpus: Corpus, terms: Analyzer, docs: list[str], index: InvertedIndex, seconds: float
    ) -> None:
        self.stage, self.corpus, self.terms, self.docs, self.index = stage, corpus, terms, docs, index
        self._cost = Cost(seconds=seconds, bytes=index.size())
        self._names = np.array(docs, dtype=object)

    def search(self, query: Query, inputs: Sequence[Ranking], timer: QueryTimer) -> Ranking:
        """The documents with a term of the query, best first."""
        with timer.part("search"):
            known = self.index.term_ids(self.terms.tokenize(query.text))
            rows, scores = best_rows(self.index.document_scores(known), self.stage.depth)
            return self._names[rows].tolist(), scores.astype(np.float64)

    def search_all(self, queries: Sequence[Query]) -> list[Ranking]:
        """The same rankings to the last bit; numba, if installed, compiles the search at the first call."""
        if not is_numba_installed():
            return [self.search(query, (), QueryTimer()) for query in queries]
        return self.search_terms([self.terms.tokenize(query.text) for query in queries])

    def search_terms(self, queries: Sequence[Sequence[str]]) -> list[Ranking]:
        """The rankings of tokenized queries, by the compiled search."""
        known = [self.index.term_ids(query) for query in queries]
        rows, scores, lengths = search_compiled(self.index, known, self.stage.depth)
        names, values = self._names[rows], scores.astype(np.float64)
        return [(names[at, :length].tolist(), values[at, :length]) for at, length in enumerate(lengths.tolist())]

    def parts(self, text: str, doc: str) -> list[TermPart]:
        """What each query term adds to the score of a document; their sum in order, in float32, is the score."""
        document = self.terms.tokenize(passage_text(self.corpus[doc], self.stage.fields))
        row = self.docs.index(doc)
        parts = term_parts(self.index, self.terms.tokenize(text), document, row, self.stage.k1, self.stage.b)
        return [replace(part, term=self.terms.display(part.term)) for part in parts]

    def cost(self) -> Cost:
        """The time of tokenizing and indexing, and the bytes of the index."""
        return self._cost

    def facts(self) -> Mapping[str, Any]:
        """The libraries and the statistics of the index."""
        lengths = self.index.lengths
        return {
            "library": self.stage.revision(),
            "batch": library_version("numba") if is_numba_installed() else "one by one; the extra numba makes it faster",
            "tokens": self.stage.tokens,
            "documents": len(self.docs),
            "documents_without_words": int(np.count_nonzero(lengths == 0)),
            "mean_length": float(lengths.mean()) if len(lengths) else 0.0,
            "vocabulary": len(self.index.vocabulary),
        }

    def notes(self) -> Sequence[str]:
        """A note on documents that cannot be found."""
        fields = " and ".join(self.stage.fields)
        if not self.index.vocabulary:
            return [f"no document has a word in {fields}: nothing is retrieved"]
        silent = int(np.count_nonzero(self.index.lengths == 0))
        return (
            [f"{pluralise(silent, 'document has', 'documents have')} no words in {fields} and cannot be found"] if silent else []
        )

    def close(self) -> None:
        """Does nothing: no resource is open."""
