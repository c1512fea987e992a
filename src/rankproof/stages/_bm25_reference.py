"""The index of BM25 in Python: the definition of what the C extension computes, and its replacement where it was not built."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from heapq import merge
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankproof._data.arrays import FloatArray, IntArray
from rankproof.stages._analyzer import Analyzer
from rankproof.stages._bm25_index import Columns, Found, PostingArrays, TermBatch, posting_rows, texts_of


class ReferenceBuilder:
    """Counts the terms of each document; a document that does not fit into the block starts the next one."""

    def __init__(self, most_rows: int, most_pairs: int) -> None:
        self._most_rows, self._most_pairs = most_rows, most_pairs
        self._vocabulary: dict[str, int] = {}
        self._lengths, self._distinct = array("i"), array("i")
        self._terms, self._codes = array("i"), array("i")
        self._block_rows: list[int] = []
        self._block_pairs: list[dict[tuple[int, int], int]] = []

    def add(self, columns: Columns, rows: int, analyzer: Analyzer) -> None:
        """Adds documents."""
        for text in texts_of(columns, rows):
            self.count_terms(analyzer.tokenize_once(text))

    def count_terms(self, terms: list[str]) -> None:
        """Adds one document."""
        counts = Counter(terms)
        codes = self._block_with(dict.fromkeys((count, len(terms)) for count in counts.values()))
        for term, count in counts.items():
            self._terms.append(self._vocabulary.setdefault(term, len(self._vocabulary)))
            self._codes.append(codes[count, len(terms)])
        self._lengths.append(len(terms))
        self._distinct.append(len(counts))

    def _block_with(self, pairs: dict[tuple[int, int], None]) -> dict[tuple[int, int], int]:
        """The codes of the block of the next document, which has these pairs."""
        rows = len(self._lengths)
        full = not self._block_rows or rows - self._block_rows[-1] == self._most_rows
        if full or len(self._block_pairs[-1].keys() | pairs.keys()) > self._most_pairs:
            self._block_rows.append(rows)
            self._block_pairs.append({})
        codes = self._block_pairs[-1]
        for pair in pairs:
            codes.setdefault(pair, len(codes))
        return codes

    def arrays(self) -> PostingArrays:
        """The index of all documents that were added."""
        terms = sorted((term.encode(), number) for term, number in self._vocabulary.items())
        numbers = np.empty(len(terms), np.int64)
        numbers[[number for _, number in terms]] = np.arange(len(terms))
        block_rows = np.array([*self._block_rows, len(self._lengths)], np.int64)
        rows = np.repeat(np.arange(len(self._lengths)), self._distinct)
        blocks = np.searchsorted(block_rows[1:], rows, side="right")
        term_of = numbers[np.array(self._terms, np.int64)]
        order = np.argsort(term_of, kind="stable")
        rows, blocks, term_of = rows[order], blocks[order], term_of[order]
        starts = np.flatnonzero(np.diff(term_of, prepend=-1) | np.diff(blocks, prepend=-1))
        pairs = [pair for codes in self._block_pairs for pair in codes]
        return PostingArrays(
            term_bytes=np.frombuffer(b"".join(term for term, _ in terms), np.uint8),
            term_offsets=_offsets([len(term) for term, _ in terms]),
            term_segments=np.searchsorted(term_of[starts], np.arange(len(terms) + 1)).astype(np.int64),
            segment_blocks=blocks[starts].astype(np.int32),
            segment_starts=np.array([*starts, len(rows)], np.int64),
            postings=(rows - block_rows[blocks] | np.array(self._codes, np.int64)[order] << 16).astype(np.uint32),
            block_rows=block_rows,
            block_pairs=_offsets([len(codes) for codes in self._block_pairs]),
            pair_frequencies=np.array([count for count, _ in pairs], np.uint32),
            pair_lengths=np.array([length for _, length in pairs], np.uint32),
            lengths=np.array(self._lengths, np.int32),
        )


def _offsets(sizes: Sequence[int]) -> IntArray:
    return np.cumsum([0, *sizes], dtype=np.int64)


class _TermBytes(Sequence[bytes]):
    """The terms of a vocabulary."""

    def __init__(self, data: NDArray[np.uint8], offsets: IntArray) -> None:
        self._data, self._offsets = data, offsets

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def __getitem__(self, at: int) -> bytes:  # type: ignore[override]
        return self._data[self._offsets[at] : self._offsets[at + 1]].tobytes()


class ReferencePostings:
    """The index, searched by numpy."""

    def __init__(self, arrays: PostingArrays, places: NDArray[np.int32], factors: FloatArray) -> None:
        self._arrays, self._places, self._factors = arrays, places, factors
        self._terms = _TermBytes(arrays.term_bytes, arrays.term_offsets)

    def find(self, terms: list[str]) -> list[tuple[int, int]]:
        """The number of each term, -1 if no document has it, and how many documents have it."""
        return [self._find(term.encode()) for term in terms]

    def _find(self, term: bytes) -> tuple[int, int]:
        at = bisect_left(self._terms, term)
        if at == len(self._terms) or self._terms[at] != term:
            return -1, 0
        first, end = (self._arrays.segment_starts[self._arrays.term_segments[term_number]] for term_number in (at, at + 1))
        return at, int(end - first)

    def search(self, batch: TermBatch, k: int) -> Found:
        """The k best rows of each query."""
        count, width = len(batch.bounds) - 1, max(1, min(k, len(self._places)))
        rows, scores, counts = np.zeros((count, width), np.int32), np.zeros((count, width)), np.zeros(count, np.int64)
        for query in range(count):
            best, values = self._best(self._totals(batch, range(batch.bounds[query], batch.bounds[query + 1])), width)
            counts[query] = len(best)
            rows[query, : len(best)], scores[query, : len(best)] = best, values
        return Found(rows, scores, counts)

    def _totals(self, batch: TermBatch, terms: range) -> FloatArray:
        """The score of every row: the weights of the terms, added in order."""
        is_wide = len(batch.times) > 0
        totals: NDArray[Any] = np.zeros(len(self._places), np.float64 if is_wide else np.float32)
        for at in terms:
            term = batch.terms[at]
            segments = range(*self._arrays.term_segments[term : term + 2]) if term >= 0 else ()
            for segment in segments:
                rows, pairs = posting_rows(self._arrays, segment)
                weights = (batch.idfs[at] * self._factors[pairs]).astype(np.float32)
                totals[rows] += batch.times[at] * weights.astype(np.float64) if is_wide else weights
        return totals.astype(np.float64)

    def _best(self, totals: FloatArray, k: int) -> tuple[IntArray, FloatArray]:
        rows = np.flatnonzero(totals > 0)
        if len(rows) > k:
            least = np.partition(totals[rows], len(rows) - k)[len(rows) - k]
            rows = rows[totals[rows] >= least]
        rows = rows[np.lexsort((self._places[rows], -totals[rows]))][:k]
        return rows, totals[rows]


def count_distinct_terms(vocabularies: Sequence[tuple[NDArray[np.uint8], IntArray]]) -> int:
    """The number of distinct terms of several vocabularies, each in the order of its bytes."""
    readers: list[Iterator[bytes]] = [iter(_TermBytes(*vocabulary)) for vocabulary in vocabularies]
    return sum(1 for _ in groupby(merge(*readers)))
