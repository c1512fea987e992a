"""Click models: laws, worked examples, and what they recover of known attractiveness from simulated clicks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rankproof._statistics.clicks import (
    CLICK_MODELS,
    Pair,
    PairCounts,
)
from rankproof.errors import InputError
from support.shown_lists import ShownList, click_log

DOCS = 8


def shown(query: str, docs: str, clicked: str = "", **weights: float) -> ShownList:
    return ShownList(query, tuple(docs), tuple(range(1, len(docs) + 1)), {**dict.fromkeys(clicked, 1.0), **weights})


def simulated(
    examination: np.ndarray, *, noise: float, moves: float, users: int = 400, queries: int = 30
) -> tuple[list[ShownList], dict[Pair, float]]:
    """Lists of a ranking whose quality falls with the noise, clicks by a position-based model, and the true attractiveness."""
    random = np.random.default_rng(7)
    lists, truth = [], dict[Pair, float]()
    for query in range(queries):
        attraction = random.beta(1.2, 3, DOCS)
        truth |= {(f"q{query}", f"d{doc}"): float(attraction[doc]) for doc in range(DOCS)}
        scores = attraction + random.normal(0, noise, DOCS)
        for _ in range(users):
            order = np.argsort(-(scores + random.normal(0, moves, DOCS)))
            clicks = random.random(DOCS) < examination * attraction[order]
            docs = tuple(f"d{doc}" for doc in order)
            lists.append(
                ShownList(f"q{query}", docs, tuple(range(1, DOCS + 1)), {docs[at]: 1.0 for at in np.flatnonzero(clicks)})
            )
    return lists, truth


def order_recovered(lists: list[ShownList], truth: dict[Pair, float], model: str) -> float:
    """The share of pairs of documents of a query that the model orders as their true attractiveness does."""
    counts = click_log(lists).by_pair(CLICK_MODELS[model])
    values = {pair: one.attraction(1.0) for pair, one in counts.items()}
    right = total = 0
    for query in dict.fromkeys(query for query, _ in truth):
        own = [pair for pair in truth if pair[0] == query and pair in values]
        for at, first in enumerate(own):
            for second in own[at + 1 :]:
                right += (truth[first] > truth[second]) == (values[first] > values[second])
                total += 1
    return right / total


def test_clicks_and_impressions_are_counted_by_rank() -> None:
    counts = click_log([shown("q", "abc", "a"), shown("r", "ba", "a"), ShownList("q", ("c",), (3,), {"c": 2.0})]).by_rank()
    assert counts.shown.tolist() == [2, 2, 2]
    assert counts.clicked.tolist() == [1, 1, 2]
    assert counts.rates.tolist() == [0.5, 0.5, 1]


def test_clicks_over_expected_clicks_by_hand() -> None:
    # Rank 1 has 2 clicks in 4 lists, rank 2 has 1: expected are 0.5 and 0.25 an impression.
    lists = [shown("q", "ab", "a"), shown("q", "ab", "ab"), shown("q", "ba"), shown("q", "ba")]
    counts = click_log(lists).by_pair(CLICK_MODELS["coec"])
    assert counts["q", "a"] == PairCounts(4, 2.0, 2 * 0.5 + 2 * 0.25)
    assert counts["q", "b"] == PairCounts(4, 1.0, 2 * 0.25 + 2 * 0.5)
    assert counts["q", "a"].attraction(1.0) == pytest.approx(3 / 2.5)


def test_the_cascade_examines_down_to_the_last_click_and_everything_without_one() -> None:
    lists = shown("q", "abcd", "b"), shown("q", "abcd", "ac"), shown("q", "abcd")
    assert [int(click_log([one]).examined.sum()) for one in lists] == [2, 3, 4]
    counts = click_log([shown("q", "abc", "b"), shown("q", "abc", "a")]).by_pair(CLICK_MODELS["cascade"])
    rate = 2 / 3
    assert [(counts["q", doc].shown, counts["q", doc].clicks) for doc in "abc"] == [(2, 1), (2, 1), (2, 0)]
    assert [counts["q", doc].expected for doc in "abc"] == pytest.approx([2 * rate, rate, 0])


def test_a_pair_that_was_never_shown_has_no_counts() -> None:
    lists = [shown("q", "ab", "a"), shown("q", "ba", "a"), shown("r", "c")]
    for model in CLICK_MODELS.values():
        assert set(click_log(lists).by_pair(model)) == {("q", "a"), ("q", "b"), ("r", "c")}


def has_position_bias(lists: list[ShownList]) -> bool:
    try:
        return bool(click_log(lists).position_bias.known)
    except InputError:
        return False


@pytest.mark.parametrize("model", sorted(set(CLICK_MODELS) - {"position"}))
def test_lists_without_clicks_give_average_values(model: str) -> None:
    counts = click_log([shown("q", "abc"), shown("r", "ab")]).by_pair(CLICK_MODELS[model])
    assert {one.attraction(1.0) for one in counts.values()} == {1.0}


def lists_of_clicks() -> st.SearchStrategy[list[ShownList]]:
    one = st.tuples(st.sampled_from("qr"), st.permutations("abcd"), st.sets(st.sampled_from("abcd")))
    return st.lists(one.map(lambda each: shown(each[0], "".join(each[1]), "".join(sorted(each[2])))), min_size=1, max_size=12)


@given(lists_of_clicks(), st.sampled_from(sorted(CLICK_MODELS)))
def test_expected_clicks_sum_to_clicks(lists: list[ShownList], model: str) -> None:
    assume(model != "position" or has_position_bias(lists))
    counts = click_log(lists).by_pair(CLICK_MODELS[model]).values()
    assert sum(one.expected for one in counts) == pytest.approx(sum(one.clicks for one in counts), abs=1e-6)


@given(lists_of_clicks(), st.sampled_from(sorted(CLICK_MODELS)))
def test_the_order_of_lists_never_matters(lists: list[ShownList], model: str) -> None:
    assume(model != "position" or has_position_bias(lists))
    there, back = (click_log(each).by_pair(CLICK_MODELS[model]) for each in (lists, lists[::-1]))
    assert there.keys() == back.keys()
    for pair, one in there.items():
        assert one.expected == pytest.approx(back[pair].expected, abs=1e-3)


@given(st.floats(0.01, 100), st.floats(0, 50), st.floats(0.01, 50))
def test_a_prior_draws_a_value_towards_1(prior: float, clicks: float, expected: float) -> None:
    pair = PairCounts(10, clicks, expected)
    assert abs(pair.attraction(prior) - 1) <= abs(clicks / expected - 1) + 1e-9


EXAMINATION = 1 / np.arange(1, DOCS + 1)


# Documents move between ranks; a poor ranking, and a fair one.
CASES = [(1.0, "coec"), (1.0, "cascade"), (1.0, "position"), (0.3, "position")]


@pytest.mark.parametrize(("noise", "model"), [CASES[0], *(pytest.param(*case, marks=pytest.mark.slow) for case in CASES[1:])])
def test_a_correction_recovers_more_of_the_true_order_than_the_click_through_rate(noise: float, model: str) -> None:
    lists, truth = simulated(EXAMINATION, noise=noise, moves=0.15)
    plain, corrected = (order_recovered(lists, truth, name) for name in ("ctr", model))
    assert corrected > plain + 0.02, f"{model} {corrected:.3f}, ctr {plain:.3f}"


@pytest.mark.slow
def test_coec_takes_the_quality_of_a_good_ranking_for_position_bias() -> None:
    # The known weakness: where good documents are always on top, their clicks are expected of their rank.
    lists, truth = simulated(EXAMINATION, noise=0.05, moves=0.0)
    assert order_recovered(lists, truth, "coec") < order_recovered(lists, truth, "ctr")


@pytest.mark.slow
def test_the_examination_of_ranks_is_recovered_where_documents_move() -> None:
    lists, _ = simulated(EXAMINATION, noise=0.3, moves=0.3, users=2000)
    assert click_log(lists).position_bias.examination == pytest.approx(EXAMINATION, abs=0.05)
    rates = click_log(lists).by_rank().rates
    assert rates / rates[0] != pytest.approx(EXAMINATION, abs=0.05)


def test_pairs_at_several_ranks_are_counted() -> None:
    assert click_log([shown("q", "ab"), shown("q", "ba"), shown("r", "abc")]).pairs_at_several_ranks() == 2
