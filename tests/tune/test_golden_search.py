"""The trials of ranx's parameter searches, score by score, where its own score does not depend on the order of its input.

ranx orders tied fused scores by their place in the input, rankproof by id. Its weighted Condorcet depends on the hash seed.
"""

from __future__ import annotations

from ast import literal_eval

import pytest
from benchmarks.parity_tuning import SAME, compared_trials, searches

from rankproof._tune.parameters import weight_grid


@pytest.mark.slow
def test_every_stable_trial_of_ranx_has_the_same_score_up_to_the_order_of_ties() -> None:
    found = list(compared_trials())
    different = [one for one in found if one.apart > SAME]
    assert len(found) > 6000
    assert len(different) < 0.05 * len(found)
    assert [one for one in different if not one.is_order_of_ties] == []


def test_the_grid_of_weights_has_the_tuples_that_ranx_loses_to_rounding() -> None:
    for _, search in searches():
        if search["trials"][0].startswith("("):
            theirs = {literal_eval(trial) for trial in search["trials"]}
            step = search["kwargs"].get("step", 0.1)
            ours = {tuple(round(weight, 6) for weight in one) for one in weight_grid(len(next(iter(theirs))), step)}
            assert theirs <= ours
