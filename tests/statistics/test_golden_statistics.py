"""Statistics against values that other tools computed."""

from __future__ import annotations

import pytest
from benchmarks.parity_statistics import FILES, GOLDEN, compared_values

FEWEST = {"tukey_hsd": 800, "paired_tests": 50, "rank_correlation": 200, "agreement": 150}
"""How many values a file has at least, so that a file that is not read is noticed."""


@pytest.mark.skipif(not GOLDEN.is_dir(), reason="needs the values of other tools beside the repository")
@pytest.mark.parametrize("file", FILES)
def test_every_value_is_that_of_the_other_tool(file: str) -> None:
    every = list(compared_values(file))
    assert len(every) >= FEWEST[file]
    apart = [one for one in every if not one.apart <= 1e-9]
    assert apart == []
