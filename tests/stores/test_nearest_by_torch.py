"""Exact search by PyTorch, here on its CPU device: the rows and bits of the native kernel."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankproof._data.arrays import Matrix
from rankproof.stores import _memory as module
from rankproof.stores._memory import VectorRows, best_kernel, nearest, nearest_by_torch
from support.examples import examples
from support.torch_oracle import oracle
from support.vector_stores import like_text, with_ties

pytestmark = pytest.mark.torch


@pytest.fixture(autouse=True)
def _torch() -> None:
    oracle("torch")


def _assert_same_bits(vectors: Matrix, queries: Matrix, k: int) -> None:
    rows = VectorRows.of(vectors)
    for mine, theirs in zip(nearest_by_torch(rows, queries, k, "cpu"), nearest(rows, queries, k, best_kernel()), strict=True):
        assert mine.dtype == theirs.dtype
        np.testing.assert_array_equal(mine, theirs)


@examples(100)
@given(
    count=st.sampled_from([1, 2, 17, 300, 1000]),
    width=st.sampled_from([1, 7, 16, 17, 64]),
    k=st.sampled_from([1, 16, 100, 5000]),
    seed=st.integers(0, 999),
    ties=st.integers(0, 3),
)
def test_torch_gives_the_rows_and_bits_of_the_native_kernel(count: int, width: int, k: int, seed: int, ties: int) -> None:
    numbers = np.random.default_rng(seed)
    vectors = with_ties(numbers, count, width, ties)
    _assert_same_bits(vectors, np.round(numbers.standard_normal((4, width)), 1).astype(np.float32), k)


@pytest.mark.parametrize(("vectors", "products", "candidates"), [(48 * 100, 1 << 28, 64), (48 * 7, 20, 1 << 18), (1, 1, 1)])
def test_the_size_of_the_blocks_changes_nothing(
    vectors: int, products: int, candidates: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "GPU_VECTORS", vectors)
    monkeypatch.setattr(module, "GPU_PRODUCTS", products)
    monkeypatch.setattr(module, "GPU_CANDIDATES", candidates)
    _assert_same_bits(like_text(350, 48, 1), like_text(3, 48, 2), 30)


def test_more_equal_scores_than_candidates_are_cut_by_row() -> None:
    _assert_same_bits(np.ones((5000, 4), np.float32), np.ones((2, 4), np.float32), 10)


def test_vectors_of_a_file_that_cannot_be_written_are_searched() -> None:
    vectors = like_text(300, 48, 3)
    vectors.setflags(write=False)
    _assert_same_bits(vectors, like_text(3, 48, 4), 20)


def test_no_vectors_or_no_queries_give_nothing() -> None:
    for vectors, queries in ((0, 2), (2, 0)):
        found = nearest_by_torch(VectorRows.of(like_text(vectors, 8, 1)), like_text(queries, 8, 2), 5, "cpu")
        assert [array.shape for array in found] == [(queries, min(5, vectors))] * 2


def test_the_precision_of_other_matrix_products_is_as_before() -> None:
    import torch

    matmul = torch.backends.cuda.matmul
    matmul.fp32_precision = "tf32"
    try:
        _assert_same_bits(like_text(300, 48, 5), like_text(3, 48, 6), 20)
        assert matmul.fp32_precision == "tf32"
    finally:
        matmul.fp32_precision = "none"
