"""Click models: laws, worked examples, and what they recover of known attractiveness from simulated clicks."""

from __future__ import annotations

import tracemalloc
from unittest import mock

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rankproof._statistics.clicks import CLICK_MODELS, ClickLog, PairCounts
from rankproof.errors import InputError
from support.shown_lists import Pair, ShownList, click_log, pair_counts

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
    values = {pair: count.attraction for pair, count in pair_counts(lists, model).items()}
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
    counts = pair_counts(lists, "coec")
    assert counts["q", "a"][:3] == (4, 2.0, 2 * 0.5 + 2 * 0.25)
    assert counts["q", "b"][:3] == (4, 1.0, 2 * 0.25 + 2 * 0.5)
    assert counts["q", "a"].attraction == pytest.approx(3 / 2.5)


def test_the_cascade_examines_down_to_the_last_click_and_everything_without_one() -> None:
    lists = shown("q", "abcd", "b"), shown("q", "abcd", "ac"), shown("q", "abcd")
    assert [int(click_log([one]).examined.sum()) for one in lists] == [2, 3, 4]
    counts = pair_counts([shown("q", "abc", "b"), shown("q", "abc", "a")], "cascade")
    rate = 2 / 3
    assert [(counts["q", doc].shown, counts["q", doc].clicks) for doc in "abc"] == [(2, 1), (2, 1), (2, 0)]
    assert [counts["q", doc].expected for doc in "abc"] == pytest.approx([2 * rate, rate, 0])


def test_a_pair_that_was_never_shown_has_no_counts() -> None:
    lists = [shown("q", "ab", "a"), shown("q", "ba", "a"), shown("r", "c")]
    for model in CLICK_MODELS:
        assert set(pair_counts(lists, model)) == {("q", "a"), ("q", "b"), ("r", "c")}


def has_position_bias(lists: list[ShownList]) -> bool:
    try:
        return bool(click_log(lists).position_bias.known)
    except InputError:
        return False


@pytest.mark.parametrize("model", sorted(set(CLICK_MODELS) - {"position"}))
def test_lists_without_clicks_give_average_values(model: str) -> None:
    counts = pair_counts([shown("q", "abc"), shown("r", "ab")], model)
    assert {count.attraction for count in counts.values()} == {1.0}


def lists_of_clicks() -> st.SearchStrategy[list[ShownList]]:
    one = st.tuples(st.sampled_from("qr"), st.permutations("abcd"), st.sets(st.sampled_from("abcd")))
    return st.lists(one.map(lambda each: shown(each[0], "".join(each[1]), "".join(sorted(each[2])))), min_size=1, max_size=12)


@given(lists_of_clicks(), st.sampled_from(sorted(CLICK_MODELS)))
def test_expected_clicks_sum_to_clicks(lists: list[ShownList], model: str) -> None:
    assume(model != "position" or has_position_bias(lists))
    counts = click_log(lists).by_pair(CLICK_MODELS[model])
    assert counts.expected.sum() == pytest.approx(counts.clicks.sum(), abs=1e-6)


@given(lists_of_clicks(), st.sampled_from(sorted(CLICK_MODELS)))
def test_the_order_of_lists_never_matters(lists: list[ShownList], model: str) -> None:
    assume(model != "position" or has_position_bias(lists))
    there, back = (pair_counts(order, model) for order in (lists, lists[::-1]))
    assert there.keys() == back.keys()
    for pair, count in there.items():
        assert count.expected == pytest.approx(back[pair].expected, abs=1e-3)


@given(st.floats(0.01, 100), st.floats(0, 50), st.floats(0.01, 50))
def test_a_prior_draws_a_value_towards_1(prior: float, clicks: float, expected: float) -> None:
    pair = PairCounts(np.array([10]), np.array([clicks]), np.array([expected]))
    assert abs(pair.attraction(prior)[0] - 1) <= abs(clicks / expected - 1) + 1e-9


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


@given(lists_of_clicks(), st.sampled_from(sorted(CLICK_MODELS)), st.integers(1, 9))
def test_counts_are_sums_over_impressions_however_many_are_read_at_once(lists: list[ShownList], model: str, rows: int) -> None:
    assume(model != "position" or has_position_bias(lists))
    log = click_log(lists)
    at_once = log.by_pair(CLICK_MODELS[model])
    with mock.patch("rankproof._statistics.position_bias._ROWS_AT_ONCE", rows):
        in_parts = log.by_pair(CLICK_MODELS[model])
    of_rank = CLICK_MODELS[model].expected(log)
    expected = dict[Pair, float]()
    for query, docs, ranks, clicks in lists:
        last = max((rank for doc, rank in zip(docs, ranks, strict=True) if clicks.get(doc)), default=len(docs))
        for doc, rank in zip(docs, ranks, strict=True):
            looked = of_rank[rank - 1] if model != "cascade" or rank <= last else 0.0
            expected[query, doc] = expected.get((query, doc), 0.0) + looked
    assert at_once.expected.tolist() == in_parts.expected.tolist() == list(expected.values())
    assert at_once.clicks.tolist() == in_parts.clicks.tolist()
    assert at_once.shown.tolist() == in_parts.shown.tolist()


def test_the_counts_of_a_large_log_take_few_bytes_per_impression() -> None:
    lists, depth = 20_000, 10
    random = np.random.default_rng(1)
    query = random.integers(0, 500, lists).astype(np.int32)
    order = np.argsort(np.arange(depth) + random.normal(0, 1, (lists, depth)), axis=1)
    pair = (query[:, None] * depth + order).astype(np.int32).ravel()
    rank = np.tile(np.arange(depth, dtype=np.int8), lists)
    weight = (random.random(len(pair)) < 0.3).astype(np.int16)
    log = ClickLog(np.repeat(np.arange(500), depth), pair, rank, weight, np.array([0.0, 1.0]), np.full(lists, depth))
    tracemalloc.start()
    try:
        log.by_pair(CLICK_MODELS["position"])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 40 * len(pair), f"{peak / len(pair):.0f} bytes per impression"
