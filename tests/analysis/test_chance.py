"""A random ranking's expected value: against every order of a small corpus, and against simulation of larger ones."""

import math
from itertools import permutations

import numpy as np
import pytest

from rankproof import evaluate
from rankproof._analysis.chance import ChanceValues, expected_value
from rankproof.measures import parse_measure
from rankproof.plugins import RandomRanking

NAMES = (
    *("P@1", "P@3", "P@9", "R@2", "R@9", "Success@1", "Success@3", "Success@9", "RR", "RR@2", "AP", "AP@3"),
    *("nDCG", "nDCG@1", "nDCG@3", "nDCG(gain='exp')", "nDCG(gain='exp')@2", "nDCG(gain={1:3,2:1})@3", "RR(rel=2)", "P(rel=2)@2"),
)


@pytest.mark.parametrize("grades", [(1,), (1, 1), (2, 1, 0), (3, 2, 1, 0, 0), (2, 2, 2, 1, 1, 1), (1, -1), (0,)])
@pytest.mark.parametrize("name", NAMES)
def test_the_closed_form_is_the_mean_over_every_order(name: str, grades: tuple[int, ...]) -> None:
    documents = 6
    orders = list(permutations(range(documents)))
    qrels = {f"q{at}": {f"d{doc}": grade for doc, grade in enumerate(grades)} for at in range(len(orders))}
    run = {f"q{at}": {f"d{doc}": -float(place) for place, doc in enumerate(order)} for at, order in enumerate(orders)}
    mean = evaluate(qrels, run, [name]).value(name)
    assert expected_value(parse_measure(name), grades, documents) == pytest.approx(mean, abs=1e-12)


SIMULATED = ("P@10", "R@10", "Success@10", "RR", "RR@10", "AP", "AP@50", "nDCG@10", "nDCG(gain='exp')")


def test_the_closed_form_is_what_simulation_gives() -> None:
    documents, samples, grades = 200, 2000, (3, 2, 2, 1, 1, 1, 1, 0, 0)
    scores = np.random.default_rng(7).random((samples, documents)).tolist()
    qrels = {f"q{at}": {f"d{doc}": grade for doc, grade in enumerate(grades)} for at in range(samples)}
    run = {f"q{at}": {f"d{doc}": score for doc, score in enumerate(row)} for at, row in enumerate(scores)}
    for name, one in evaluate(qrels, run, SIMULATED).systems[0].measures.items():
        error = float(one.values.std(ddof=1)) / samples**0.5
        wanted = expected_value(parse_measure(name), grades, documents)
        assert wanted is not None
        assert abs(one.value - wanted) < 4 * error, name


@pytest.mark.parametrize(("cutoff", "share"), [(1, 0.005), (5, 0.025), (10, 0.05)])
def test_one_target_among_200_documents_is_found_by_chance_as_the_tutorial_says(cutoff: int, share: float) -> None:
    assert expected_value(parse_measure(f"Success@{cutoff}"), [1], 200) == pytest.approx(share, abs=1e-15)


def test_success_is_sure_where_the_places_outnumber_the_other_documents() -> None:
    assert expected_value(parse_measure("Success@7"), [1] * 4, 10) == 1.0
    below = expected_value(parse_measure("Success@6"), [1] * 4, 10)
    assert below is not None
    assert below < 1.0


def test_a_cutoff_beyond_the_corpus_lowers_precision_only() -> None:
    assert expected_value(parse_measure("P@100"), [1, 1], 10) == pytest.approx(0.02)
    assert expected_value(parse_measure("R@100"), [1, 1], 10) == 1.0


def test_a_ranking_cut_by_depth_counts_no_deeper() -> None:
    assert expected_value(parse_measure("R@100"), [1], 1000, depth=10) == expected_value(parse_measure("R@10"), [1], 1000)


def test_a_measure_without_a_closed_form_has_no_expected_value() -> None:
    assert expected_value(parse_measure("bpref"), [1], 10) is None
    assert expected_value(parse_measure("DCG@5"), [1], 10) is None


def test_millions_of_documents_are_no_trouble() -> None:
    value = expected_value(parse_measure("RR"), [1], 1_000_000)
    assert value is not None
    assert value == pytest.approx((np.log(1e6) + np.euler_gamma) / 1e6, rel=1e-6)


@pytest.mark.parametrize("measure", ["AP", "AP@1", "RR", "P@1", "nDCG@10"])
def test_a_corpus_of_one_relevant_document_has_the_value_1_by_chance(measure: str) -> None:
    assert parse_measure(measure).chance(RandomRanking((1,), 1)) == 1.0
    assert parse_measure(measure).chance(RandomRanking((0,), 1)) == 0.0


@pytest.mark.parametrize("highest", [0.01, 0.5, 1.0])
def test_the_tail_of_many_queries_is_that_of_the_whole_distribution(highest: float) -> None:
    values = np.random.default_rng(1).random(1500) * highest
    whole = np.ones(1)
    for chance in values.tolist():
        whole = np.concatenate([whole * (1 - chance), [0.0]]) + np.concatenate([[0.0], whole * chance])
    for hits in (0, 7, int(values.sum()), 1500):
        assert ChanceValues(values).p_at_most(hits) == min(1.0, math.fsum(whole[: hits + 1].tolist()))
