"""Position bias: what harvesting and expectation maximisation recover of known examination, and logs that tell nothing."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankproof._statistics.clicks import CLICK_MODELS, ClickLog, ShownList
from rankproof._statistics.position_bias import RankedClicks, fitted_examination, position_bias
from rankproof.errors import InputError

DEPTH = 10
EXAMINATION = 1 / np.arange(1, DEPTH + 1)
GOLDEN = Path(__file__).parents[1] / "golden" / "online" / "clickmodels.json"


def simulated(kind: str, lists: int, seed: int, queries: int = 50) -> RankedClicks:
    """Clicks of a position-based model on a fair ranking: never varied, one swap in each list, or a tenth in random order."""
    random = np.random.default_rng(seed)
    attraction = random.beta(0.8, 2.5, (queries, DEPTH))
    ranking = np.argsort(-(attraction + random.normal(0, 0.2, attraction.shape)), axis=1)
    query = random.integers(0, queries, lists)
    shown, rows = ranking[query], np.arange(lists)
    if kind == "one swap":
        at = random.integers(0, DEPTH - 1, lists)
        shown[rows, at], shown[rows, at + 1] = shown[rows, at + 1], shown[rows, at].copy()
    if kind == "random":
        for row in np.flatnonzero(random.random(lists) < 0.1):
            shown[row] = random.permutation(DEPTH)
    clicked = random.random((lists, DEPTH)) < attraction[query[:, None], shown] * EXAMINATION
    pair: npt.NDArray[np.intp] = (query[:, None] * DEPTH + shown).ravel()
    return RankedClicks.of(pair, np.tile(np.arange(DEPTH), lists), clicked.ravel())


def largest_error(examination: npt.NDArray[np.float64]) -> float:
    return float(np.abs(examination / examination[0] / EXAMINATION - 1).max())


# The largest relative error at ranks 2-10, the median of five logs; measured: 0.6, 0.2, 0.3, 0.07.
@pytest.mark.parametrize(
    ("kind", "lists", "method", "limit"),
    [
        ("one swap", 5_000, "harvesting", 0.8),
        pytest.param("one swap", 50_000, "harvesting", 0.35, marks=pytest.mark.slow),
        ("random", 5_000, "em", 0.6),
        pytest.param("random", 50_000, "em", 0.15, marks=pytest.mark.slow),
    ],
)
def test_the_examination_of_ranks_is_recovered(kind: str, lists: int, method: str, limit: float) -> None:
    biases = [position_bias(simulated(kind, lists, seed)) for seed in range(5)]
    assert {bias.method for bias in biases} == {method}
    assert np.median([largest_error(bias.examination) for bias in biases]) < limit


@pytest.mark.slow
def test_harvesting_beats_expectation_maximisation_where_neighbours_were_swapped() -> None:
    logs = [simulated("one swap", 50_000, seed) for seed in range(3)]
    harvested = np.median([largest_error(position_bias(log).examination) for log in logs])
    fitted = np.median([largest_error(fitted_examination(log)) for log in logs])
    assert harvested < fitted / 2


def test_a_log_whose_ranks_never_varied_is_rejected() -> None:
    with pytest.raises(InputError, match="cannot be told from relevance; show some lists in another order"):
        position_bias(simulated("never varied", 2_000, 1))


def test_clicks_on_the_same_pairs_at_two_ranks_by_hand() -> None:
    # a: 4 impressions at rank 1 with 3 clicks, 4 at rank 2 with 1; b: 2 at each, 1 click at rank 1, none at rank 2.
    cells = RankedClicks(
        np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), np.array([4.0, 4.0, 2.0, 2.0]), np.array([3.0, 1.0, 1.0, 0.0])
    )
    bias = position_bias(cells)
    assert bias.examination.tolist() == [1, pytest.approx((1 / 2) / (3 / 2 + 1 / 2))]
    assert (bias.method, bias.known, bias.pairs) == ("harvesting", 2, 2)
    assert str(bias).endswith("made monotone: 2 pairs were shown at two neighbouring ranks")


def test_ranks_that_no_clicks_link_to_the_ranks_above_have_the_value_of_the_last_known() -> None:
    lists = [ShownList("q", ("a", "b", "c", "d"), (1, 2, 3, 4), {"a": 1.0})] * 3
    lists += [ShownList("q", ("b", "a", "c", "d"), (1, 2, 3, 4), {"a": 1.0, "d": 1.0})] * 2
    bias = ClickLog.of(lists).position_bias
    assert bias.known == 2
    assert bias.examination[2:].tolist() == [bias.examination[1]] * 2
    assert str(bias).endswith("known for the first 2 ranks only")


@given(st.integers(0, 10_000), st.sampled_from(["one swap", "random"]))
def test_examination_starts_at_1_and_never_rises(seed: int, kind: str) -> None:
    try:
        bias = position_bias(simulated(kind, 60, seed, queries=3))
    except InputError:
        return
    if bias.method == "harvesting":
        assert bias.examination[0] == 1
        assert (np.diff(bias.examination) <= 0).all()
    assert len(bias.examination) == DEPTH
    assert ((bias.examination > 0) | (bias.method == "em")).all()


def test_expectation_maximisation_agrees_with_pyclick_within_its_rounds() -> None:
    # PyClick runs 50 rounds from 0.5, so its values are near ours and not equal to them.
    golden = json.loads(GOLDEN.read_text(encoding="utf-8"))
    bias = _train().position_bias
    expected = np.array(golden["models"]["PBM"]["examination"])
    assert bias.method == "em"
    assert bias.examination == pytest.approx(expected / expected[0], rel=0.12)


def _train() -> ClickLog:
    golden = json.loads(GOLDEN.read_text(encoding="utf-8"))
    return ClickLog.of(
        ShownList(
            query,
            tuple(docs),
            tuple(range(1, len(docs) + 1)),
            {doc: 1.0 for doc, click in zip(docs, clicks, strict=True) if click == "1"},
        )
        for query, docs, clicks in golden["sessions"][: golden["train"]]
    )


@pytest.mark.parametrize("model", ["ctr", "cascade"])
def test_counts_of_pairs_are_those_of_pyclick(model: str) -> None:
    """Its rates of a document are (clicks + 1) / (seen + 2): CTR by document, and seen down to the last click (SDBN)."""
    golden = json.loads(GOLDEN.read_text(encoding="utf-8"))
    query, docs, _ = golden["sessions"][golden["train"]]
    log = _train()
    counts = log.by_pair(CLICK_MODELS[model])
    rate = float(log.clicks.sum()) / float((log.examined if model == "cascade" else np.ones(len(log.pair))).sum())
    rates = [(counts[query, doc].clicks + 1) / (counts[query, doc].expected / rate + 2) for doc in docs]
    peer = golden["models"]["DCTR" if model == "ctr" else "SDBN"]["full_first_test_session"]
    if model == "ctr":
        assert rates == pytest.approx(peer)
    else:
        # At lower ranks PyClick multiplies by the chance that users get there.
        assert rates[0] == pytest.approx(peer[0])


def test_counts_of_ranks_and_of_all_impressions_are_those_of_pyclick() -> None:
    models, counts = json.loads(GOLDEN.read_text(encoding="utf-8"))["models"], _train().by_rank()
    assert (counts.clicked + 1) / (counts.shown + 2) == pytest.approx(models["RCTR"]["full_first_test_session"])
    overall = (counts.clicked.sum() + 1) / (counts.shown.sum() + 2)
    assert [overall] * 4 == pytest.approx(models["GCTR"]["full_first_test_session"])
