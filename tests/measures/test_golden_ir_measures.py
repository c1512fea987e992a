"""Measures against the values that the providers of ir_measures computed."""

from __future__ import annotations

import pytest
from benchmarks.parity_ir_measures import REASONS, compared_values

FEWEST = 13_000
"""How many values there are at least, so that a file that is not read is noticed."""


@pytest.mark.slow
def test_every_value_is_that_of_the_provider_or_has_a_reason() -> None:
    every = list(compared_values())
    assert len(every) >= FEWEST
    assert len({(one.provider, one.measure) for one in every}) >= 121
    assert [one for one in every if one.reason is None and not one.apart <= one.tolerance] == []
    assert {one.reason for one in every if one.reason} == {*REASONS}
