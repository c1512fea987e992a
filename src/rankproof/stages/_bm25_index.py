"""The inverted index of a partition for BM25, made and searched by the C extension if it was built, else in Python."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from heapq import merge
from importlib.util import find_spec
from itertools import groupby
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from rankproof._data.arrays import FloatArray, IntArray
from rankproof.stages._analyzer import Analyzer

Kernel = Literal["native", "plain"]
# A posting of 32 bits has 16 for the row in its block, and 16 for the pair.
ROWS_PER_BLOCK = PAIRS_PER_BLOCK = 65_536
# Enough that a call costs little beside its tokenizing, and few enough that progress is reported often.
_ROWS_PER_CALL = 4_096
_ROW_MASK = 0xFFFF


class PostingArrays(NamedTuple):
    """The index of a partition.

    Term t is term_bytes[term_offsets[t]:term_offsets[t + 1]]; terms are in the order of their bytes. Its postings are in
    segments term_segments[t] to term_segments[t + 1], one for each block of rows that has the term; postings of segment s start
    at segment_starts[s]. A posting is the row in its block plus 65,536 times the number of its pair in the block: how often the
    document has the term, and its length. Block b starts at row block_rows[b] and pair block_pairs[b].
    """

    term_bytes: NDArray[np.uint8]
    term_offsets: IntArray
    term_segments: IntArray
    segment_blocks: NDArray[np.int32]
    segment_starts: IntArray
    postings: NDArray[np.uint32]
    block_rows: IntArray
    block_pairs: IntArray
    pair_frequencies: NDArray[np.uint32]
    pair_lengths: NDArray[np.uint32]
    lengths: NDArray[np.int32]

    @property
    def terms(self) -> int:
        """The number of distinct terms."""
        return len(self.term_offsets) - 1


Columns = tuple[tuple[NDArray[np.uint8], IntArray], ...]
"""Bytes and offsets of each field of some documents."""
Passages = Callable[[int, int], Columns]
"""The fields of the documents from one row to another."""


@cache
def best_kernel() -> Kernel:
    """`native` if the C extension was built, else `plain`; both give the same arrays, rows and bits."""
    return "native" if find_spec("rankproof._native.bm25") is not None else "plain"


def build_postings(
    passages: Passages,
    rows: int,
    analyzer: Analyzer,
    *,
    report: Callable[[int], None] = lambda done: None,
    kernel: Kernel | None = None,
    block: tuple[int, int] = (ROWS_PER_BLOCK, PAIRS_PER_BLOCK),
) -> PostingArrays:
    """The index of the first rows; `block` limits the rows and pairs of a block."""
    builder = _builder(kernel or best_kernel(), block)
    for first in range(0, rows, _ROWS_PER_CALL):
        last = min(rows, first + _ROWS_PER_CALL)
        builder.add(passages(first, last), last - first, analyzer)
        report(last - first)
    return builder.arrays()


class PostingBuilder(Protocol):
    """Collects documents and makes their index."""

    def add(self, columns: Columns, rows: int, analyzer: Analyzer) -> None:
        """Adds documents."""
        ...

    def arrays(self) -> PostingArrays:
        """The index of all documents that were added."""
        ...


def _builder(kernel: Kernel, block: tuple[int, int]) -> PostingBuilder:
    if kernel == "native":
        return NativeBuilder(*block)
    return ReferenceBuilder(*block)


def texts_of(columns: Columns, rows: int) -> Iterable[str]:
    """The fields of each document, joined by a space."""
    for row in range(rows):
        fields = (data[offsets[row] : offsets[row + 1]].tobytes() for data, offsets in columns)
        yield b" ".join(fields).decode(errors="surrogatepass")


class NativeBuilder(PostingBuilder):
    """Tokenizes, counts and inverts in C; the analyzer sees each distinct piece of text once."""

    def __init__(self, most_rows: int, most_pairs: int) -> None:
        from rankproof._native import bm25

        self._native, self._builder = bm25, bm25.builder(most_rows, most_pairs)

    def add(self, columns: Columns, rows: int, analyzer: Analyzer) -> None:
        if analyzer.splits_at_blanks:
            pieces = self._native.tokenize(self._builder, columns, 0, rows)
            self._native.count(self._builder, list(map(analyzer.tokenize_once, pieces)))
            return
        for text in texts_of(columns, rows):
            self._native.count_terms(self._builder, analyzer.tokenize_once(text))

    def arrays(self) -> PostingArrays:
        terms, size, segments, postings, blocks, pairs, rows = self._native.sizes(self._builder)
        made = PostingArrays(
            term_bytes=np.empty(size, np.uint8),
            term_offsets=np.empty(terms + 1, np.int64),
            term_segments=np.empty(terms + 1, np.int64),
            segment_blocks=np.empty(segments, np.int32),
            segment_starts=np.empty(segments + 1, np.int64),
            postings=np.empty(postings, np.uint32),
            block_rows=np.empty(blocks + 1, np.int64),
            block_pairs=np.empty(blocks + 1, np.int64),
            pair_frequencies=np.empty(pairs, np.uint32),
            pair_lengths=np.empty(pairs, np.uint32),
            lengths=np.empty(rows, np.int32),
        )
        self._native.write(self._builder, tuple(made))
        return made


def pair_factors(arrays: PostingArrays, k1: float, b: float, mean: float) -> FloatArray:
    """The factor of each pair of term frequency and document length."""
    norms = length_norms(arrays.pair_lengths, k1, b, mean)
    return frequency_factors(arrays.pair_frequencies, norms, k1)


def length_norms(lengths: NDArray[Any], k1: float, b: float, mean: float) -> FloatArray:
    """k1 (1 - b + b length / mean)."""
    if not mean:
        return np.zeros(len(lengths))
    norms: FloatArray = k1 * (1 - b + b * lengths.astype(np.float64) / mean)
    return norms


def frequency_factors(frequencies: NDArray[Any], norms: FloatArray, k1: float) -> FloatArray:
    """tf (k1 + 1) / (tf + norm), with the bits of bm25s: the numerator is rounded to float32."""
    single = frequencies.astype(np.float32)
    factors: FloatArray = (single * np.float32(k1 + 1)).astype(np.float64) / (single.astype(np.float64) + norms)
    return factors


@dataclass(frozen=True, eq=False, slots=True)
class TermBatch:
    """Terms of some queries by their number, -1 for one that no document has, with their idf, which is a float32.

    Those of query q are terms[bounds[q]:bounds[q + 1]]. `times` is empty, or what the weight of each term is multiplied by;
    sums are then in double.
    """

    terms: IntArray
    bounds: IntArray
    idfs: FloatArray
    times: FloatArray


class Found(NamedTuple):
    """Rows and scores of each query, best first, and how many there are."""

    rows: NDArray[np.int32]
    scores: FloatArray
    counts: IntArray


class OpenPostings(Protocol):
    """The index of a partition, ready to search."""

    def find(self, terms: list[str]) -> list[tuple[int, int]]:
        """The number of each term, -1 if no document has it, and how many documents have it."""
        ...

    def search(self, batch: TermBatch, k: int) -> Found:
        """The k best rows of each query; of equal scores the row with the lower place comes first."""
        ...


def open_postings(
    arrays: PostingArrays, places: NDArray[np.int32], factors: FloatArray, *, kernel: Kernel | None = None
) -> OpenPostings:
    """The index; `places` has the position of each row among documents of equal score."""
    if (kernel or best_kernel()) == "native":
        return NativePostings(arrays, places, factors)
    return ReferencePostings(arrays, places, factors)


class NativePostings(OpenPostings):
    """The index, searched in C."""

    def __init__(self, arrays: PostingArrays, places: NDArray[np.int32], factors: FloatArray) -> None:
        from rankproof._native import bm25

        self._native, self._rows = bm25, len(places)
        self._index = bm25.index((*arrays[: PostingArrays._fields.index("pair_frequencies")], places, factors))

    def find(self, terms: list[str]) -> list[tuple[int, int]]:
        return self._native.find(self._index, terms)

    def search(self, batch: TermBatch, k: int) -> Found:
        count, width = len(batch.bounds) - 1, max(1, min(k, self._rows))
        rows, scores = np.zeros((count, width), np.int32), np.zeros((count, width))
        counts = np.zeros(count, np.int64)
        self._native.search(self._index, batch.terms, batch.bounds, batch.idfs, batch.times, width, rows, scores, counts)
        return Found(rows, scores, counts)


def posting_rows(arrays: PostingArrays, segment: int) -> tuple[IntArray, IntArray]:
    """The rows of a segment, and the numbers of their pairs."""
    block = arrays.segment_blocks[segment]
    postings = arrays.postings[arrays.segment_starts[segment] : arrays.segment_starts[segment + 1]].astype(np.int64)
    return arrays.block_rows[block] + (postings & _ROW_MASK), arrays.block_pairs[block] + (postings >> 16)


def count_distinct(vocabularies: Sequence[tuple[NDArray[np.uint8], IntArray]], *, kernel: Kernel | None = None) -> int:
    """The number of distinct terms of several vocabularies, each in the order of its bytes."""
    if (kernel or best_kernel()) == "native":
        from rankproof._native import bm25

        return bm25.count_distinct(tuple(vocabularies))
    return count_distinct_terms(vocabularies)


class ReferenceBuilder(PostingBuilder):
    """Counts the terms of each document; a document that does not fit into the block starts the next one."""

    def __init__(self, most_rows: int, most_pairs: int) -> None:
        self._most_rows, self._most_pairs = most_rows, most_pairs
        self._vocabulary: dict[str, int] = {}
        self._lengths, self._distinct = array("i"), array("i")
        self._terms, self._codes = array("i"), array("i")
        self._block_rows: list[int] = []
        self._block_pairs: list[dict[tuple[int, int], int]] = []

    def add(self, columns: Columns, rows: int, analyzer: Analyzer) -> None:
        for text in texts_of(columns, rows):
            self.count_terms(analyzer.tokenize_once(text))

    def count_terms(self, terms: list[str]) -> None:
        """Adds one document."""
        counts = Counter(terms)
        # The factor of BM25 depends on the pair of count and length alone, and few pairs occur: postings hold a number for it.
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
        terms = sorted((term.encode(), number) for term, number in self._vocabulary.items())
        numbers = np.empty(len(terms), np.int64)
        numbers[[number for _, number in terms]] = np.arange(len(terms))
        block_rows = np.array([*self._block_rows, len(self._lengths)], np.int64)
        rows = np.repeat(np.arange(len(self._lengths)), self._distinct)
        blocks = np.searchsorted(block_rows[1:], rows, side="right")
        term_of = numbers[np.array(self._terms, np.int64)]
        # Stable, so that the postings of a term stay in the order of rows.
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


class ReferencePostings(OpenPostings):
    """The index, searched by numpy."""

    def __init__(self, arrays: PostingArrays, places: NDArray[np.int32], factors: FloatArray) -> None:
        self._arrays, self._places, self._factors = arrays, places, factors
        self._terms = _TermBytes(arrays.term_bytes, arrays.term_offsets)

    def find(self, terms: list[str]) -> list[tuple[int, int]]:
        return [self._find(term.encode()) for term in terms]

    def _find(self, term: bytes) -> tuple[int, int]:
        at = bisect_left(self._terms, term)
        if at == len(self._terms) or self._terms[at] != term:
            return -1, 0
        first, end = (self._arrays.segment_starts[self._arrays.term_segments[term_number]] for term_number in (at, at + 1))
        return at, int(end - first)

    def search(self, batch: TermBatch, k: int) -> Found:
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
        # In the order of the terms, as in C: float32 sums depend on it.
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
            # All rows at the k-th score are kept until ties are broken by place.
            least = np.partition(totals[rows], len(rows) - k)[len(rows) - k]
            rows = rows[totals[rows] >= least]
        rows = rows[np.lexsort((self._places[rows], -totals[rows]))][:k]
        return rows, totals[rows]


def count_distinct_terms(vocabularies: Sequence[tuple[NDArray[np.uint8], IntArray]]) -> int:
    """The number of distinct terms of several vocabularies, each in the order of its bytes."""
    readers: list[Iterator[bytes]] = [iter(_TermBytes(*vocabulary)) for vocabulary in vocabularies]
    return sum(1 for _ in groupby(merge(*readers)))
