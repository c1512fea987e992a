"""The inverted index of a partition for BM25: its arrays, made and searched by the C extension if it was built."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from rankproof._data.arrays import FloatArray, IntArray
from rankproof.stages._analyzer import Analyzer

Kernel = Literal["native", "plain"]
ROWS_PER_BLOCK = PAIRS_PER_BLOCK = 65_536
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
    from rankproof.stages._bm25_reference import ReferenceBuilder

    return ReferenceBuilder(*block)


def texts_of(columns: Columns, rows: int) -> Iterable[str]:
    """The fields of each document, joined by a space."""
    for row in range(rows):
        fields = (data[offsets[row] : offsets[row + 1]].tobytes() for data, offsets in columns)
        yield b" ".join(fields).decode(errors="surrogatepass")


class NativeBuilder:
    """Tokenizes, counts and inverts in C; the analyzer sees each distinct piece of text once."""

    def __init__(self, most_rows: int, most_pairs: int) -> None:
        from rankproof._native import bm25

        self._native, self._builder = bm25, bm25.builder(most_rows, most_pairs)

    def add(self, columns: Columns, rows: int, analyzer: Analyzer) -> None:
        """Adds documents."""
        if analyzer.splits_at_blanks:
            pieces = self._native.tokenize(self._builder, columns, 0, rows)
            self._native.count(self._builder, list(map(analyzer.tokenize_once, pieces)))
            return
        for text in texts_of(columns, rows):
            self._native.count_terms(self._builder, analyzer.tokenize_once(text))

    def arrays(self) -> PostingArrays:
        """The index of all documents that were added."""
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
    from rankproof.stages._bm25_reference import ReferencePostings

    return ReferencePostings(arrays, places, factors)


class NativePostings:
    """The index, searched in C."""

    def __init__(self, arrays: PostingArrays, places: NDArray[np.int32], factors: FloatArray) -> None:
        from rankproof._native import bm25

        self._native, self._rows = bm25, len(places)
        self._index = bm25.index((*arrays[: PostingArrays._fields.index("pair_frequencies")], places, factors))

    def find(self, terms: list[str]) -> list[tuple[int, int]]:
        """The number of each term, -1 if no document has it, and how many documents have it."""
        return self._native.find(self._index, terms)

    def search(self, batch: TermBatch, k: int) -> Found:
        """The k best rows of each query."""
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
    from rankproof.stages._bm25_reference import count_distinct_terms

    return count_distinct_terms(vocabularies)
