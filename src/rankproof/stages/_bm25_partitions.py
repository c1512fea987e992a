"""BM25 partition by partition: index files, statistics of the whole corpus, and queries as terms with their idf."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rankproof._data.arrays import FloatArray
from rankproof._data.corpus import Partition, TextColumn
from rankproof._data.identity import identity_key
from rankproof._executors.base import Report
from rankproof._io.array_file import Arrays, open_arrays, write_arrays
from rankproof.models._trained.tokenizers import TOKENIZER_FILE
from rankproof.stages._analyzer import WORD_ANALYZER, Analyzer, WordAnalyzer, analyzer_by_name, is_learned, train_bpe
from rankproof.stages._bm25_index import (
    Columns,
    PostingArrays,
    TermBatch,
    build_postings,
    count_distinct,
    open_postings,
    pair_factors,
)
from rankproof.stages._fields import passage_text
from rankproof.stages._partitions import PartitionHits, document_places

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

    def trained(self, texts: Callable[[], Iterable[str]]) -> TermAnalysis:
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
