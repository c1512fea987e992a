"""Missing values of answers: they count as the worst value, and where that is not certain each scenario must agree."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from rankproof._analysis.compare.comparison import Comparison, compare_inputs
from rankproof._analysis.compare.joined_values import answer_values
from rankproof._analysis.compare.people_labels import values_by_labels
from rankproof._analysis.decision.record import Decision, MissingCount
from rankproof._analysis.decision.scenarios import (
    WITHOUT_UNJUDGED,
    MissingValues,
    ScenarioChoice,
    disagreement,
    without_worst_value,
)
from rankproof._analysis.inputs import AnalysisInput
from rankproof._data.answers import Answer, Answers
from rankproof._data.dataset import Queries, Query
from rankproof._data.qrels import Qrels
from rankproof._evaluation.answers import evaluate_answers
from rankproof._evaluation.result import MeasureResult, Result, SystemResult
from rankproof._statistics.decision_rule import Risks, pair_estimates, risks
from rankproof.measures import parse_measure

N = 120
RIGHT_ON_100 = {at: float(at < 100) for at in range(N)}
SILENT_ON_60 = dict.fromkeys(range(60), 1.0)
FAITHFULNESS = "Faithfulness(judge='overlap')"
HALLUCINATION = "Hallucination(judge='overlap')"


def query(at: int) -> str:
    return f"q{at:03}"


def system(name: str, values: Mapping[int, float], reason: str, measure: str = FAITHFULNESS, n: int = N) -> SystemResult:
    """A system with these values; the other questions have none, for one reason."""
    kind, numbers = parse_measure(measure), np.array(list(values.values()))
    reasons = {query(at): reason for at in range(n) if at not in values}
    found = MeasureResult(kind, float(numbers.sum()) / max(len(numbers), 1), tuple(map(query, values)), numbers, reasons=reasons)
    return SystemResult(name, {measure: found}, ())


def compared(*systems: SystemResult, texts: Queries | None = None) -> Comparison:
    result = Result(tuple(map(query, range(N))), systems)
    return compare_inputs(AnalysisInput("log", "", Qrels({}), {}, result, texts=texts), labels_by="people")


def silent(reason: str) -> Comparison:
    return compared(system("a", RIGHT_ON_100, "missing"), system("b", SILENT_ON_60, reason))


@pytest.mark.parametrize("reason", ["missing", "error"])
def test_a_question_without_an_answer_counts_as_zero(reason: str) -> None:
    found = silent(reason)
    assert (found.decision.outcome, found.decision.systems, found.n) == ("ship", ("a",), 120)
    assert found.values == {"a": {FAITHFULNESS: 100 / 120}, "b": {FAITHFULNESS: 0.5}}
    assert found.decision.of("b").value == 0.5
    assert "b did not answer 60 of 120 questions; they count as 0." in found.decision.sentences


def test_abstentions_decide_only_if_the_choice_is_the_same_without_them() -> None:
    found = silent("abstained").decision
    assert (found.outcome, found.reason) == ("not_decided", "missing")
    assert found.detail == "b abstained on 50% of the questions; with abstentions as wrong the choice is a, without them open"
    assert [(scenario.name, scenario.systems) for scenario in found.scenarios] == [("without abstentions", ())]
    assert found.risk == found.scenarios[0].risk
    assert (found.risk or 0) > 0.05


def test_a_failed_judge_decides_only_if_the_choice_is_the_same_with_the_best_values() -> None:
    found = silent("failed").decision
    words = "with these at their worst the choice is a, with those of the other systems at their best b"
    assert found.detail == f"the judge gave b no value for 50% of the questions; {words}"
    assert [scenario.systems for scenario in found.scenarios] == [("b",), ("b",)]


def test_the_choice_stands_if_each_scenario_makes_it() -> None:
    found = compared(
        system("a", dict.fromkeys(range(N), 1.0), ""), system("b", dict.fromkeys(range(110), 0.0), "failed")
    ).decision
    assert (found.outcome, found.systems) == ("ship", ("a",))
    assert found.risk == max(scenario.risk or 0 for scenario in found.scenarios)


def test_one_percent_of_abstentions_makes_no_scenario() -> None:
    few = {at: 1.0 for at in range(N) if at}
    found = compared(system("a", RIGHT_ON_100, ""), system("b", few, "abstained")).decision
    assert (found.systems, found.scenarios, found.of("b").value) == (("b",), (), 119 / 120)


def test_a_missing_value_is_one_where_lower_is_better() -> None:
    found = compared(
        system("a", {at: float(at >= 100) for at in range(N)}, "", HALLUCINATION),
        system("b", dict.fromkeys(range(60), 0.0), "missing", HALLUCINATION),
    ).decision
    assert (found.systems, found.of("b").value) == (("a",), 0.5)
    assert "b did not answer 60 of 120 questions; they count as 1." in found.sentences


def test_an_abstention_is_right_where_there_is_no_answer() -> None:
    texts = Queries([Query(query(at), f"who is {at}?", fields={"answerable": at < 60}) for at in range(N)])
    found = compared(system("a", RIGHT_ON_100, ""), system("b", SILENT_ON_60, "abstained"), texts=texts).decision
    assert (found.systems, found.of("b").value, found.missing) == (("b",), 1.0, ())


def test_a_question_with_nothing_to_measure_for_any_system_is_left_out() -> None:
    few = dict.fromkeys(range(100), 1.0)
    found = compared(system("a", few, "no_nugget"), system("b", few, "no_claim"))
    assert (found.n, found.decision.missing) == (100, ())


def test_a_question_that_a_system_was_not_asked_is_left_out() -> None:
    found = compared(system("a", RIGHT_ON_100, ""), system("b", SILENT_ON_60, "missing", n=100))
    assert found.n == 100


def test_missing_and_failed_answers_are_reasons_of_an_evaluation() -> None:
    given = {"a": {"q1": Answer("Paris"), "q2": Answer("", state="failed")}}
    (found,) = evaluate_answers(given, {"q1": "Paris", "q2": "Rome", "q3": "Oslo"}, measures="EM").systems
    exact = found.measures["EM"]
    assert (exact.reasons, exact.counts) == ({"q2": "error", "q3": "missing"}, {})
    assert exact.per_query == {"q1": 1.0, "q3": 0.0}


def test_the_details_have_the_sources_of_doubt() -> None:
    (table,) = [table for table in silent("failed").tables if table.name == "doubt"]
    queries, others, everyone = table.rows
    assert queries[:3] == ("queries", 1.0, 6 / 126)
    assert [row[3] for row in (others, everyone)] == ["b", "b"]
    assert table.sentences == ("One hour of work is 6 further queries, at 10 minutes each.",)


def test_queries_alone_need_no_table_of_doubt() -> None:
    assert not [table for table in silent("missing").tables if table.name == "doubt"]


def values_of_people(judge_reason: str, people: Mapping[int, float], reason: str) -> MissingValues:
    """What people lack of b's first 40 questions, where the judge gave b no value from question 3 on."""
    judged = answer_values(
        Result((), (system("a", RIGHT_ON_100, ""), system("b", dict.fromkeys(range(3), 1.0), judge_reason))), FAITHFULNESS, ()
    )
    own = (system("a", {at: RIGHT_ON_100[at] for at in range(40)}, "", n=40), system("b", people, reason, n=40))
    _, missing = values_by_labels(Result((), own), judged, [query(at) for at in range(40)])
    assert missing is not None
    return missing


def test_a_value_that_people_gave_is_not_missing_where_the_judge_failed() -> None:
    missing = values_of_people("failed", dict.fromkeys(range(40), 0.0), "")
    assert missing.counts(("a", "b")) == ()
    assert not missing.needs_scenarios()


def test_an_answer_in_which_people_found_nothing_to_check_counts_as_an_abstention() -> None:
    missing = values_of_people("failed", dict.fromkeys(range(30), 0.0), "no_claim")
    assert missing.counts(("a", "b")) == (MissingCount("b", 0, 10, 0),)


def test_a_few_abstentions_of_all_questions_make_no_scenario_of_a_small_sample() -> None:
    one = {at: 1.0 for at in range(N) if at != 5}
    judged = answer_values(Result((), (system("a", RIGHT_ON_100, ""), system("b", one, "abstained"))), FAITHFULNESS, ())
    own = (system("a", RIGHT_ON_100, "", n=30), system("b", {at: 1.0 for at in range(30) if at != 5}, "abstained", n=30))
    _, missing = values_by_labels(Result((), own), judged, [query(at) for at in range(30)])
    assert missing is not None
    assert missing.counts(("a", "b")) == (MissingCount("b", 0, 1, 0),)
    assert not missing.needs_scenarios()


def test_thirty_questions_decide_if_one_is_an_abstention() -> None:
    few = {at: 0.0 for at in range(30) if at}
    found = compared(system("a", dict.fromkeys(range(30), 1.0), "", n=30), system("b", few, "abstained", n=30)).decision
    assert [scenario.systems for scenario in found.scenarios] == [("a",)]
    assert (found.outcome, found.systems) == ("ship", ("a",))


def test_a_choice_without_unjudged_documents_is_named_as_such_even_if_values_are_missing() -> None:
    values = np.column_stack([np.linspace(0, 1, 40), np.linspace(0.5, 1, 40)])
    none = np.zeros((40, 2), dtype=bool)
    choice = ScenarioChoice(WITHOUT_UNJUDGED, "unjudged", risks(pair_estimates(values), 0.02), (1,))
    sentence = disagreement(choice, (0,), MissingValues(none, ~none, none), ("bm25", "dense"))
    assert sentence == "without unjudged documents the choice is dense, not bm25"


def asked_three_times(name: str, texts: tuple[str, ...], n: int = 60) -> dict[str, Answers]:
    """A system that gives these three answers to each question; an empty one abstains."""
    first, *further = (Answer(text, given=("d1",)) for text in texts)
    return {name: Answers({query(at): first for at in range(n)}, repeats={query(at): further for at in range(n)})}


def compared_repeats(answers: dict[str, Answers]) -> Decision:
    result = evaluate_answers(
        answers, {}, measures=FAITHFULNESS, questions={query(at): "Who wrote it?" for at in range(60)}, passage=lambda _: "Anna."
    )
    return compare_inputs(AnalysisInput("log", "", Qrels({}), {}, result), labels_by="people").decision


TRUE, FALSE, SILENT = "Anna.", "Penguins swim.", ""


def test_abstaining_repeats_decide_only_if_the_choice_is_the_same_without_them() -> None:
    answers = {**asked_three_times("brave", (TRUE, TRUE, FALSE)), **asked_three_times("coward", (TRUE, SILENT, SILENT))}
    decision = compared_repeats(answers)
    assert {system.name: round(system.value, 3) for system in decision.by_system} == {"brave": 0.667, "coward": 0.333}
    assert (decision.outcome, decision.reason) == ("not_decided", "missing")
    assert decision.detail == (
        "coward abstained on 67% of the answers; with abstentions as wrong the choice is brave, without them coward"
    )


def test_repeats_that_abstain_decide_if_each_scenario_makes_the_same_choice() -> None:
    answers = {**asked_three_times("good", (TRUE, TRUE, TRUE)), **asked_three_times("poor", (FALSE, FALSE, SILENT))}
    decision = compared_repeats(answers)
    assert (decision.outcome, decision.systems) == ("ship", ("good",))
    assert [(scenario.name, scenario.systems) for scenario in decision.scenarios] == [("without abstentions", ("good",))]


def repeated(name: str, values: list[float], *reasons: str) -> SystemResult:
    """A system with repeated answers to each of 60 questions: these values, and as many without a value as reasons."""
    each, measure = np.array(values), parse_measure(FAITHFULNESS)
    queries = tuple(map(query, range(60)))
    found = MeasureResult(
        measure,
        float(each.mean()),
        queries,
        np.full(60, each.mean()),
        repeats=dict.fromkeys(queries, each),
        repeat_reasons=dict.fromkeys(queries, reasons) if reasons else {},
    )
    return SystemResult(name, {FAITHFULNESS: found}, ())


def test_repeats_that_the_judge_gave_no_value_count_as_worst_and_decide_only_if_their_best_value_does_not_matter() -> None:
    decision = compared(repeated("a", [1.0, 1.0, 0.5]), repeated("b", [1.0, 1.0], "failed")).decision
    assert {system.name: round(system.value, 3) for system in decision.by_system} == {"a": 0.833, "b": 0.667}
    assert (decision.outcome, decision.reason) == ("not_decided", "missing")
    assert "the judge gave b no value for 33% of the answers" in decision.detail
    names = [scenario.name for scenario in decision.scenarios]
    assert names == ["with those of the other systems at their best", "with all at their best"]
    assert compared(repeated("a", [1.0, 1.0]), repeated("b", [0.1], "failed")).decision.systems == ("a",)


def test_repeats_that_abstain_where_there_is_no_answer_are_right() -> None:
    texts = Queries(Query(query(at), "Who?", fields={"answerable": False}) for at in range(60))
    decision = compared(repeated("a", [0.5, 0.5]), repeated("b", [0.5], "abstained"), texts=texts).decision
    assert decision.of("b").value == 0.75
    assert decision.scenarios == ()


def test_a_choice_must_be_made_again_without_missing_values_and_stay_good_enough_without_unjudged_documents() -> None:
    both_good = Risks(np.array([0.01, 0.02]), np.array([0.05, 0.05]), (1, 0), 2, np.zeros((2, 2), dtype=np.bool_))
    missing = ScenarioChoice("without them", "missing", both_good, (0,))
    unjudged = ScenarioChoice("without them", "unjudged", both_good, (0,))
    assert [missing.keeps(chosen) for chosen in ([0], [1], [0, 1])] == [True, False, False]
    assert [unjudged.keeps(chosen) for chosen in ([0], [1], [0, 1])] == [True, True, True]


@pytest.mark.parametrize("kind", range(3))
def test_a_measure_without_a_worst_value_cannot_lack_more_than_one_percent_of_the_questions(kind: int) -> None:
    absent = np.zeros((3, 200, 2), dtype=np.bool_)
    absent[kind, :3, 1] = True
    missing = MissingValues(absent[0], absent[1], absent[2])
    lacking = "b has no DCG@10 for 1.5% of the questions, and DCG@10 has no worst value"
    assert without_worst_value(parse_measure("DCG@10"), missing, ("a", "b")) == lacking
    assert without_worst_value(parse_measure("AP"), missing, ("a", "b")) == ""
    absent[kind, 2] = False
    assert without_worst_value(parse_measure("DCG@10"), missing, ("a", "b")) == ""
