"""Position bias: what harvesting and expectation maximisation recover of known examination, and logs that tell nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import isotonic_regression

from rankproof._statistics.position_bias import RankedClicks, _falling, fitted_examination, position_bias
from rankproof.errors import InputError
from support.shown_lists import ShownList, click_log, pair_counts

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
    bias = click_log(lists).position_bias
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
    bias = click_log(_train()).position_bias
    expected = np.array(golden["models"]["PBM"]["examination"])
    assert bias.method == "em"
    assert bias.examination == pytest.approx(expected / expected[0], rel=0.12)


def _train() -> list[ShownList]:
    golden = json.loads(GOLDEN.read_text(encoding="utf-8"))
    return [
        ShownList(
            query,
            tuple(docs),
            tuple(range(1, len(docs) + 1)),
            {doc: 1.0 for doc, click in zip(docs, clicks, strict=True) if click == "1"},
        )
        for query, docs, clicks in golden["sessions"][: golden["train"]]
    ]


@pytest.mark.parametrize("model", ["ctr", "cascade"])
def test_counts_of_pairs_are_those_of_pyclick(model: str) -> None:
    """Its rates of a document are (clicks + 1) / (seen + 2): CTR by document, and seen down to the last click (SDBN)."""
    golden = json.loads(GOLDEN.read_text(encoding="utf-8"))
    query, docs, _ = golden["sessions"][golden["train"]]
    log, counts = click_log(_train()), pair_counts(_train(), model)
    rate = log.total_clicks / float((log.examined if model == "cascade" else np.ones(len(log.pair))).sum())
    rates = [(counts[query, doc].clicks + 1) / (counts[query, doc].expected / rate + 2) for doc in docs]
    peer = golden["models"]["DCTR" if model == "ctr" else "SDBN"]["full_first_test_session"]
    if model == "ctr":
        assert rates == pytest.approx(peer)
    else:
        # At lower ranks PyClick multiplies by the chance that users get there.
        assert rates[0] == pytest.approx(peer[0])


def test_counts_of_ranks_and_of_all_impressions_are_those_of_pyclick() -> None:
    models, counts = json.loads(GOLDEN.read_text(encoding="utf-8"))["models"], click_log(_train()).by_rank()
    assert (counts.clicked + 1) / (counts.shown + 2) == pytest.approx(models["RCTR"]["full_first_test_session"])
    overall = (counts.clicked.sum() + 1) / (counts.shown.sum() + 2)
    assert [overall] * 4 == pytest.approx(models["GCTR"]["full_first_test_session"])


Cells = Mapping[tuple[int, int], tuple[float, float]]


def cells_of(counts: Cells) -> RankedClicks:
    """Impressions and clicks by pair and rank."""
    pair, rank = np.array(sorted(counts)).T
    shown, clicked = np.array([counts[key] for key in sorted(counts)]).T
    return RankedClicks(pair, rank, shown, clicked)


def test_impressions_are_counted_by_pair_and_rank() -> None:
    cells = RankedClicks.of(np.array([3, 3, 1, 3]), np.array([0, 2, 1, 0]), np.array([True, False, True, False]))
    assert (cells.pair.tolist(), cells.rank.tolist()) == ([1, 3, 3], [1, 0, 2])
    assert (cells.shown.tolist(), cells.clicked.tolist()) == ([1, 2, 1], [1, 1, 0])
    assert cells.width == 3


def test_a_rank_with_more_clicks_than_the_rank_above_is_pooled_with_it_by_their_clicks() -> None:
    cells = cells_of({(0, 0): (10, 8), (0, 1): (10, 4), (1, 1): (10, 2), (1, 2): (30, 9)})
    # At ranks 1 and 2: 4 and 2 clicks if shown equally often; at ranks 2 and 3: 1.5 and 2.25. So 1, 1/2, 3/4 before pooling.
    pooled = (0.5 * (4 + 2) + 0.75 * (1.5 + 2.25)) / (6 + 3.75)
    assert position_bias(cells).examination.tolist() == pytest.approx([1, pooled, pooled])


@given(st.lists(st.tuples(st.floats(0, 2), st.floats(0.1, 5)), min_size=1, max_size=8))
def test_values_that_never_rise_are_the_nearest_ones(points: list[tuple[float, float]]) -> None:
    values, weights = np.array(points).T
    nearest = isotonic_regression(values, weights=weights, increasing=False).x
    assert _falling(values, weights) == pytest.approx(nearest, abs=1e-9)


@pytest.mark.parametrize(
    ("ranks", "fixed", "depth", "method"),
    [(4, 40, 8, "em"), (4, 41, 8, "harvesting"), (4, 40, 9, "harvesting"), (3, 20, 5, "harvesting"), (5, 50, 10, "em")],
)
def test_lists_were_randomised_if_half_of_the_impressions_are_of_documents_at_half_of_the_ranks(
    ranks: int, fixed: int, depth: int, method: str
) -> None:
    """One document at so many ranks, ten times each, and another so often at the last rank."""
    wandering = {(0, rank): (10.0, 5.0) for rank in range(ranks)}
    assert position_bias(cells_of({**wandering, (1, depth - 1): (fixed, 1.0)})).method == method


def test_the_lists_of_a_query_are_as_long_as_its_deepest_document() -> None:
    cells = cells_of({**{(0, rank): (10.0, 5.0) for rank in range(4)}, (1, 7): (10.0, 1.0), (2, 19): (1.0, 0.0)})
    assert position_bias(cells).method == "harvesting"
    assert position_bias(cells, np.array([0, 0, 0, 0, 0, 1])).method == "em"
    assert position_bias(cells, np.array([0, 0, 0, 0, 1, 0])).method == "harvesting"


def em_by_loops(counts: Cells, rounds: int) -> npt.NDArray[np.float64]:
    """The position-based model by its definition: shares of impressions that were looked at, and that were liked."""
    looks = {rank: 0.5 for _, rank in counts}
    likes = {pair: 0.5 for pair, _ in counts}
    for _ in range(rounds):
        looked, liked = dict.fromkeys(looks, 0.0), dict.fromkeys(likes, 0.0)
        for (pair, rank), (shown, clicked) in counts.items():
            unseen = 1 - looks[rank] * likes[pair]
            looked[rank] += clicked + (shown - clicked) * looks[rank] * (1 - likes[pair]) / unseen
            liked[pair] += clicked + (shown - clicked) * likes[pair] * (1 - looks[rank]) / unseen
        looks = {at: total / sum(shown for (_, rank), (shown, _) in counts.items() if rank == at) for at, total in looked.items()}
        likes = {at: total / sum(shown for (pair, _), (shown, _) in counts.items() if pair == at) for at, total in liked.items()}
    most = max(looks.values())
    return np.array([looks[rank] / most for rank in sorted(looks)])


def test_expectation_maximisation_converges_to_the_examination_of_its_definition() -> None:
    examination, attraction = (0.9, 0.5, 0.3), (0.9, 0.6, 0.2, 0.4)
    counts = {
        (pair, rank): (100.0 + 10 * pair, round((100 + 10 * pair) * look * like) + (pair + rank) % 3)
        for pair, like in enumerate(attraction)
        for rank, look in enumerate(examination)
    }
    assert fitted_examination(cells_of(counts)) == pytest.approx(em_by_loops(counts, 3_000), rel=5e-3)
