"""Fused scores and fits against values that ranx computed."""

from __future__ import annotations

from collections import defaultdict

import pytest
from benchmarks.parity_fusion import ComparedFusion, compared_fusions

from rankproof._fusion.method import METHODS, method_named

pytestmark = pytest.mark.slow
LEAST_VALUES = 55_000
"""How many values the file has at least, so that a file that is not read is noticed."""


@pytest.fixture(scope="module")
def every() -> list[ComparedFusion]:
    return list(compared_fusions())


def test_fused_scores_and_fits_are_those_of_ranx(every: list[ComparedFusion]) -> None:
    compared = [one for one in every if not one.reason]
    assert sum(one.values for one in compared) >= LEAST_VALUES
    assert [one for one in compared if not one.apart <= 1e-9] == []


def test_every_method_of_ranx_is_compared(every: list[ComparedFusion]) -> None:
    values: dict[str, int] = defaultdict(int)
    for one in every:
        values[one.method.removesuffix(", fit")] += one.values if not one.reason else 0
    here = {method_named(name).name for name in values}
    assert set(METHODS) - here == {"dbsf", "convex"}
    assert [name for name, count in values.items() if count == 0] == ["condorcet", "w_condorcet"]
