"""A run without duplicates has the same columns and rows, for all read options."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankproof._data.ordering import Order, ReadOptions, order_key, resolve_duplicate_columns, resolve_duplicates
from rankproof._data.row_errors import OnDuplicate
from rankproof._data.run import Run, RunRow
from rankproof.errors import InputError

scores = st.one_of(st.floats(-1e40, 1e40), st.sampled_from([0.0, -0.0, 1e39, 0.1]))
numbers = st.one_of(st.none(), st.integers(0, 9))
rows = st.builds(RunRow, st.sampled_from("pq"), st.sampled_from("abcde"), scores, numbers, line=numbers)
readings = st.builds(
    ReadOptions,
    order=st.sampled_from(get_args(Order)),
    lower_is_better=st.booleans(),
    float32=st.booleans(),
    on_duplicate=st.sampled_from([one for one in get_args(OnDuplicate) if one != "error"]),
)


@given(st.lists(rows, max_size=12), readings, st.booleans())
def test_columns_equal_the_rows(found: list[RunRow], read_options: ReadOptions, unique: bool) -> None:
    kept = list({(row.query, row.doc): row for row in found}.values()) if unique else found
    run = Run.from_rows(kept, queries=["none"])
    columns = resolve_duplicate_columns(run, read_options)
    expected = resolve_duplicates(run, read_options)[0]
    assert list(columns) == list(expected)
    for query, (docs, values, keys) in columns.items():
        assert list(docs) == [row.doc for row in expected[query]]
        assert values.tolist() == [row.score for row in expected[query]]
        assert keys.tolist() == [order_key(row, read_options) for row in expected[query]]


def test_a_duplicate_is_rejected_as_among_rows() -> None:
    run = Run.from_rows([RunRow("q", "d", 1.0), RunRow("q", "d", 2.0)])
    with pytest.raises(InputError, match="d"):
        resolve_duplicate_columns(run, ReadOptions())
