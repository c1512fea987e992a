"""Measures of claims in the report: counts, bounds, judges and their agreement with people, and the data of the page."""

from __future__ import annotations

from dataclasses import replace

from rankproof._analysis.answers.answer_input import answer_input_from_results
from rankproof._data.answers import Answer, Answers, References
from rankproof._data.claims import Calibration, Claim, ClaimVerdict, JudgeNoise, claims_of
from rankproof._report.claims import ClaimColumns
from rankproof._report.context import ReportContext
from rankproof._report.elements import Section
from rankproof._report.explorer import explorer_blocks
from rankproof._report.page import render_report
from rankproof._report.sections.answers import answers_section
from rankproof._results.experiment_result import ExperimentResult
from support.claim_results import JUDGE, claim_results
from support.explorer_pages import blocks_of


def section_of(results: ExperimentResult) -> Section:
    found = answers_section(ReportContext(results))
    assert found is not None
    return found


def test_the_section_has_the_decision_the_counts_and_the_bounds() -> None:
    found = section_of(claim_results(measures=["Faithfulness(judge='tiny')"]))
    assert found.sentences
    means = found.tables[0]
    assert means.title == "Answers by the judge tiny, not calibrated: n = 4 questions"
    assert [row[-1] for row in means.rows] == ["1 abstained", "1 failed"]
    assert means.sentences == ("short: Faithfulness is between 0.500 and 0.750, with 1 failed question at 0 or at 1.",)


def test_the_baseline_is_marked() -> None:
    assert "the judge overlap (baseline), not calibrated" in section_of(claim_results(measures=["Faithfulness"])).tables[0].title


def test_a_judge_that_was_compared_with_people_says_on_how_many_labels() -> None:
    results = claim_results(measures=["Faithfulness(judge='tiny')"])
    assert results.answers is not None
    known = replace(
        results.answers,
        calibrations=(Calibration(JUDGE, "answer-contexts", 9, 4, 0.75, (0.5, 0.9)),),
        noise=(JudgeNoise(JUDGE, "Faithfulness(judge='tiny')", 30, 3, 0.125, 0.25),),
    )
    found = section_of(replace(results, answers=known))
    assert "calibrated on 9 labels" in found.tables[0].title
    captions = [table.title for table in found.tables]
    assert f"Agreement of {JUDGE} with people" in captions
    assert "The same judge asked 3 times about 30 queries" in captions


def test_answers_without_any_reference_have_no_table_of_references() -> None:
    results = claim_results({"open": Answers({"q4": Answer("Bergen is wet.", (), ("c3",))})}, measures=["Faithfulness"])
    alone = replace(results, texts=type(results.texts)([results.texts["q4"]]), queries=("q4",))
    found = section_of(alone)
    assert len(found.tables) == 1
    assert "Bergen is wet." in str(blocks_of(render_report(alone)))


def test_a_claim_beyond_the_shown_text_has_its_own_text_and_places_count_utf_16_units() -> None:
    text = f"{'🙂' * 3} Yes. {'x' * 5000}. Late."
    late = text.index("Late.")
    claims = (
        ClaimVerdict("q1", "open", Claim("answer", 1, "Yes.", 4, 8), "contexts", "supported", JUDGE, ((1, 1),)),
        ClaimVerdict("q1", "open", Claim("answer", 2, "Late.", late, late + 5), "contexts", "not_stated", JUDGE),
    )
    results = claim_results({"open": Answers({"q1": Answer(text, (), ("c1",))})}, claims=claims)
    details = explorer_blocks(results)["details"]
    (check,) = details["systems"][0]["answers"][0]["checks"]
    first, second = check["rows"]
    assert (first[1], first[2]) == ([7, 11], None)
    assert second[1] is None
    texts = details["claims"]["texts"]
    assert (texts[second[2]], texts[first[5][0][2]]) == ("Late.", "Oslo is the capital of Norway.")


def test_evidence_of_a_text_that_is_not_known_has_no_sentence() -> None:
    results = claim_results(contexts={})
    columns = ClaimColumns(results, References({}))
    answers = results.system_runs[0].answers
    assert answers is not None
    rows = [row for check in columns.of_answer("open", "q4", answers["q4"]) for row in check["rows"]]
    assert rows[0][5] == [[1, 1, None]]


def test_a_measure_has_the_label_of_its_judge_and_its_unit() -> None:
    found = explorer_blocks(claim_results(measures=["Faithfulness(judge='tiny')", "EM"]))["data"]["measures"]
    assert [(one["judge"], one["unit"]) for one in found] == [(JUDGE, "sentence"), (None, "sentence")]


def test_notes_are_on_the_measures_that_are_asked_for() -> None:
    results = claim_results(measures=["Faithfulness(judge='tiny')", "ContextR(judge='tiny')"])
    every = answer_input_from_results(results).inputs.result
    shown = answer_input_from_results(results, ["ContextR(judge='tiny')"]).inputs.result
    assert any("Faithfulness" in note.text for system in every.systems for note in system.notes)
    assert not any("Faithfulness" in note.text for system in shown.systems for note in system.notes)
    assert [note.text for system in shown.systems for note in system.notes if "no value" in note.text] == [
        "1 query has no value of ContextR(judge='tiny'): the question has no answer"
    ] * 2


def test_the_page_says_why_a_sentence_has_nothing_to_check_and_which_lead_in_was_read() -> None:
    answer = Answer("Sure!\n\nThe towns are:\n- Oslo", (), ("c1",))
    claims = claims_of(answer.text, "answer")
    verdicts = tuple(
        ClaimVerdict("q1", "open", one, "contexts", "nothing_to_check" if one.remark else "supported", JUDGE) for one in claims
    )
    (check,) = ClaimColumns(claim_results(claims=verdicts), References({})).of_answer("open", "q1", answer)
    assert [row[6] for row in check["rows"]] == ["greeting", "lead-in", "read with its lead-in: The towns are:"]
