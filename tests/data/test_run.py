"""Runs made of dicts: whole columns are checked at once where every row is plain, with the result of the check by rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from rankproof._data.run import Run, RunRow
from rankproof.errors import InputError

IDS = st.one_of(st.text("ab1 é\0", max_size=3), st.integers(0, 3), st.just("x"))
SCORES = st.one_of(st.floats(-2, 2), st.sampled_from([1, True, None, math.nan, math.inf, "1"]))


def by_rows(rankings: dict[Any, dict[Any, Any]]) -> Run:
    """The same run with a row of another kind first, so that every row is checked by itself."""
    return Run({"other kind": ["document"], **rankings})


def outcome(build: Callable[[], Run]) -> tuple[str, list[RunRow], tuple[str, ...]]:
    """The message of the error, or the rows and queries."""
    try:
        run = build()
    except InputError as error:
        return str(error), [], ()
    return "", described(run), run.queries


def described(run: Run) -> list[RunRow]:
    return [row._replace(rank=None) for row in run.rows() if row.query != "other kind"]


@given(st.dictionaries(IDS, st.dictionaries(IDS, SCORES, max_size=3), max_size=3))
def test_a_dict_is_accepted_or_rejected_as_its_rows_are(rankings: dict[Any, dict[Any, Any]]) -> None:
    message, rows, queries = outcome(lambda: by_rows(rankings))
    assert outcome(lambda: Run(rankings)) == (message, rows, queries[1:])


def test_a_plain_dict_keeps_queries_without_documents_and_the_order_of_rows() -> None:
    run = Run({"b": {"y": 1.0, "x": 2.0}, "a": {}, "c": {"z": -0.5}})
    assert run.queries == ("b", "a", "c")
    assert run.offsets.tolist() == [0, 2, 2, 3]
    assert run.docs == ("y", "x", "z")
    assert run.scores.tolist() == [1.0, 2.0, -0.5]
    assert run.ranks is None
    assert run.lines is None
