"""The loops of fusion in C and in Python give the same bits, and the ones in C refuse what does not fit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankproof._data.arrays import PackedIds
from rankproof._fusion.kernels import (
    best_first,
    best_kernel,
    by_majority,
    candidates,
    column_sums,
    documents_at,
    exact_sums,
    ranks_of,
)
from support.examples import examples

needs_native = pytest.mark.skipif(best_kernel() == "plain", reason="the native merge was not built")
finite = st.floats(allow_nan=False, allow_infinity=False)
few_values = st.sampled_from([0.0, -0.0, 1.0, 1.0, 0.5, -2.0, 1e-310, -1e308, 3.0])
names = st.one_of(
    st.sampled_from(["a", "b", "é", "007"]),
    st.text(alphabet="ab\x00é\ufffd𝔸", min_size=1, max_size=3),
    st.integers(0, 300).map(str),
)
queries = st.lists(st.lists(names, unique=True, max_size=60), min_size=3, max_size=3)
keys = st.lists(few_values | finite, min_size=180, max_size=180).map(np.array)


def spans(lists: list[list[str]]) -> tuple[Any, Any]:
    ends = np.cumsum([len(docs) for docs in lists], dtype=np.int64)
    return ends - np.array([len(docs) for docs in lists]), ends


def rows_of(run: list[list[str]], *, as_list: bool) -> Any:
    docs = [doc for one in run for doc in one]
    return (docs if as_list else tuple(docs), *spans(run))


def packed(docs: Sequence[str]) -> PackedIds:
    parts = [doc.encode() for doc in docs]
    return PackedIds(b"".join(parts), np.cumsum([0, *map(len, parts)], dtype=np.int64))


@needs_native
@examples(100)
@given(runs=st.lists(queries, max_size=4))
def test_the_native_candidates_are_those_in_python(runs: Any) -> None:
    given_ = [rows_of(run, as_list=at % 2 == 0) for at, run in enumerate(runs)]
    native, plain = (candidates(given_, 3, kernel=kernel) for kernel in ("native", "plain"))
    assert native[0] == plain[0]
    assert [part.tolist() for part in native[1:]] == [part.tolist() for part in plain[1:]]


@needs_native
@examples(100)
@given(runs=st.lists(queries, min_size=1, max_size=4))
def test_packed_ids_have_the_candidates_of_their_texts(runs: Any) -> None:
    texts = [rows_of(run, as_list=False) for run in runs]
    mixed = [
        (packed(docs), starts, ends) if at % 2 == 0 else (docs, starts, ends) for at, (docs, starts, ends) in enumerate(texts)
    ]
    expected = candidates(texts, 3)
    for kernel in ("native", "plain"):
        docs, *arrays = candidates(mixed, 3, kernel=kernel)
        assert docs == expected[0]
        assert [part.tolist() for part in arrays] == [part.tolist() for part in expected[1:]]


@needs_native
def test_a_lone_surrogate_in_a_dict_is_a_document_of_its_own_beside_packed_ids() -> None:
    ab = (packed(("a", "b")), *spans([["a", "b"]]))
    docs, offsets, places = candidates([ab, rows_of([["\ud800", "b"]], as_list=True)], 1)
    assert (docs, offsets.tolist(), places.tolist()) == (["a", "b", "\ud800"], [0, 3], [0, 1, 2, 1])


@needs_native
@examples(200)
@given(docs=queries, keys=keys, is_placed=st.booleans())
def test_the_native_order_is_that_in_python(docs: Any, keys: Any, is_placed: bool) -> None:
    flat, ends = [doc for one in docs for doc in one], spans(docs)[1]
    offsets, values = np.concatenate([np.zeros(1, np.int64), ends]), keys[: len(flat)]
    places = np.arange(len(flat))[::-1].copy() if is_placed else None
    shown = flat[::-1] if is_placed else flat
    native, plain = (best_first(values, offsets, shown, places, kernel=kernel) for kernel in ("native", "plain"))
    assert native.tolist() == plain.tolist()
    for start, end in pairwise(offsets.tolist()):
        here = [(values[at], flat[at]) for at in native[start:end]]
        assert here == sorted(here, reverse=True)
    assert documents_at(flat, native, kernel="native") == documents_at(flat, native, kernel="plain")


@needs_native
@examples(100)
@given(
    docs=st.lists(
        st.text(alphabet="ab\x00é\ufffd𝔸", max_size=4)
        | st.integers(0, 999).map(lambda number: f"a long prefix {number} and more"),
        unique=True,
        min_size=48,
        max_size=90,
    ),
    prefix=st.sampled_from(["", "doc-", "é", "\ud800"]),
)
def test_many_equal_scores_are_ordered_by_id(docs: list[str], prefix: str) -> None:
    named = [prefix + doc for doc in docs]
    order = best_first(np.zeros(len(named)), np.array([0, len(named)], np.int64), named, kernel="native")
    assert [named[at] for at in order.tolist()] == sorted(named, reverse=True)


@needs_native
@examples(100)
@given(docs=queries, keys=keys, chosen=st.lists(st.booleans(), min_size=180, max_size=180))
def test_ranks_by_counting_are_those_by_sorting(docs: Any, keys: Any, chosen: Any) -> None:
    flat, ends = [doc for one in docs for doc in one], spans(docs)[1]
    offsets, values = np.concatenate([np.zeros(1, np.int64), ends]), keys[: len(flat)]
    by_id = np.empty(len(flat), np.int64)
    by_id[best_first(np.zeros(len(flat)), offsets, flat)] = np.arange(len(flat))
    picked = np.array([at for at in range(len(flat)) if chosen[at]], dtype=np.int64)
    bounds = np.searchsorted(picked, offsets).astype(np.int64)
    native, plain = (ranks_of(values, offsets, by_id, picked, bounds, kernel=kernel) for kernel in ("native", "plain"))
    assert [part.tolist() for part in native] == [part.tolist() for part in plain]
    order = best_first(values, offsets, flat).tolist()
    starts = np.repeat(offsets[:-1], np.diff(offsets)).tolist()
    assert native[0].tolist() == [order.index(at) - starts[at] + 1 for at in picked.tolist()]


@needs_native
@examples(60)
@given(seed=st.integers(0, 2**32), size=st.integers(0, 400), width=st.sampled_from([0.0, 1.0, 30.0, 200.0]))
def test_long_lists_have_the_exact_sum_of_fsum(seed: int, size: int, width: float) -> None:
    draws = np.random.default_rng(seed)
    values = draws.normal(size=size) * np.exp(draws.uniform(-width, width, size))
    # Half of the numbers again with the other sign, so that the sum may cancel to its last bits or to 0.
    numbers = draws.permutation(np.concatenate([values, -values[: size // 2], draws.choice([0.1, 1e-17, 2.0**-53], size)]))
    offsets = np.array([0, len(numbers)], np.int64)
    assert exact_sums(numbers, offsets, kernel="native").tolist() == [math.fsum(numbers.tolist())]


@needs_native
def test_a_sum_in_the_middle_of_two_numbers_is_rounded_to_the_even_one() -> None:
    for more in (0.0, 2.0**-80, -(2.0**-80)):
        numbers = np.concatenate([[1.0, 2.0**-53, more], np.zeros(200)])
        found = exact_sums(numbers, np.array([0, len(numbers)], np.int64), kernel="native")
        assert found.tolist() == [math.fsum(numbers.tolist())] == [1.0 if more <= 0 else 1 + 2.0**-52]


@needs_native
@examples(100)
@given(terms=st.lists(st.lists(few_values | st.floats(-1e300, 1e300), min_size=4, max_size=4), max_size=6), seed=st.randoms())
def test_a_sum_has_the_same_bits_in_c_in_python_and_in_any_order(terms: Any, seed: Any) -> None:
    rows = np.array(terms, dtype=np.float64).reshape(-1, 4)
    shuffled = list(terms)
    seed.shuffle(shuffled)
    again = np.array(shuffled, dtype=np.float64).reshape(-1, 4)
    with np.errstate(over="ignore", invalid="ignore"):
        found = {column_sums(one, kernel=kernel).tobytes() for one in (rows, again) for kernel in ("native", "plain")}
    assert len(found) == 1


@needs_native
@examples(300)
@given(values=st.lists(few_values | st.floats(-1e300, 1e300), max_size=30), cut=st.integers(0, 30))
def test_the_native_sums_are_exact(values: Any, cut: int) -> None:
    numbers = np.array(values, dtype=np.float64) / 64
    offsets = np.array([0, min(cut, len(values)), len(values)], dtype=np.int64)
    native, plain = (exact_sums(numbers, offsets, kernel=kernel) for kernel in ("native", "plain"))
    assert native.tolist() == plain.tolist()


@needs_native
@examples(100)
@given(
    runs=st.lists(st.permutations(range(1, 9)), min_size=1, max_size=5),
    lost=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 7)), max_size=8),
    weights=st.lists(st.sampled_from([0.0, 0.1, 0.3, 1.0]), min_size=5, max_size=5),
)
def test_the_native_majority_is_that_in_python(runs: Any, lost: Any, weights: Any) -> None:
    ranks = np.array(runs, dtype=np.int64)
    for run, doc in lost:
        ranks[run % len(runs), doc] = 0
    offsets, order = np.array([0, 3, 8], np.int64), np.array([2, 1, 0, 3, 4, 5, 6, 7], np.int64)
    votes = np.array(weights[: len(runs)])
    native, plain = (by_majority(ranks, votes, offsets, order, kernel=kernel) for kernel in ("native", "plain"))
    assert native.tolist() == plain.tolist()


@pytest.mark.parametrize("kernel", ["plain", "native"])
def test_a_document_twice_in_one_ranking_is_refused(kernel: Any) -> None:
    if kernel == "native" and best_kernel() == "plain":
        pytest.skip("the native merge was not built")
    with pytest.raises(KeyError):
        candidates([rows_of([["a", "b", "a"]], as_list=True)], 1, kernel=kernel)


INTS, FLOATS = np.zeros(1, np.int64), np.zeros(1)
ONE = np.array([0, 1], np.int64)
WRONG: dict[str, list[Any]] = {
    "candidates": [
        ([(["a"], INTS, INTS + 2)], 1, ONE, ONE),
        ([(["a"], INTS - 1, INTS + 1)], 1, ONE, ONE),
        ([(["a"], INTS + 1, INTS)], 1, ONE, ONE),
        ([(["a"], INTS, INTS + 1)], 1, ONE, ONE),
        ([(["a"], INTS, INTS + 1)], 2, INTS, ONE),
        ([(["a"], ONE, ONE)], 1, INTS, ONE),
        ([([1], INTS, INTS + 1)], 1, INTS.copy(), ONE.copy()),
        ([("a", INTS, INTS + 1)], 1, INTS, ONE),
        ([(b"a", INTS, INTS + 1)], 1, INTS, ONE),
        ([(b"a", INTS, INTS + 1, ONE + 1)], 1, INTS.copy(), ONE.copy()),
        ([(b"ab", INTS, INTS + 1, np.array([2, 1]))], 1, INTS.copy(), ONE.copy()),
        ([(b"a", INTS, INTS + 2, ONE)], 1, ONE.copy(), ONE.copy()),
        ([(b"a", INTS, INTS + 1, INTS[:0])], 1, INTS.copy(), ONE.copy()),
        ([(b"\xff", INTS, INTS + 1, ONE)], 1, INTS.copy(), ONE.copy()),
        ([3], 1, INTS, ONE),
        ([()], 1, INTS, ONE),
        (3, 1, INTS, ONE),
        ([], -1, INTS, ONE),
    ],
    "best_first": [
        (FLOATS, INTS, ["a"], None, INTS),
        (FLOATS, ONE, [], None, INTS),
        (np.zeros(2), 2 * ONE, [1, 2], None, np.zeros(2, np.int64)),
        (FLOATS, ONE, ["a"], INTS + 1, INTS),
        (FLOATS, ONE, ["a"], INTS - 1, INTS),
        (FLOATS, ONE, ["a"], ONE, INTS),
        (FLOATS, ONE, ["a"], None, ONE.copy()),
        (FLOATS, np.array([0, 2, 1]), ["a"], None, INTS),
        (FLOATS, ONE, ("a",), None, INTS),
        (bytes(7), ONE, ["a"], None, INTS),
    ],
    "taken": [(["a"], INTS + 1), (["a"], INTS - 1), (("a",), INTS), (["a"], bytes(7))],
    "better": [
        (FLOATS, ONE, INTS, INTS + 1, ONE, np.zeros(3, np.int64)),
        (FLOATS, ONE, INTS, INTS - 1, ONE, np.zeros(3, np.int64)),
        (FLOATS, ONE, INTS, INTS, ONE, np.zeros(2, np.int64)),
        (FLOATS, ONE, ONE, INTS, ONE, np.zeros(3, np.int64)),
        (FLOATS, ONE, INTS, INTS, INTS, np.zeros(3, np.int64)),
        (FLOATS, INTS, INTS, INTS, INTS, np.zeros(3, np.int64)),
    ],
    "by_majority": [
        (ONE, FLOATS, ONE, INTS.copy()),
        (INTS, FLOATS, INTS, INTS.copy()),
        (INTS, FLOATS, ONE, INTS + 1),
        (INTS, FLOATS, ONE, INTS - 1),
        (INTS, bytes(7), ONE, INTS.copy()),
    ],
    "exact_sums": [(FLOATS, ONE, np.zeros(2)), (FLOATS, INTS, np.zeros(0)), (bytes(7), ONE, FLOATS.copy())],
    "added": [(np.zeros(3), np.zeros(2)), (bytes(7), np.zeros(1)), (np.zeros(3), np.zeros(0))],
}


@needs_native
@pytest.mark.parametrize(("function", "arguments"), [(name, one) for name, cases in WRONG.items() for one in cases])
def test_the_native_loops_refuse_arrays_that_do_not_fit(function: str, arguments: Any) -> None:
    from rankproof._native import merge

    with pytest.raises((TypeError, ValueError)):
        getattr(merge, function)(*arguments)


@needs_native
def test_the_native_candidates_run_no_code_of_a_document_id() -> None:
    class Removing(str):
        def __hash__(self) -> int:
            docs.clear()
            return 0

    docs: list[str] = [Removing("a"), "b"]
    assert candidates([rows_of([docs], as_list=True)], 1, kernel="native")[0] == ["a", "b"]
