"""Statistics against values that other tools computed."""

from __future__ import annotations

import pytest
from benchmarks.parity_statistics import FILES, compared_values

FEWEST = {"tukey_hsd": 800, "paired_tests": 50, "rank_correlation": 200, "agreement": 150}
"""How many values a file has at least, so that a file that is not read is noticed."""


@pytest.mark.parametrize("file", [pytest.param(file, marks=[pytest.mark.slow] if file == "tukey_hsd" else []) for file in FILES])
def test_every_value_is_that_of_the_other_tool(file: str) -> None:
    every = list(compared_values(file))
    assert len(every) >= FEWEST[file]
    apart = [one for one in every if not one.apart <= 1e-9]
    assert apart == []
