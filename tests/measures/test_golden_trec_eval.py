"""Measures and the text of `eval --format trec` against what trec_eval 10 computed and prints."""

from __future__ import annotations

import pytest
from benchmarks.parity_trec_eval import FILES, ODDITIES, compared_lines, compared_values

FEWEST = {"adhoc": 26_000, "prefs": 4_000, "upstream": 2_000}
"""How many values a file has at least, so that a file that is not read is noticed."""
EACH = [pytest.param(file, marks=[pytest.mark.slow] if file == "adhoc" else []) for file in FILES]


@pytest.mark.parametrize("file", EACH)
def test_every_value_is_that_of_trec_eval(file: str) -> None:
    every = list(compared_values(file))
    assert len(every) >= FEWEST[file]
    assert [one for one in every if one.oddity is None and not one.apart <= 1e-9] == []
    assert {one.oddity for one in every if one.oddity} <= {*ODDITIES}


@pytest.mark.slow
@pytest.mark.parametrize("file", EACH)
def test_every_line_is_that_of_trec_eval(file: str) -> None:
    every = list(compared_lines(file))
    assert len(every) >= FEWEST[file]
    assert [one for one in every if one.oddity is None and one.ours != one.theirs] == []
