"""The rules of diagnosis, on the figures of the sources that they come from."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankproof._analysis.answers.causes import bottleneck, bottleneck_advice
from rankproof._analysis.bands import QualityBand
from rankproof._analysis.diagnose.diagnose import NO_RULE, RULE_MEASURES, RULES, Rule, diagnosis, fired_rules, rule_sentences
from rankproof._cli.options import known_profiles
from support.paths import DOCS

RAG = known_profiles()["rag"]


def values_of(*numbers: float) -> dict[str, float]:
    return dict(zip(("Success@1", "Success@5", "RR@10"), numbers, strict=True))


@pytest.mark.parametrize(
    ("numbers", "label"),
    [
        ((1.00, 1.00, 1.00), "perfect"),
        ((0.60, 0.85, 0.70), "good ranking"),
        ((0.30, 0.85, 0.40), "ranking, not coverage"),
        ((0.15, 0.25, 0.18), "retrieval"),
    ],
)
def test_the_tutorials_four_scenarios_are_classified_as_labelled(numbers: tuple[float, ...], label: str) -> None:
    assert diagnosis(values_of(*numbers)) == label


def test_the_tutorials_gap_example_is_ranking_and_not_coverage() -> None:
    values = {"Success@1": 0.45, "Success@5": 0.78, "Success@10": 0.85}
    assert diagnosis(values) == "ranking, not coverage"
    (sentence,) = rule_sentences({"it": values})
    assert sentence.endswith("Systems: it (Success@1 0.450, Success@5 0.780, Success@10 0.850).")


@pytest.mark.parametrize(
    ("numbers", "label"),
    [
        ((0.68, 0.72, 0.70), "quality over quantity"),
        ((0.52, 0.85, 0.62), "quantity over quality"),
        ((0.49, 0.85, 0.62), "ranking, not coverage; quantity over quality"),
        ((0.52, 0.75, 0.60), "rank 1 or nothing"),
    ],
)
def test_quality_and_quantity_are_weighed_by_success_and_reciprocal_rank(numbers: tuple[float, ...], label: str) -> None:
    assert diagnosis(values_of(*numbers)) == label


@given(st.lists(st.floats(0, 1), min_size=3, max_size=3))
def test_some_rule_applies_to_every_system_whose_values_are_known(numbers: list[float]) -> None:
    first, few = sorted(numbers[:2])
    # With a share `first` at rank 1 and `few` in the top 5, RR is at least first + (few - first) / 5.
    reciprocal_rank = max(numbers[2], first + (few - first) / 5)
    assert diagnosis(values_of(first, few, reciprocal_rank)) != NO_RULE


STEP = 1 / 40
GRID = [at * STEP for at in range(41)]
"""Every bound of a rule is a multiple of the step, so that values on and next to each bound are tried."""


def reciprocal_rank_range(first: float, few: float) -> tuple[float, float]:
    """The lowest and highest RR@10 with these shares of queries with a hit at rank 1 and in the top 5.

    The lowest has all other hits of the top 5 at rank 5 and none below; the highest has them at rank 2, the rest at rank 6.
    """
    return first + (few - first) / 5, first + (few - first) / 2 + (1 - few) / 6


def is_possible(first: float, few: float, reciprocal_rank: float) -> bool:
    low, high = reciprocal_rank_range(first, few)
    return first <= few and low - 1e-12 <= reciprocal_rank <= high + 1e-12


CUBE = [(first, few, rr) for first in GRID for few in GRID for rr in GRID]
POSSIBLE = [point for point in CUBE if is_possible(*point)]
REGIONS = {
    "perfect": "Success@1 is 1, and so is every other value",
    "good ranking": "every value is Good",
    "quantity over quality": "the top 5 and rank 1 are Good, RR is not",
    "quality over quantity": "rank 1 and RR are Good, the top 5 is not",
    "rank 1 or nothing": "rank 1 is Good, the top 5 and RR are not",
    "ranking, not coverage": "rank 1 is not Good, the top 5 is at least Acceptable; RR is not Moderate, or is already Good",
    "ranking, not coverage; quantity over quality": "the same, with a top 5 that is Good and an RR that is Moderate",
    "retrieval": "neither rank 1 nor the top 5 is acceptable, whatever RR is",
}
"""Every diagnosis that values can have, and where it applies."""


def test_every_possible_combination_of_values_on_a_grid_has_one_of_the_known_diagnoses() -> None:
    assert len(POSSIBLE) > 3000
    assert {diagnosis(values_of(*point)) for point in POSSIBLE} == set(REGIONS)


def test_rank_1_or_nothing_applies_exactly_within_its_bounds() -> None:
    for point in POSSIBLE:
        first, few, rr = point
        assert (diagnosis(values_of(*point)) == "rank 1 or nothing") == (first >= 0.5 and few < 0.8 and rr < 0.7), point


def test_a_low_reciprocal_rank_always_has_a_finding_that_asks_for_a_change() -> None:
    content = {"perfect", "good ranking"}
    low = [point for point in POSSIBLE if point[2] < 0.7]
    assert low
    assert not [point for point in low if content & {rule.name for rule in fired_rules(values_of(*point))}]


def test_values_without_a_finding_are_impossible() -> None:
    # RR is at least Success@1, so that a Success@1 of .5 excludes an RR below .5; Success@1 = 1 implies the other two.
    silent = [(first, few, rr) for first, few, rr in CUBE if first <= few and diagnosis(values_of(first, few, rr)) == NO_RULE]
    assert silent
    assert all(first >= 0.5 and few >= 0.8 and rr < 0.5 for first, few, rr in silent)
    assert not [point for point in silent if is_possible(*point)]


def test_a_rule_whose_value_is_missing_does_not_fire() -> None:
    assert fired_rules({"Success@5": 0.9}) == ()


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_every_threshold_is_a_bound_of_a_band_and_every_rule_has_a_source(rule: Rule) -> None:
    assert rule.source.startswith("Retrieval Metrics Tutorial, ")
    for condition in rule.conditions:
        bounds = {band.bound for profile in known_profiles().values() for band in profile.bands_of(condition.measure) or ()}
        assert {condition.least, condition.below} - {None} <= bounds | {1.0}
        assert condition.measure in RULE_MEASURES


@pytest.mark.parametrize(
    ("reciprocal_rank", "recall"), [(0.3025, 0.33), (0.4392, 0.47), (0.3783, 0.43)], ids=["dense", "sparse", "hybrid"]
)
def test_the_rag_table_reads_fair_for_retrieval_and_poor_for_answers(reciprocal_rank: float, recall: float) -> None:
    sentence = bottleneck({"RR": reciprocal_rank, "R@10": recall, "F1(tokens='set')": 0.05}, RAG)
    assert sentence == "retrieval is Fair, answers are Poor: generation is the bottleneck"


def test_retrieval_is_the_bottleneck_where_answers_have_the_higher_band() -> None:
    sentence = bottleneck({"RR": 0.2, "R@10": 0.95, "F1(tokens='set')": 0.5}, RAG)
    assert sentence == "retrieval is Poor, answers are Moderate: retrieval is the bottleneck"
    assert (
        bottleneck({"RR": 0.35, "F1(tokens='set')": 0.25}, RAG)
        == "retrieval is Fair, answers are Fair: neither is the bottleneck"
    )


def test_the_band_of_the_bottleneck_says_what_to_do_next() -> None:
    answers = bottleneck_advice({"RR": 0.65, "R@10": 0.63, "F1(tokens='set')": 0.17}, RAG)
    assert answers is not None
    assert answers.startswith("Answers and references share few words")
    assert "rankproof answers" not in answers
    retrieval = bottleneck_advice({"RR": 0.2, "R@10": 0.95, "F1(tokens='set')": 0.5}, RAG)
    assert retrieval is not None
    assert retrieval.startswith("The first relevant passage is often missing")
    assert " Next: " in retrieval
    assert bottleneck_advice({"RR": 0.2}, RAG) is None
    silent = replace(RAG, measures={name: (QualityBand("any", 0.0),) for name in RAG.measures})
    assert bottleneck_advice({"RR": 0.2, "F1(tokens='set')": 0.5}, silent) is None


def test_without_answers_there_is_no_verdict_on_the_bottleneck() -> None:
    assert bottleneck({"RR": 0.2, "R@10": 0.95}, RAG) is None


def test_the_page_of_diagnosis_has_every_rule_with_its_thresholds() -> None:
    page = (DOCS / "diagnosis.md").read_text(encoding="utf-8")
    rows = [f"| {rule.name} | {', '.join(map(str, rule.conditions))} | {rule.means} | {rule.action} |" for rule in RULES]
    assert [row for row in rows if row not in page] == []
