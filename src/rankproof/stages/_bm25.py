"""BM25 over words, n-grams or BPE tokens."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import accumulate
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from rankproof._data import format_versions
from rankproof._data.arrays import FloatArray
from rankproof._data.corpus import Corpus, Partition, TextColumn
from rankproof._data.dataset import Query
from rankproof._data.identity import identity_key, library_versions
from rankproof._data.ordering import Ranking
from rankproof._data.run import TermPart
from rankproof._data.text import pluralise
from rankproof._executors.base import Report
from rankproof._io.array_files import Arrays, open_arrays, write_arrays
from rankproof._registry import Option
from rankproof.models._trained.tokenizers import TOKENIZER_FILE
from rankproof.stages._analyzer import (
    WORD_ANALYZER,
    Analyzer,
    WordAnalyzer,
    analyzer_by_name,
    analyzer_libraries,
    check_analyzer,
    check_language,
    is_learned,
    train_bpe,
)
from rankproof.stages._base import BuildContext, Cost, QueryTimer, Searcher, Stage
from rankproof.stages._bm25_index import (
    Columns,
    PostingArrays,
    TermBatch,
    build_postings,
    count_distinct,
    frequency_factors,
    length_norms,
    open_postings,
    pair_factors,
)
from rankproof.stages._fields import (
    DEFAULT_FIELDS,
    Depth,
    Fields,
    PassageTexts,
    check_known_fields,
    check_settings,
    passage_text,
)
from rankproof.stages._partitions import PartitionedSearch, PartitionHits, document_places, merge_rankings

_POSTINGS, _VOCABULARY = "postings.arrays", "vocabulary.arrays"


@dataclass(frozen=True, slots=True)
class TermAnalysis:
    """The settings of an analyzer, which can be pickled; `bpe` is the tokenizer.json of BPE tokens."""

    tokens: str = WORD_ANALYZER
    language: str = "english"
    stemming: bool = True
    stop_words: bool | tuple[str, ...] = True
    bpe: bytes = b""

    def analyzer(self) -> Analyzer:
        """The analyzer."""
        if self.tokens == WORD_ANALYZER:
            return WordAnalyzer(self.language, stemming=self.stemming, stop_words=self.stop_words)
        return analyzer_by_name(self.tokens, self.bpe)

    def with_learned_tokens(self, texts: Callable[[], Iterable[str]]) -> TermAnalysis:
        """The same; BPE tokens are learned from the texts."""
        return replace(self, bpe=train_bpe(self.tokens, texts()).files()[TOKENIZER_FILE]) if is_learned(self.tokens) else self

    def key(self) -> str:
        """The key of what the terms depend on, besides the versions of libraries."""
        settings = (self.tokens, self.language, self.stemming, self.stop_words)
        return identity_key(settings, sha256(self.bpe).hexdigest())


@dataclass(frozen=True, slots=True)
class PartitionStatistics:
    """The numbers of documents, of documents without words, of terms and of tokens, and the file of the index."""

    documents: int
    empty: int
    terms: int
    tokens: int
    file: Path | None = None

    @classmethod
    def of(cls, arrays: PostingArrays) -> PartitionStatistics:
        """The statistics of an index in memory."""
        lengths = arrays.lengths
        return cls(len(lengths), int(np.count_nonzero(lengths == 0)), arrays.terms, int(lengths.sum(dtype=np.int64)))


@dataclass(frozen=True, slots=True)
class CorpusStatistics:
    """The numbers of documents, of documents without words, of distinct terms and of tokens of all partitions."""

    documents: int
    empty: int
    vocabulary: int
    tokens: int

    @property
    def mean_length(self) -> float:
        """The mean number of tokens of a document."""
        return self.tokens / self.documents if self.documents else 0.0


@dataclass(frozen=True, slots=True)
class TermQueries:
    """Queries as terms: those of query q are terms[places[bounds[q]:bounds[q + 1]]]; `terms` has each term once, in order.

    `times` is empty, or what the weight of each term of each query is multiplied by.
    """

    terms: tuple[str, ...]
    idfs: tuple[float, ...]
    places: tuple[int, ...]
    bounds: tuple[int, ...]
    times: tuple[float, ...] = ()

    def __len__(self) -> int:
        return len(self.bounds) - 1


class BM25Index:
    """The index of one partition, with the weights of the whole corpus."""

    def __init__(self, arrays: PostingArrays, places: NDArray[np.int32], factors: FloatArray) -> None:
        self._postings = open_postings(arrays, places, factors)

    def frequencies(self, terms: list[str]) -> list[int]:
        """How many documents have each term."""
        return [frequency for _, frequency in self._postings.find(terms)]

    def search(self, queries: TermQueries, k: int) -> PartitionHits:
        """The k best rows for each query."""
        numbers = np.array([number for number, _ in self._postings.find(list(queries.terms))], np.int64)
        places, idfs = np.array(queries.places, np.int64), np.array(queries.idfs, np.float64)
        batch = TermBatch(numbers[places], np.array(queries.bounds, np.int64), idfs[places], np.array(queries.times, np.float64))
        return PartitionHits(*self._postings.search(batch, k))


@dataclass(frozen=True, slots=True)
class BM25Partitions:
    """Indexes and searches one partition at a time; the index does not depend on k1 and b."""

    analysis: TermAnalysis
    fields: tuple[str, ...]
    k1: float
    b: float

    def prepare(self, partition: Partition, folder: Path, report: Report) -> PartitionStatistics:
        """Writes the index of the partition, unless it is there."""
        path = folder / _POSTINGS
        if path.exists():
            report(len(partition))
        else:
            # A copy of a partition on file maps the texts again, and frees them when the copy is gone.
            arrays = self.postings(copy(partition), report)
            counts = PartitionStatistics.of(arrays)
            facts = {"empty": counts.empty, "tokens": counts.tokens}
            write_arrays(path, {**arrays._asdict(), "places": document_places(partition)}, facts)
        file = open_arrays(path)
        return PartitionStatistics(len(partition), terms=_postings_of(file.arrays).terms, file=path, **file.facts)

    def postings(self, partition: Partition, report: Report = lambda done: None) -> PostingArrays:
        """The index of the partition."""
        columns = passage_columns(partition, self.fields)
        return build_postings(columns, len(partition), self.analysis.analyzer(), report=report)

    def combine(self, statistics: Iterable[PartitionStatistics], folder: Path) -> CorpusStatistics:
        """The statistics of all partitions together."""
        parts = list(statistics)
        return corpus_statistics(parts, lambda: _count_terms(parts, folder / _VOCABULARY))

    def open(self, partition: Partition, folder: Path, totals: CorpusStatistics) -> BM25Index:
        """The index of a partition that was prepared."""
        arrays = open_arrays(folder / _POSTINGS).arrays
        return self.ready(_postings_of(arrays), arrays["places"], totals)

    def ready(self, arrays: PostingArrays, places: NDArray[np.int32], totals: CorpusStatistics) -> BM25Index:
        """The index with the weights of the whole corpus."""
        return BM25Index(arrays, places, pair_factors(arrays, self.k1, self.b, totals.mean_length))


def corpus_statistics(parts: Sequence[PartitionStatistics], distinct: Callable[[], int]) -> CorpusStatistics:
    """The sums; `distinct` counts the terms of several partitions."""
    vocabulary = parts[0].terms if len(parts) == 1 else distinct()
    documents, empty, tokens = (sum(getattr(part, name) for part in parts) for name in ("documents", "empty", "tokens"))
    return CorpusStatistics(documents, empty, vocabulary, tokens)


def _count_terms(parts: Sequence[PartitionStatistics], path: Path) -> int:
    """The number of distinct terms, counted once."""
    if not path.exists():
        files = [open_arrays(part.file).arrays for part in parts if part.file]
        write_arrays(path, {}, {"terms": count_distinct([(file["term_bytes"], file["term_offsets"]) for file in files])})
    return int(open_arrays(path).facts["terms"])


def _postings_of(arrays: Arrays) -> PostingArrays:
    return PostingArrays(**{name: arrays[name] for name in PostingArrays._fields})


def passage_columns(partition: Partition, fields: Sequence[str]) -> Callable[[int, int], Columns]:
    """The fields of the documents from one row to another, as columns; fields other than title and text become one column."""
    known = {"title": partition.titles, "text": partition.texts}

    def columns(first: int, last: int) -> Columns:
        if all(field in known for field in fields):
            return tuple((known[field].data, known[field].offsets[first : last + 1]) for field in fields)
        texts = (passage_text(partition.document(row), fields) for row in range(first, last))
        made = TextColumn.of([text.encode(errors="surrogatepass") for text in texts])
        return ((made.data, made.offsets),)

    return columns


def idf(frequency: int, size: int) -> float:
    """ln(1 + (N - df + 0.5) / (df + 0.5)): the inverse document frequency of a term in `found` of `size` documents."""
    return math.log(1 + (size - frequency + 0.5) / (frequency + 0.5))


@dataclass(frozen=True)
class BM25(Stage):
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

    def revision(self) -> str:
        """The versions of the libraries that the tokens depend on, "" for n-grams."""
        return library_versions(*analyzer_libraries(self.tokens))

    def build(self, context: BuildContext) -> BM25Searcher:
        """Indexes the passages, partition by partition."""
        partitions = self._partitions(context.corpus)
        search = PartitionedSearch(context, partitions, self._index_key(partitions), label="indexing passages for BM25")
        totals = search.prepare_all()
        cost = Cost(seconds=search.seconds, bytes=search.size())
        return BM25Searcher(self, context.corpus, partitions, totals, search.open_all(partitions.open), cost, search.search_all)

    def index(self, corpus: Corpus) -> BM25Searcher:
        """The searcher of a corpus, whose index is in memory."""
        return index_in_memory(self, corpus, self._partitions(corpus))

    def _partitions(self, corpus: Corpus) -> BM25Partitions:
        """The retriever; BPE tokens are learned from the passages, larger ids first."""
        check_known_fields(corpus, self.fields)
        analysis = TermAnalysis(self.tokens, self.language, self.stemming, self.stop_words)
        return BM25Partitions(
            analysis.with_learned_tokens(lambda: PassageTexts(corpus, self.fields).larger_ids_first()[1]),
            self.fields,
            self.k1,
            self.b,
        )

    def _index_key(self, partitions: BM25Partitions) -> str:
        """What the files of the index depend on besides the documents; k1, b and the depth do not matter."""
        return identity_key("bm25", format_versions.BM25_INDEX, partitions.analysis.key(), self.fields, self.revision())


def index_in_memory(stage: BM25, corpus: Corpus, partitions: BM25Partitions) -> BM25Searcher:
    """The searcher of a corpus, whose index is in memory."""
    start = time.perf_counter()
    postings = [partitions.postings(partition) for partition in corpus.partitions]
    totals = corpus_statistics(
        list(map(PartitionStatistics.of, postings)), lambda: count_distinct([part[:2] for part in postings])
    )
    places = map(document_places, corpus.partitions)
    indexes = [partitions.ready(arrays, rows, totals) for arrays, rows in zip(postings, places, strict=True)]
    cost = Cost(seconds=time.perf_counter() - start, bytes=sum(array.nbytes for arrays in postings for array in arrays))
    return BM25Searcher(stage, corpus, partitions, totals, indexes, cost)


class BM25Searcher(Searcher):
    """The indexes of all partitions, ready to search."""

    def __init__(
        self,
        stage: BM25,
        corpus: Corpus,
        partitions: BM25Partitions,
        totals: CorpusStatistics,
        indexes: Sequence[BM25Index],
        cost: Cost,
        search_batch: Callable[[TermQueries, int], list[Ranking]] | None = None,
    ) -> None:
        self.stage, self.corpus, self.totals = stage, corpus, totals
        self.terms = partitions.analysis.analyzer()
        self._indexes, self._cost = indexes, cost
        self._search_batch = search_batch or self._search_here

    def search(self, query: Query, inputs: Sequence[Ranking], timer: QueryTimer) -> Ranking:
        """The documents with a term of the query, best first."""
        with timer.part("search"):
            return self._search_here(self.term_queries([self.terms.tokenize(query.text)]), self.stage.depth)[0]

    def search_all(self, queries: Sequence[Query]) -> list[Ranking]:
        """The same rankings to the last bit."""
        return self.search_terms([self.terms.tokenize(query.text) for query in queries])

    def search_terms(self, queries: Sequence[Sequence[str]]) -> list[Ranking]:
        """The rankings of tokenized queries."""
        return self._search_batch(self.term_queries(queries), self.stage.depth)

    def search_weighted(self, query: Mapping[str, float]) -> Ranking:
        """The ranking by the weights of these terms times their factors, added in double."""
        return self._search_here(self.weighted_queries([query]), self.stage.depth)[0]

    def search_all_weighted(self, queries: Sequence[Mapping[str, float]]) -> list[Ranking]:
        """The same for several queries at once."""
        return self._search_batch(self.weighted_queries(queries), self.stage.depth)

    def _search_here(self, queries: TermQueries, k: int) -> list[Ranking]:
        return merge_rankings(self.corpus, (index.search(queries, k) for index in self._indexes), len(queries), k)

    def weighted_queries(self, queries: Sequence[Mapping[str, float]]) -> TermQueries:
        """Queries of terms with factors of their weights."""
        return replace(self.term_queries(list(map(list, queries))), times=tuple(t for query in queries for t in query.values()))

    def term_queries(self, queries: Sequence[Sequence[str]]) -> TermQueries:
        """The queries, with the idf of each term in the whole corpus."""
        terms = sorted({term for query in queries for term in query})
        numbers = {term: number for number, term in enumerate(terms)}
        places = tuple(numbers[term] for query in queries for term in query)
        # In float32, as in bm25s.
        idfs = tuple(float(np.float32(idf(frequency, self.totals.documents))) for frequency in self.frequencies(terms))
        bounds = (0, *accumulate(map(len, queries)))
        return TermQueries(tuple(terms), idfs, places, bounds)

    def frequencies(self, terms: list[str]) -> list[int]:
        """How many documents have each term."""
        counts = [[0] * len(terms), *(index.frequencies(terms) for index in self._indexes)]
        return list(map(sum, zip(*counts, strict=True)))

    def parts(self, text: str, doc: str) -> list[TermPart]:
        """What each query term adds to the score of a document; their sum in order, in float32, is the score."""
        document = Counter(self.terms.tokenize(passage_text(self.corpus[doc], self.stage.fields)))
        terms = self.terms.tokenize(text)
        return [self._part(term, frequency, document) for term, frequency in zip(terms, self.frequencies(terms), strict=True)]

    def _part(self, term: str, frequency_in_corpus: int, document: Counter[str]) -> TermPart:
        k1, tf = self.stage.k1, document[term]
        norm = length_norms(np.array([document.total()]), k1, self.stage.b, self.totals.mean_length)
        value = idf(frequency_in_corpus, self.totals.documents) if frequency_in_corpus else 0.0
        weight = np.float64(np.float32(value)) * frequency_factors(np.array([tf]), norm, k1)[0] if tf else 0.0
        return TermPart(self.terms.display(term), tf, frequency_in_corpus, value, float(norm[0]), float(np.float32(weight)))

    def cost(self) -> Cost:
        """The time of tokenizing and indexing, and the bytes of the index."""
        return self._cost

    def facts(self) -> Mapping[str, Any]:
        """The libraries and the statistics of the index."""
        return {
            "library": self.stage.revision(),
            "tokens": self.stage.tokens,
            "documents": self.totals.documents,
            "documents_without_words": self.totals.empty,
            "mean_length": self.totals.mean_length,
            "vocabulary": self.totals.vocabulary,
        }

    def notes(self) -> Sequence[str]:
        """A note on documents that cannot be found."""
        fields = " and ".join(self.stage.fields)
        if not self.totals.vocabulary:
            return [f"no document has a word in {fields}: nothing is retrieved"]
        what = pluralise(self.totals.empty, "document has", "documents have")
        return [f"{what} no words in {fields} and cannot be found"] if self.totals.empty else []
