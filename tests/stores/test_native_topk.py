"""The native top-k kernel refuses arguments that are out of bounds."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

_topk = pytest.importorskip("rankproof._native.topk", exc_type=ImportError)


def _floats(*shape: int) -> Any:
    return np.ones(shape, np.float32)


@pytest.mark.parametrize(("k", "capacity"), [(0, 100), (-1, 100), (1, 1), (10, 25), (1, -1), (1, min(2**40, sys.maxsize))])
def test_a_kernel_without_capacity_is_refused(k: int, capacity: int) -> None:
    with pytest.raises(ValueError, match="capacity"):
        _topk.batch(_floats(2), k, capacity)


@pytest.mark.parametrize(("products", "first"), [((2, 3, 1), -1), ((7,), 0), ((2, 3), 2**31 - 2)])
def test_products_of_the_wrong_size_are_refused(products: tuple[int, ...], first: int) -> None:
    with pytest.raises(ValueError, match="products"):
        _topk.sieve(_topk.batch(_floats(2), 1, 32), _floats(*products), first)


@pytest.mark.parametrize(("vectors", "queries"), [((5, 3), (2, 4)), ((5, 3), (3,)), ((1,), (2, 2))])
def test_vectors_and_queries_of_different_widths_are_refused(vectors: tuple[int, ...], queries: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="different sizes"):
        _topk.settle(_topk.batch(_floats(2), 1, 32), _floats(*vectors), _floats(*queries))


def test_rows_out_of_range_are_not_final() -> None:
    batch = _topk.batch(_floats(2), 1, 32)
    _topk.sieve(batch, _floats(2, 5), 100)
    assert _topk.settle(batch, _floats(5, 3), _floats(2, 3))[2] == b"\0\0"


def test_fewer_candidates_than_requested_are_not_final() -> None:
    batch = _topk.batch(_floats(1), 10, 32)
    _topk.sieve(batch, _floats(1, 5), 0)
    assert _topk.settle(batch, _floats(5, 3), _floats(1, 3))[2] == b"\0"


def test_an_overflowing_kernel_reports_it() -> None:
    batch = _topk.batch(_floats(1), 2, 32)
    _topk.sieve(batch, _floats(1, 500), 0)
    assert _topk.settle(batch, _floats(500, 3), _floats(1, 3))[2] == b"\0"


def test_no_queries_and_no_products_are_nothing() -> None:
    batch = _topk.batch(_floats(0), 3, 32)
    _topk.sieve(batch, _floats(0), 0)
    assert _topk.settle(batch, _floats(0, 3), _floats(0, 3)) == (b"", b"", b"")


def test_an_invalid_batch_is_refused() -> None:
    with pytest.raises(ValueError, match="PyCapsule"):
        _topk.sieve(object(), _floats(1), 0)
    with pytest.raises(ValueError, match="PyCapsule"):
        _topk.settle(object(), _floats(1), _floats(1))
