"""Tests of native code that is built with guarded.h: allocations fail, and no memory is left."""

from __future__ import annotations

import ctypes

import pytest

from rankproof._native import align
from tools.fuzz.allocations import ALL, MOST, align_calls

CALLS = 13


def test_every_call_is_checked() -> None:
    """No call of the list is left out."""
    assert len(list(align_calls())) == CALLS


@pytest.mark.parametrize("number", range(CALLS))
def test_a_failed_allocation_is_a_memory_error_and_leaves_no_memory(number: int) -> None:
    """Each allocation fails once; afterwards the call gives the same result, and as many blocks are in use."""
    library, call = ctypes.CDLL(align.__file__), list(align_calls())[number]
    library.count_blocks.restype = ctypes.c_size_t
    expected = call()
    in_use = library.count_blocks()
    for count in range(MOST):
        library.allow_allocations(ctypes.c_size_t(count))
        try:
            result = call()
        except MemoryError:
            continue
        finally:
            library.allow_allocations(ALL)
        assert result == expected
        break
    assert call() == expected
    del result
    assert library.count_blocks() == in_use


EXACT = ("0", "-0.0", "1", "1.5", "0.1", "9007199254740992", "9007199254740993", "9999999999999999999", "0e999", "0e-999")
TENS = tuple(f"{digits}e{tens}" for digits in ("1", "9007199254740992") for tens in (-22, -21, -1, 0, 1, 22))
FIVES = tuple(f"{digits}e-{tens}" for digits in ("1", "9007199254740993", "9999999999999999999") for tens in (1, 22, 23, 27))


@pytest.mark.parametrize("token", [*EXACT, *TENS, *FIVES])
def test_a_number_that_one_division_gives_needs_no_memory(token: str) -> None:
    """The slow function needs a copy of the token; the other two allocations are for the argument and the result."""
    library = ctypes.CDLL(align.__file__)
    for level in range(4):
        library.allow_allocations(ctypes.c_size_t(2))
        try:
            assert align.parse_score(token.encode(), level) == float(token)
        finally:
            library.allow_allocations(ALL)
