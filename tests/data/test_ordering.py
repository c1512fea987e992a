"""A run without duplicates has the same columns and rows, for all read options."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankproof._data.ordering import (
    best_first_order,
    have_same_rankings,
    order_key,
    ranked_documents,
    ranked_run,
    resolve_duplicate_columns,
    resolve_duplicates,
)
from rankproof._data.row_errors import OnDuplicate
from rankproof._data.run import Run, RunRow
from rankproof._data.validation import Order, ReadOptions
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


def rankings(run: Run, read_options: ReadOptions) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for row in ranked_run(run, read_options).rows():
        groups.setdefault(row.query, []).append(row.doc)
    return groups


@given(st.lists(rows, max_size=8), st.lists(rows, max_size=8), readings, st.booleans(), st.randoms())
def test_two_runs_have_the_same_rankings_if_and_only_if_their_ordered_documents_are_equal(
    first: list[RunRow], second: list[RunRow], read_options: ReadOptions, unique: bool, random: Random
) -> None:
    if unique:
        first, second = (list({(row.query, row.doc): row for row in each}.values()) for each in (first, second))
        read_options = replace(read_options, on_duplicate="error")
    run, other = Run.from_rows(first, queries=["none"]), Run.from_rows(second)
    expected = rankings(run, read_options) == rankings(other, read_options)
    assert have_same_rankings(run, other, read_options) == expected
    shuffled = Run.from_rows(random.sample(first, len(first)))
    same = rankings(run, read_options) == rankings(shuffled, read_options)
    assert have_same_rankings(run, shuffled, read_options) == same


@pytest.mark.parametrize("scores", [(3.0, 2.0), (2.0, 2.0), (1.0, 2.0)])
def test_a_tie_is_resolved_before_rankings_are_compared(scores: tuple[float, float]) -> None:
    run, other = Run({"q": {"b": 3.0, "a": 2.0}}), Run({"q": dict(zip("ba", scores, strict=True))})
    assert have_same_rankings(run, other, ReadOptions()) == (scores[0] >= scores[1])


@given(st.lists(st.lists(st.sampled_from([3.0, 2.0, 1.0, 0.0]), max_size=4), max_size=5))
def test_each_query_is_ordered_by_its_own_scores_alone(found: list[list[float]]) -> None:
    rankings = [([f"d{at}" for at in range(len(own))], np.array(own)) for own in found]
    run = Run.from_rankings("run", [f"q{at}" for at in range(len(found))], rankings)
    expected = [[docs[at] for at in best_first_order(docs, own).tolist()] for docs, own in rankings]
    assert list(ranked_documents(run).values()) == expected
