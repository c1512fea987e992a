"""The C extension of BM25 refuses arguments that are out of bounds, and a damaged index reads no foreign memory."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

from rankproof.stages._bm25 import TermAnalysis
from rankproof.stages._bm25_index import PostingArrays, build_postings, pair_factors

_bm25 = pytest.importorskip("rankproof._native.bm25", exc_type=ImportError)
TEXT = np.frombuffer(b"one two two three", np.uint8)


def offsets(*values: int) -> Any:
    return np.array(values, np.int64)


def small_index() -> PostingArrays:
    analyzer = TermAnalysis(stemming=False, stop_words=False).analyzer()
    return build_postings(lambda first, last: ((TEXT, offsets(0, 7, 17)),), 2, analyzer, kernel="native")


def opened(arrays: PostingArrays, **changed: Any) -> object:
    parts = {
        **arrays._asdict(),
        "places": np.arange(2, dtype=np.int32),
        "factors": pair_factors(arrays, 1.5, 0.75, 2.0),
        **changed,
    }
    for name in ("pair_frequencies", "pair_lengths", "lengths"):
        del parts[name]
    index: object = _bm25.index(tuple(parts.values()))
    return index


def search(index: object, term: int, *, k: int = 2, bounds: Any = None, width: int = 2) -> tuple[Any, Any]:
    rows, scores, counts = np.zeros((1, width), np.int32), np.zeros((1, width)), np.zeros(1, np.int64)
    terms, idfs = np.array([term], np.int64), np.ones(1)
    _bm25.search(index, terms, offsets(0, 1) if bounds is None else bounds, idfs, np.zeros(0), k, rows, scores, counts)
    return rows[0, : counts[0]].tolist(), scores[0, : counts[0]].tolist()


def test_terms_with_the_same_first_bytes_are_sorted_by_the_others() -> None:
    analyzer, text = (
        TermAnalysis(stemming=False, stop_words=False).analyzer(),
        np.frombuffer(b"abcdefghij abcdefghia abcdefgh b", np.uint8),
    )
    arrays = build_postings(lambda first, last: ((text, offsets(0, len(text))),), 1, analyzer, kernel="native")
    assert bytes(arrays.term_bytes) == b"abcdefghabcdefghiaabcdefghijb"


@pytest.mark.parametrize("limits", [(0, 1), (1, 0), (65_537, 1), (1, 65_537), (-1, 1)])
def test_a_block_without_room_is_refused(limits: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="a block holds 1 to 65536"):
        _bm25.builder(*limits)


@pytest.mark.parametrize(
    ("starts", "first", "last"),
    [((0, 18), 0, 1), ((5, 3), 0, 1), ((-1, 3), 0, 1), ((0, 3), 0, 2), ((0, 3), -1, 1), ((0, 3), 1, 0)],
)
def test_rows_and_offsets_out_of_range_are_refused(starts: tuple[int, ...], first: int, last: int) -> None:
    with pytest.raises(ValueError, match="out of range"):
        _bm25.tokenize(_bm25.builder(8, 8), ((TEXT, offsets(*starts)),), first, last)


def test_offsets_at_an_odd_address_are_refused() -> None:
    odd = memoryview(bytes(17))[1:]
    with pytest.raises(ValueError, match="out of range"):
        _bm25.tokenize(_bm25.builder(8, 8), ((TEXT, odd),), 0, 1)
    with pytest.raises(ValueError, match="out of range"):
        _bm25.count_distinct(((TEXT, odd),))


def test_terms_that_do_not_fit_the_pieces_are_refused() -> None:
    builder = _bm25.builder(8, 8)
    assert _bm25.tokenize(builder, ((TEXT, offsets(0, 7)),), 0, 1) == ["one", "two"]
    for wrong in ([], [["one"]], [["one"], "two"], [["one"], ["two"], []]):
        with pytest.raises((ValueError, TypeError)):
            _bm25.count(builder, wrong)
    with pytest.raises(ValueError, match="not counted yet"):
        _bm25.count_terms(builder, ["one"])


def test_arrays_of_other_sizes_are_refused() -> None:
    builder = _bm25.builder(8, 8)
    _bm25.count_terms(builder, ["one", "two"])
    with pytest.raises(ValueError, match="wrong sizes"):
        _bm25.write(builder, tuple(np.zeros(1, np.int64) for _ in range(11)))
    arrays = small_index()
    for name, wrong in (
        ("term_offsets", offsets(0)),
        ("segment_starts", offsets(0, 1)),
        ("block_rows", offsets()),
        ("places", np.zeros(3, np.int8)),
    ):
        with pytest.raises(ValueError, match="wrong sizes"):
            opened(arrays, **{name: wrong})


@pytest.mark.parametrize("term", [-2, 3, 2**40])
def test_a_term_out_of_range_is_refused(term: int) -> None:
    with pytest.raises(ValueError, match="out of range"):
        search(opened(small_index()), term)


@pytest.mark.parametrize("bounds", [offsets(0, 2), offsets(1, 1), offsets(0, -1)])
def test_bounds_out_of_range_are_refused(bounds: Any) -> None:
    with pytest.raises(ValueError, match="out of range"):
        search(opened(small_index()), 0, bounds=bounds)


@pytest.mark.parametrize(("k", "width"), [(0, 2), (-1, 2), (3, 2), (min(2**40, sys.maxsize), 2)])
def test_results_that_do_not_fit_are_refused(k: int, width: int) -> None:
    with pytest.raises(ValueError, match="wrong sizes"):
        search(opened(small_index()), 0, k=k, width=width)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("term_segments", offsets(0, 2**40, 2, 3)),
        ("segment_starts", offsets(0, 2**40, 2, 3)),
        ("segment_starts", offsets(2, 1, 0, -1)),
        ("block_rows", offsets(0, 2**40)),
        ("block_pairs", offsets(0, 2**40)),
    ],
)
def test_a_damaged_index_is_refused(name: str, wrong: Any) -> None:
    with pytest.raises(ValueError, match="the index is damaged"):
        search(opened(small_index(), **{name: wrong}), 0)


def test_wrong_postings_give_no_row_that_is_none() -> None:
    arrays = small_index()
    wrong = np.full_like(arrays.postings, 0xFFFFFFFF)
    assert search(opened(arrays, postings=wrong), 0) == ([], [])
    assert search(opened(arrays), 0)[0] == [0]
    assert search(opened(arrays), -1) == ([], [])


def test_a_capsule_of_another_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="PyCapsule"):
        _bm25.find(_bm25.builder(8, 8), ["one"])
    with pytest.raises(ValueError, match="PyCapsule"):
        _bm25.sizes(opened(small_index()))
