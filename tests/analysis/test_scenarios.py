"""Missing values as scenarios: which are left out or at their best, in which shares, and what is said of another choice."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rankproof._analysis.decision.record import MissingCount, Scenario
from rankproof._analysis.decision.scenarios import (
    ALL_AT_BEST,
    OTHERS_AT_BEST,
    WITHOUT_ABSTENTIONS,
    WITHOUT_LACKING,
    MissingValues,
    PartlyMissing,
    ScenarioChoice,
    UnknownRankings,
    best_value,
    disagreement,
    largest_risks,
    missing_scenarios,
    scenario_choices,
    scenario_text,
    without_worst_value,
)
from rankproof._data.arrays import BoolArray, FloatArray
from rankproof._statistics.decision_rule import PairEstimates, Risks, Selection, pair_estimates
from rankproof._statistics.means import weighted_mean
from rankproof.measures import parse_measure

NAMES = ("a", "b", "c")


def flags(*rows: str) -> BoolArray:
    return np.array([[flag == "x" for flag in row] for row in rows])


NONE = flags("...", "...", "...", "...")
LACKING = MissingValues(
    no_answer=flags("x..", "...", "...", "..."),
    abstained=flags("...", ".x.", ".x.", "..."),
    unknown=flags("...", "...", "..x", "..."),
)
SHARES = np.arange(12.0).reshape(4, 3) / 100
PARTLY = PartlyMissing(SHARES, SHARES + 0.1, SHARES + 0.2, SHARES + 0.3)


def plain(missing: MissingValues) -> list[list[list[bool]]]:
    return [part.tolist() for part in (missing.no_answer, missing.abstained, missing.unknown)]


def test_what_is_missing_of_some_questions_keeps_what_the_user_asked_for_but_not_the_shares_of_all() -> None:
    whole = replace(LACKING, skips=True, partly=PARTLY, shares=np.array([0.1, 0.2, 0.3]))
    rows = np.array([True, False, True, False])
    part = whole[rows]
    assert plain(part) == [part[rows].tolist() for part in (LACKING.no_answer, LACKING.abstained, LACKING.unknown)]
    assert (part.skips, part.shares) == (True, None)
    assert part.partly is not None
    assert part.partly.unknown_at_best.tolist() == (SHARES + 0.3)[rows].tolist()
    assert (LACKING[rows].skips, LACKING[rows].partly) == (False, None)


def test_what_is_missing_of_some_systems_keeps_their_shares() -> None:
    whole = replace(LACKING, skips=True, partly=PARTLY, shares=np.array([0.1, 0.2, 0.3]))
    part = whole.of_systems([2, 0])
    assert plain(part) == [part[:, [2, 0]].tolist() for part in (LACKING.no_answer, LACKING.abstained, LACKING.unknown)]
    assert part.shares is not None
    assert part.partly is not None
    assert (part.skips, part.shares.tolist()) == (True, [0.3, 0.1])
    columns = (part.partly.abstained, part.partly.unknown, part.partly.without_abstained, part.partly.unknown_at_best)
    for at, column in enumerate(columns):
        assert column.tolist() == (SHARES + at / 10)[:, [2, 0]].tolist()
    assert LACKING.of_systems([1]).partly is None
    assert LACKING.of_systems([1]).shares is None


def test_abstentions_are_left_out_and_what_a_system_lacks_only_if_the_user_asks() -> None:
    assert LACKING.left_out.tolist() == LACKING.abstained.tolist()
    asked = replace(LACKING, skips=True)
    assert asked.left_out.tolist() == flags("x..", ".x.", ".x.", "...").tolist()
    assert LACKING.every.tolist() == flags("x..", ".x.", ".xx", "...").tolist()
    assert (LACKING.left_out_shares.tolist(), LACKING.unknown_shares.tolist()) == ([0.0, 0.5, 0.0], [0.0, 0.0, 0.25])
    partly = replace(LACKING, partly=PARTLY)
    assert partly.left_out_shares == pytest.approx(np.array([0.0, 0.5, 0.0]) + SHARES.mean(axis=0))
    assert partly.unknown_shares == pytest.approx(np.array([0.1, 0.1, 0.35]) + SHARES.mean(axis=0))


@pytest.mark.parametrize(
    ("abstained", "unknown", "needed"), [(1, 0, False), (0, 1, False), (1, 1, True), (2, 0, True), (0, 2, True)]
)
def test_up_to_one_percent_of_the_questions_need_no_scenario(abstained: int, unknown: int, needed: bool) -> None:
    none = np.zeros((100, 2), dtype=np.bool_)
    missing = MissingValues(none.copy(), none.copy(), none.copy())
    missing.abstained[:abstained, 1] = missing.unknown[10 : 10 + unknown, 1] = True
    assert missing.needs_scenarios() is needed
    assert replace(missing, shares=np.array([0.01, 0.0])).needs_scenarios() is False
    assert replace(missing, shares=np.array([0.0, 0.011])).needs_scenarios() is True


def test_missing_values_are_counted_for_the_systems_that_lack_any() -> None:
    assert LACKING.counts(NAMES) == (MissingCount("a", 1, 0, 0), MissingCount("b", 0, 2, 0), MissingCount("c", 0, 0, 1))
    assert MissingValues(NONE, NONE, LACKING.unknown).counts(NAMES) == (MissingCount("c", 0, 0, 1),)


@pytest.mark.parametrize(
    ("measure", "best"),
    [("nDCG@10", 1.0), ("Hallucination", 0.0), ("DCG@10", None), ("Similarity(model='m')", 1.0), ("Unjudged@10", 0.0)],
)
def test_the_best_value_is_an_end_of_the_range(measure: str, best: float | None) -> None:
    assert best_value(parse_measure(measure)) == best


VALUES = np.random.default_rng(6).random((40, 3))


def missing_of(*, abstained: int = 0, unknown: int = 0, no_answer: int = 0, **more: Any) -> MissingValues:
    """So many of the first questions are missing for the last system."""
    parts = [np.zeros((40, 3), dtype=np.bool_) for _ in range(3)]
    for part, count in zip(parts, (no_answer, abstained, unknown), strict=True):
        part[:count, 2] = True
    lacks, abstains, fails = parts
    return MissingValues(lacks, abstains, fails, **more)


def differences(estimates: PairEstimates) -> list[float]:
    return [float(estimates.differences[pair]) for pair in ((0, 1), (0, 2), (1, 2))]


def apart(values: FloatArray, rows: Any = slice(None), last: Any = slice(None)) -> list[float]:
    """The mean differences of the three pairs; those with the last system over other questions."""
    return [
        weighted_mean(values[rows, 0] - values[rows, 1]),
        weighted_mean(values[last, 0] - values[last, 2]),
        weighted_mean(values[last, 1] - values[last, 2]),
    ]


def test_a_pair_is_compared_without_the_abstentions_of_its_systems() -> None:
    ((words, estimates),) = missing_scenarios(VALUES, None, missing_of(abstained=10), (0,), 1.0)
    assert words == WITHOUT_ABSTENTIONS
    assert differences(estimates) == pytest.approx(apart(VALUES, last=slice(10, None)))
    assert list(missing_scenarios(VALUES, None, missing_of(no_answer=10), (0,), 1.0)) == []
    ((words, estimates),) = missing_scenarios(VALUES, None, missing_of(no_answer=10, skips=True), (0,), 1.0)
    assert words == WITHOUT_LACKING
    assert differences(estimates) == pytest.approx(apart(VALUES, last=slice(10, None)))


def test_unknown_values_are_at_their_best_for_the_other_systems_and_for_all() -> None:
    at_best = VALUES.copy()
    at_best[:10, 2] = 1.0
    for chosen, others in (((0, 1), at_best), ((2,), VALUES)):
        scenarios = dict(missing_scenarios(VALUES, None, missing_of(unknown=10), chosen, 1.0))
        assert list(scenarios) == [OTHERS_AT_BEST, ALL_AT_BEST]
        assert differences(scenarios[OTHERS_AT_BEST]) == pytest.approx(apart(others))
        assert differences(scenarios[ALL_AT_BEST]) == pytest.approx(apart(at_best))


def test_questions_of_which_some_answers_are_missing_get_better_in_the_scenarios() -> None:
    gain = np.full((40, 3), 0.0)
    gain[:, 1] = 0.125
    partly = PartlyMissing(np.full((40, 3), 0.1), np.full((40, 3), 0.1), gain, 2 * gain)
    scenarios = dict(missing_scenarios(VALUES, None, missing_of(partly=partly), (0,), 1.0))
    assert list(scenarios) == [WITHOUT_ABSTENTIONS, OTHERS_AT_BEST, ALL_AT_BEST]
    assert differences(scenarios[WITHOUT_ABSTENTIONS]) == pytest.approx(apart(VALUES + gain))
    assert differences(scenarios[ALL_AT_BEST]) == pytest.approx(apart(VALUES + 2 * gain))


def choose_first(estimates: PairEstimates) -> tuple[Risks, Selection]:
    """A choice of the system with the highest mean."""
    risks = Risks(np.array([0.1, 0.2, 0.3]), np.full(3, 0.05), (1, 0, 0), 2, np.zeros((3, 3), dtype=np.bool_))
    return risks, Selection((estimates.best,))


def test_scenarios_are_tried_if_many_values_are_missing_and_without_unjudged_documents() -> None:
    judged = VALUES[:, ::-1]

    def named(missing: MissingValues | None, judged_only: FloatArray | None) -> list[Scenario]:
        others: dict[UnknownRankings, FloatArray] = {} if judged_only is None else {"unjudged": judged_only}
        choices = scenario_choices(VALUES, None, missing, others, (0,), 1.0, choose_first)
        return [choice.named(NAMES) for choice in choices]

    assert named(None, None) == []
    assert named(missing_of(), None) == []
    best = pair_estimates(judged).best
    expected = Scenario("without unjudged documents", (NAMES[best],), (0.1, 0.2, 0.3)[best])
    assert named(None, judged) == [expected]
    assert [scenario.name for scenario in named(missing_of(abstained=5), judged)] == [WITHOUT_ABSTENTIONS, expected.name]


def choice(words: str, *systems: int, reason: Any = "missing") -> ScenarioChoice:
    risks = Risks(np.array([0.3, 0.2, 0.1]), np.full(3, 0.15), (1, 0, 0), 2, np.zeros((3, 3), dtype=np.bool_))
    return ScenarioChoice(words, reason, risks, systems)


def test_a_scenario_has_the_risk_of_its_first_system_or_the_lowest_if_nothing_is_chosen() -> None:
    assert choice("w", 1, 0).named(NAMES) == Scenario("w", ("b", "a"), 0.2)
    assert choice("w").named(NAMES) == Scenario("w", (), 0.1)


@pytest.mark.parametrize(
    ("made", "chosen", "missing", "text"),
    [
        (choice("w", 1, reason="unjudged"), (0,), missing_of(), "w the choice is b, not a"),
        (choice("w", 1, 2), (0,), None, "w the choice is b, c, not a"),
        (choice("w", reason="unjudged"), (0, 2), None, "w the choice is open, not a, c"),
        (
            choice(WITHOUT_ABSTENTIONS, 1),
            (0,),
            missing_of(abstained=10),
            "c abstained on 25% of the questions; with abstentions as wrong the choice is a, without them b",
        ),
        (
            choice(WITHOUT_LACKING),
            (0,),
            missing_of(no_answer=30, skips=True),
            "c lacks 75% of the queries; with these at their worst the choice is a, without them open",
        ),
        (
            choice(ALL_AT_BEST, 1),
            (0,),
            missing_of(unknown=20),
            f"the judge gave c no value for 50% of the questions; with these at their worst the choice is a, {ALL_AT_BEST} b",
        ),
        (
            choice(OTHERS_AT_BEST, 1),
            (0,),
            missing_of(unknown=20, abstained=10, partly=PartlyMissing(*(np.full((40, 3), 0.2) for _ in range(4)))),
            f"the judge gave c no value for 70% of the answers; with these at their worst the choice is a, {OTHERS_AT_BEST} b",
        ),
    ],
)
def test_another_choice_is_explained_by_what_the_system_that_lacks_most_lacks(
    made: ScenarioChoice, chosen: tuple[int, ...], missing: MissingValues | None, text: str
) -> None:
    assert disagreement(made, chosen, missing, NAMES) == text


def test_the_share_of_a_scenario_is_that_of_the_system_that_lacks_most() -> None:
    missing = MissingValues(NONE, LACKING.abstained | flags("x..", "x..", "x..", "..."), NONE)
    assert scenario_text(WITHOUT_ABSTENTIONS, missing, NAMES, "h", "t").startswith("a abstained on 75% of the questions;")


@pytest.mark.parametrize(
    ("measure", "missing", "lacks"),
    [
        ("DCG@10", LACKING, True),
        ("DCG@10", None, False),
        ("DCG@10", MissingValues(NONE, NONE, NONE), False),
        ("DCG@10", MissingValues(NONE[:0], NONE[:0], NONE[:0]), False),
        ("nDCG@10", LACKING, False),
    ],
)
def test_only_a_measure_without_a_worst_or_best_value_cannot_lack_values(
    measure: str, missing: MissingValues | None, lacks: bool
) -> None:
    text = "b has no DCG@10 for 50% of the questions, and DCG@10 has no worst value"
    assert without_worst_value(parse_measure(measure), missing, NAMES) == (text if lacks else "")


def test_the_largest_risks_are_those_nearest_to_or_beyond_their_limits() -> None:
    none = np.zeros((2, 2), dtype=np.bool_)
    first = Risks(np.array([0.04, 0.02]), np.array([0.05, 0.05]), (1, 0), 3, none)
    second = Risks(np.array([0.03, 0.03]), np.array([0.03, 0.10]), (0, 1), 2, ~none)
    largest = largest_risks([first, second])
    assert (largest.risk.tolist(), largest.limit.tolist(), largest.rival) == ([0.03, 0.02], [0.03, 0.05], (0, 0))
    assert (largest.race, bool(largest.below.any())) == (3, False)
    assert largest_risks([second, first]).race == 2
