"""Exact search in memory: every kernel gives the same bits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankproof._data.arrays import FloatArray, IntArray, Matrix
from rankproof.stores import _memory as module
from rankproof.stores._base import MAX_VECTOR_LENGTH
from rankproof.stores._memory import Memory, VectorRows, nearest
from support.examples import examples
from support.vector_stores import like_text, require, with_ties

SIZES = st.sampled_from([1, 2, 3, 15, 16, 17, 31, 33, 129, 300, 1000])
WIDTHS = st.sampled_from([1, 2, 7, 15, 16, 17, 31, 64])
DEPTHS = st.sampled_from([1, 2, 15, 16, 17, 100, 5000])


@pytest.fixture(autouse=True)
def _native() -> None:
    require("native")


def _defined(vectors: Matrix, queries: Matrix, k: int) -> tuple[IntArray, FloatArray]:
    """Every product, rounded once; among equals the smaller row."""
    every = np.arange(len(vectors))
    scores = np.array([module.rounded_dots(vectors, every, query) for query in queries], np.float64)
    rows = np.array([np.lexsort((every, -each))[:k] for each in scores])
    return rows, np.take_along_axis(scores, rows, axis=1)


def _assert_one_answer(vectors: Matrix, queries: Matrix, k: int) -> None:
    rows = VectorRows.of(vectors)
    best, scores = _defined(vectors, queries, k)
    for kernel in ("native", "numpy"):
        found, their_scores = nearest(rows, queries, k, kernel)
        np.testing.assert_array_equal(found, best)
        np.testing.assert_array_equal(their_scores, scores)


@examples(150)
@given(count=SIZES, width=WIDTHS, queries=st.integers(1, 5), k=DEPTHS, seed=st.integers(0, 999), ties=st.integers(0, 3))
def test_every_kernel_gives_the_defined_rows_and_bits(count: int, width: int, queries: int, k: int, seed: int, ties: int) -> None:
    numbers = np.random.default_rng(seed)
    vectors = with_ties(numbers, count, width, ties)
    _assert_one_answer(vectors, np.round(numbers.standard_normal((queries, width)), 1).astype(np.float32), k)


@pytest.mark.parametrize("products", [1, 40, 1000])
def test_the_size_of_the_batches_changes_nothing(monkeypatch: pytest.MonkeyPatch, products: int) -> None:
    vectors, queries = like_text(700, 48, 1), like_text(6, 48, 2)
    whole = nearest(VectorRows.of(vectors), queries, 30, "native")
    monkeypatch.setattr(module, "PRODUCTS_PER_BATCH", products)
    for kernel in ("native", "numpy"):
        for mine, theirs in zip(nearest(VectorRows.of(vectors), queries, 30, kernel), whole, strict=True):
            np.testing.assert_array_equal(mine, theirs)


def test_a_query_scores_the_same_alone_and_in_a_batch() -> None:
    vectors, queries, ids = like_text(900, 100, 3), like_text(70, 100, 4), [f"d{at}" for at in range(900)]
    with Memory().open("x", 100, "") as held:
        held.add(ids, vectors)
        together = held.search(queries, 25)
        alone = [held.search(query[np.newaxis], 25)[0] for query in queries]
    assert [names for names, _ in together] == [names for names, _ in alone]
    assert all(np.array_equal(mine[1], theirs[1]) for mine, theirs in zip(together, alone, strict=True))


def test_copies_of_a_vector_tie_at_any_position() -> None:
    vectors, places = like_text(1001, 77, 5), [0, 1, 15, 16, 500, 999, 1000]
    vectors[places] = vectors[500]
    with Memory().open("x", 77, "") as held:
        held.add([f"{at:04}" for at in range(1001)], vectors)
        names, scores = held.search(vectors[500:501], len(places))[0]
    assert names == [f"{at:04}" for at in reversed(places)]
    assert len(set(scores.tolist())) == 1


def test_very_many_equal_scores_are_cut_by_id() -> None:
    _assert_one_answer(np.ones((5000, 4), np.float32), np.ones((2, 4), np.float32), 10)


def test_very_long_and_very_short_vectors_keep_their_order() -> None:
    scales = np.array([1e-30, MAX_VECTOR_LENGTH / 10, 1, 1e-44], np.float32)
    for scale in scales:
        _assert_one_answer(like_text(400, 9, 6) * scale, like_text(3, 9, 7) * scale, 20)


def test_added_vectors_are_copies() -> None:
    vectors = np.eye(2, dtype=np.float32)
    with Memory().open("x", 2, "") as held:
        held.add(["a", "b"], vectors)
        vectors[:] = 0
        assert held.search(np.eye(2, dtype=np.float32), 1)[0][1].tolist() == [1.0]
        assert held.size() == 2 * 2 * 4


def test_float64_and_strided_vectors_are_taken() -> None:
    wide = np.random.default_rng(8).standard_normal((10, 8))
    with Memory().open("x", 4, "") as held:
        held.add([str(at) for at in range(10)], wide[:, ::2])  # type: ignore[arg-type]
        assert held.search(wide[3:4, ::2].astype(np.float32), 10)[0][1].max() > 0
