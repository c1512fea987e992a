"""People's values of the questions that they labelled: which questions count, which values they have, and why labels may not."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

from rankproof._analysis.answers.logged_answers import AnswerJudges, LoggedAnswers
from rankproof._analysis.compare.joined_values import JoinedValues, answer_values, common_values
from rankproof._analysis.compare.people_labels import (
    PeopleValues,
    labelled_claims,
    people_values,
    present_labels,
    values_by_labels,
    with_labels_file,
)
from rankproof._analysis.decision.scenarios import MissingValues
from rankproof._analysis.inputs import AnalysisInput
from rankproof._data.answers import Answer, Answers
from rankproof._data.claims import Claim, ClaimVerdict
from rankproof._data.dataset import Queries, Query
from rankproof._data.qrels import Qrels
from rankproof._evaluation.result import MeasureResult, Result, SystemResult
from rankproof._formats.claims import CLAIM_SAMPLE, ClaimLabel
from rankproof._results.experiment_result import SystemRun
from rankproof._results.label_tasks import ClaimTexts, LabelDraw, claims_to_label, draw_questions
from rankproof.errors import InputError, UsageError
from rankproof.measures import parse_measure
from rankproof.measures._base import Measure
from rankproof.measures._claim_base import ClaimMeasure
from support.analysis_inputs import input_of
from support.labelled_results import LABEL, write_draw
from support.small_results import small_results

QUESTIONS = ("q0", "q1", "q2", "q3", "q4")
DRAWN = draw_questions(QUESTIONS, ("a", "b"), "documents", 10).questions
Grades = Mapping[str, Mapping[str, int]]


def judged(measure: str = "Success@1", runs: Mapping[str, Sequence[str]] | None = None) -> tuple[AnalysisInput, JoinedValues]:
    """A judge finds the document of `a` relevant to every question, and that of `b` to none."""
    docs = runs or {"a": ["da"], "b": ["db"]}
    ranked = {name: {doc: float(-at) for at, doc in enumerate(docs)} for name, docs in docs.items()}
    inputs = input_of(
        {question: {"da": 1, "db": 0} for question in QUESTIONS},
        {name: dict.fromkeys(QUESTIONS, scores) for name, scores in ranked.items()},
        [measure],
    )
    rows = (row._replace(judge_label=LABEL) for row in inputs.qrels.rows())
    return replace(inputs, qrels=Qrels(rows)), common_values(inputs.result)


def graded(
    place: Path, grades: Grades, draw: LabelDraw | None, inputs: AnalysisInput, joined: JoinedValues, judge: str = "0"
) -> PeopleValues:
    """What people's grades in a file give; `judge` is the column that names a machine judge."""
    file = place / "people.qrels"
    file.write_text("".join(f"{query} {judge} {doc} {grade}\n" for query, docs in grades.items() for doc, grade in docs.items()))
    if draw is not None:
        write_draw(str(file), draw)
    people = people_values(replace(inputs, labels=(str(file),)), joined)
    assert people is not None
    assert people.file == str(file)
    return people


def draw_of(*systems: str, questions: Sequence[str] = QUESTIONS, depth: int | None = 10) -> LabelDraw:
    return draw_questions(questions, systems or ("a", "b"), "documents", depth)


def first_of_drawn(count: int, **docs: int) -> dict[str, dict[str, int]]:
    """Grades of the documents of so many questions, in the order of the draw."""
    return dict.fromkeys(DRAWN[:count], docs)


def test_grades_of_the_drawn_questions_give_people_s_values_in_the_order_of_the_draw(tmp_path: Path) -> None:
    grades = first_of_drawn(3, da=0, db=1)
    grades[DRAWN[1]] = {"da": 1, "db": 1}
    people = graded(tmp_path, grades, draw_of(), *judged())
    assert people.questions == DRAWN[:3]
    assert people.values is not None
    assert people.values.tolist() == [[0.0, 1.0], [1.0, 1.0], [0.0, 1.0]]
    assert (people.unusable, people.changed, people.means, people.claims, people.missing) == ("", 0, None, 0, None)


def test_no_labels_give_no_values(tmp_path: Path) -> None:
    inputs, joined = judged()
    (tmp_path / "empty.qrels").write_text("")
    assert people_values(inputs, joined) is None
    for name in ("empty.qrels", "absent.qrels"):
        assert people_values(replace(inputs, labels=(str(tmp_path / name),)), joined) is None


def test_grades_of_a_machine_in_a_file_of_labels_are_nobody_s(tmp_path: Path) -> None:
    people = graded(tmp_path, first_of_drawn(3, da=0, db=1), draw_of(), *judged(), judge=LABEL)
    assert (people.questions, people.agreement, people.changed) == ((), "", 0)


@pytest.mark.parametrize(
    ("draw", "measure", "unusable"),
    [
        (draw_of(), "nDCG@10", ""),
        (draw_of(), "nDCG", ""),
        (draw_of(depth=None), "nDCG@10", ""),
        (draw_of("a", "b", "c"), "nDCG@10", ""),
        (draw_of(questions=(*QUESTIONS, "q5")), "nDCG@10", ""),
        (draw_of(depth=9), "nDCG@10", "are of the top 9 documents, and nDCG@10 needs 10"),
        (draw_of(depth=1), "Success@1", ""),
        (draw_of("a"), "Success@1", "are of other systems: b is not among them"),
        (draw_of("x", "b"), "Success@1", "are of other systems: a is not among them"),
        (draw_of(questions=QUESTIONS[1:]), "Success@1", "are of other questions"),
        (replace(draw_of(), seed=5), "Success@1", "are not a random draw of questions"),
        (None, "Success@1", "are not a random draw of questions"),
    ],
)
def test_labels_correct_a_judge_if_they_are_of_a_random_draw_of_the_same_questions_systems_and_depth(
    tmp_path: Path, draw: LabelDraw | None, measure: str, unusable: str
) -> None:
    drawn = DRAWN if draw is None else draw.questions
    people = graded(tmp_path, {drawn[0]: {"da": 1, "db": 0}}, draw, *judged(measure))
    assert people.unusable == unusable
    usable_questions = tuple(question for question in drawn[:1] if question in QUESTIONS)
    assert (people.questions, people.changed) == (() if unusable else usable_questions, 0)


@pytest.mark.parametrize(
    ("docs", "depth", "complete"),
    [
        ({"a": ["da"], "b": ["db"]}, 10, 5),
        ({"a": ["da", "db"], "b": ["db", "new"]}, 1, 5),
        ({"a": ["da", "db"], "b": ["db", "new"]}, 2, 0),
        ({"a": ["da", *(f"d{at}" for at in range(9))], "b": ["db"]}, None, 0),
        ({"a": ["da", *(f"g{at}" for at in range(9)), "new"], "b": ["db"]}, None, 5),
        ({"a": ["da", *(f"g{at}" for at in range(8)), "new"], "b": ["db"]}, None, 0),
    ],
)
def test_a_question_is_labelled_if_the_documents_down_to_the_depth_of_the_draw_have_grades(
    tmp_path: Path, docs: dict[str, list[str]], depth: int | None, complete: int
) -> None:
    grades = first_of_drawn(5, da=1, db=0, **{f"g{at}": 0 for at in range(9)})
    people = graded(tmp_path, grades, draw_of(depth=depth), *judged("Success@1", docs))
    assert len(people.questions) == complete
    assert people.changed == (0 if complete else 4)


@pytest.mark.parametrize(
    ("begun", "without", "complete", "changed"),
    [(5, (), 5, 0), (3, (2,), 2, 0), (4, (1,), 1, 1), (4, (0, 2), 0, 2), (4, (0, 3), 0, 1), (0, (), 0, 0), (1, (0,), 0, 0)],
)
def test_an_incomplete_question_is_changed_unless_it_is_the_last_one_with_a_grade(
    tmp_path: Path, begun: int, without: tuple[int, ...], complete: int, changed: int
) -> None:
    grades = {question: {"da": 1} if at in without else {"da": 1, "db": 0} for at, question in enumerate(DRAWN[:begun])}
    grades["other"] = {"da": 1}
    people = graded(tmp_path, grades, draw_of(), *judged())
    assert (people.questions, people.changed) == (DRAWN[:complete], changed)


def test_a_system_of_the_draw_without_a_ranking_needs_no_grades(tmp_path: Path) -> None:
    assert graded(tmp_path, first_of_drawn(2, da=1, db=0), draw_of("a", "b", "late"), *judged()).questions == DRAWN[:2]


def test_questions_that_are_not_compared_have_no_values(tmp_path: Path) -> None:
    inputs, joined = judged()
    kept = replace(joined, queries=QUESTIONS[:4], values=joined.values[:, :4])
    people = graded(tmp_path, first_of_drawn(5, da=0, db=1), draw_of(), inputs, kept)
    assert people.questions == tuple(question for question in DRAWN if question != QUESTIONS[4])
    assert people.values is not None
    assert people.values.tolist() == [[0.0, 1.0]] * 4


@pytest.mark.parametrize(
    ("grades", "sentence"),
    [
        (first_of_drawn(2, da=1, db=0), "People and judge give 100% of 4 pairs the same grade, kappa of relevance 1.00."),
        (first_of_drawn(2, da=0, db=1), "People and judge give 0% of 4 pairs the same grade, kappa of relevance -1.00."),
        (first_of_drawn(1, da=1), "People and judge give 100% of 1 pair the same grade."),
        (first_of_drawn(1, da=2), "People and judge give 0% of 1 pair the same grade."),
        ({"other": {"da": 1}}, ""),
    ],
)
@pytest.mark.parametrize("draw", [draw_of(), None])
def test_the_agreement_of_people_and_judge_is_that_of_the_pairs_that_both_graded(
    tmp_path: Path, grades: Grades, sentence: str, draw: LabelDraw | None
) -> None:
    assert graded(tmp_path, grades, draw, *judged()).agreement == sentence


def result_of(measure: Measure, queries: Sequence[str], values: Mapping[str, Sequence[float | None]], reason: str = "") -> Result:
    """Values by system and question; a missing one has the reason."""
    systems = []
    for name, own in values.items():
        known = {query: value for query, value in zip(queries, own, strict=True) if value is not None}
        reasons = {query: reason for query, value in zip(queries, own, strict=True) if value is None}
        column = np.array([*known.values()], np.float64)
        result = MeasureResult(measure, float(column.mean()), tuple(known), column, reasons=reasons)
        systems.append(SystemResult(name, {str(measure): result}, ()))
    return Result(tuple(queries), tuple(systems))


def flags(*rows: str) -> np.ndarray:
    return np.array([[flag == "x" for flag in row] for row in rows])


@pytest.mark.parametrize(
    ("measure", "reason", "values", "abstained", "shares"),
    [
        # People gave no value of `a` to q2, which abstained, and to q1, where the judge failed; q3 of `b` has their value.
        ("Faithfulness", "abstained", [[1.0, 0.2], [0.3, 1.0], [0.6, 0.4]], ["x.", "..", ".."], [1 / 4 + 1 / 3, 0.0]),
        # People found nothing to check there, which is an abstention with the worst value.
        ("Faithfulness", "no_claim", [[0.0, 0.2], [0.0, 1.0], [0.6, 0.4]], ["x.", "x.", ".."], [2 / 4, 0.0]),
        ("Hallucination", "no_claim", [[1.0, 0.2], [1.0, 1.0], [0.6, 0.4]], ["x.", "x.", ".."], [2 / 4, 0.0]),
    ],
)
def test_a_value_that_people_lack_is_the_judge_s_unless_they_found_nothing_to_check(
    measure: str, reason: str, values: list[list[float]], abstained: list[str], shares: list[float]
) -> None:
    named, queries = parse_measure(f"{measure}(judge='mine')"), ("q0", "q1", "q2", "q3")
    by_judge = np.array([[[0.1, 0.2], [0.3, 0.4], [1.0, 0.6], [0.7, 0.8]]])
    missing = MissingValues(
        no_answer=flags("..", ".x", "..", ".."),
        abstained=flags("..", "..", "x.", ".x"),
        unknown=flags("..", "x.", "..", ".."),
    )
    joined = JoinedValues(queries, ("a", "b"), (named,), by_judge, (), missing=missing)
    people: dict[str, list[float | None]] = {"a": [None, None, 0.6], "b": [0.2, 1.0, 0.4]}
    found, lacking = values_by_labels(result_of(named, ("q2", "q1", "q3"), people, reason), joined, ("q2", "q1", "q3"))
    assert found.tolist() == values
    assert lacking is not None
    assert lacking.no_answer.tolist() == flags("..", "..", "..").tolist()
    assert lacking.abstained.tolist() == flags(*abstained).tolist()
    assert lacking.unknown.tolist() == flags("..", "x." if reason == "abstained" else "..", "..").tolist()
    assert lacking.shares is not None
    assert lacking.shares.tolist() == shares


def test_no_answer_stays_no_answer_if_the_user_leaves_out_what_a_system_lacks() -> None:
    measure = parse_measure("Faithfulness(judge='mine')")
    nothing = flags("..", "..")
    missing = MissingValues(flags("x.", ".x"), nothing, nothing, skips=True)
    joined = JoinedValues(("q0", "q1"), ("a", "b"), (measure,), np.full((1, 2, 2), 0.5), (), missing=missing)
    result = result_of(measure, ("q0", "q1"), {"a": [None, 1.0], "b": [1.0, None]}, "no_claim")
    values, lacking = values_by_labels(result, joined, ("q0", "q1"))
    assert values.tolist() == [[0.0, 1.0], [1.0, 0.0]]
    assert lacking is not None
    assert (lacking.no_answer.tolist(), bool(lacking.abstained.any())) == (flags("x.", ".x").tolist(), False)
    assert lacking.shares is not None
    assert (lacking.skips, lacking.shares.tolist()) == (True, [0.5, 0.5])


def test_values_without_missing_ones_have_none_by_labels() -> None:
    measure = parse_measure("Faithfulness(judge='mine')")
    joined = JoinedValues(("q0",), ("a",), (measure,), np.full((1, 1, 1), 0.5), ())
    assert values_by_labels(result_of(measure, ("q0",), {"a": [0.25]}), joined, ("q0",))[1] is None


FAITHFULNESS, F1 = "Faithfulness(judge='overlap')", "F1(tokens='bag')"
ANSWERS = {"plain": "Cats purr at night. Dogs bark.", "wordy": "Dogs bark."}
"""The answer of each system; the judge finds the first sentence supported, and the second one not."""
CONTEXTS = {"c1": "Cats purr at night."}
CLAIM_DRAW = draw_questions(QUESTIONS, tuple(ANSWERS), "claims")
Say = Callable[[ClaimVerdict], Sequence[ClaimLabel]]


def answered(*measures: str, answers: Mapping[str, str] = ANSWERS) -> AnalysisInput:
    """The same answers to five questions, by systems whose results are stored in the reverse order."""
    texts = Queries([Query(question, f"What of {question}?", fields={"answers": ["Cats purr."]}) for question in QUESTIONS])
    given = {name: Answers({question: Answer(text, given=("c1",)) for question in QUESTIONS}) for name, text in answers.items()}
    named = [parse_measure(measure) for measure in measures or (FAITHFULNESS,)]
    result = LoggedAnswers("log", texts, given, contexts=CONTEXTS).evaluated(named, AnswerJudges())
    runs = [replace(run, answers=given[run.name]) for run in small_results(tuple(answers), QUESTIONS).system_runs]
    return AnalysisInput("log", "", Qrels({}), {}, result, texts=texts, contexts=CONTEXTS, system_runs=tuple(runs[::-1]))


def answer_joined(inputs: AnalysisInput) -> JoinedValues:
    return answer_values(inputs.result, next(iter(inputs.result.systems[0].measures)), ())


def claim_line(claim: ClaimVerdict, label: ClaimLabel, person: str) -> dict[str, object]:
    place = {"query": claim.query, "system": claim.system, "side": claim.claim.side, "n": claim.claim.n}
    return {**place, "against": claim.against, "text": claim.claim.text, "label": label, "person": person}


def labelled(
    place: Path,
    inputs: AnalysisInput,
    say: Say,
    draw: LabelDraw | None = CLAIM_DRAW,
    *,
    now: AnalysisInput | None = None,
    joined: JoinedValues | None = None,
) -> PeopleValues:
    """What labels of claims give; `say` has the label of each person for a claim. Without a draw, single claims were drawn.

    `now` is the input when the labels are used, if texts have changed since.
    """
    file = place / "people.jsonl"
    claims = list(claims_to_label(inputs.result.claims))
    lines = [
        claim_line(claim, label, person)
        for claim in claims
        for label, person in zip(say(claim), ("ann", "bob", "eve"), strict=False)
    ]
    file.write_text("".join(json.dumps(line) + "\n" for line in (*([] if draw else [CLAIM_SAMPLE]), *lines)))
    if draw is not None:
        assert inputs.texts is not None
        texts = ClaimTexts(inputs.texts, inputs.answers, inputs.contexts)
        write_draw(str(file), draw, [item.id for claim in claims if (item := texts.item(claim)) is not None])
    inputs = now or inputs
    people = people_values(replace(inputs, labels=(str(file),)), joined or answer_joined(inputs))
    assert people is not None
    return people


def is_first(claim: ClaimVerdict) -> bool:
    return claim.claim.n == 1


def first_only(claim: ClaimVerdict) -> Sequence[ClaimLabel]:
    return ["supported" if is_first(claim) else "not_stated"]


def of_questions(count: int, say: Say) -> Say:
    """The labels of so many drawn questions."""
    return lambda claim: say(claim) if claim.query in CLAIM_DRAW.questions[:count] else []


@pytest.mark.parametrize(
    ("say", "values"),
    [
        (first_only, [0.5, 1.0]),
        (lambda claim: ["not_stated"], [0.0, 0.0]),
        (lambda claim: ["contradicted" if is_first(claim) else "supported"], [0.5, 0.0]),
        (lambda claim: ["supported", "not_stated"] if is_first(claim) else ["supported"], [0.75, 0.5]),
        (lambda claim: ["supported", "not_stated", "not_stated"], [1 / 3, 1 / 3]),
        (lambda claim: ["supported", "supported", "not_stated"], [2 / 3, 2 / 3]),
        (lambda claim: ["supported" if is_first(claim) else "nothing_to_check"], [1.0, 1.0]),
        (lambda claim: ["supported", "nothing_to_check"] if is_first(claim) else ["not_stated"], [0.5, 1.0]),
    ],
)
def test_labels_of_all_claims_give_the_share_that_people_call_supported(tmp_path: Path, say: Say, values: list[float]) -> None:
    people = labelled(tmp_path, answered(), of_questions(3, say))
    assert people.questions == CLAIM_DRAW.questions[:3]
    assert people.values is not None
    assert people.values == pytest.approx(np.array([values] * 3))
    assert (people.unusable, people.agreement, people.changed, people.means, people.claims) == ("", "", 0, None, 0)
    assert people.missing is not None
    assert not people.missing.every.any()


def test_an_answer_in_which_people_find_nothing_to_check_has_the_worst_value_and_abstains(tmp_path: Path) -> None:
    people = labelled(tmp_path, answered(), lambda claim: ["nothing_to_check" if claim.system == "wordy" else "supported"])
    assert people.values is not None
    assert people.values.tolist() == [[1.0, 0.0]] * 5
    assert people.missing is not None
    assert people.missing.abstained.tolist() == [[False, True]] * 5


def test_questions_count_up_to_the_first_one_with_a_claim_without_a_label(tmp_path: Path) -> None:
    third, late = CLAIM_DRAW.questions[2], CLAIM_DRAW.questions[3]
    people = labelled(
        tmp_path,
        answered(),
        lambda claim: [] if (claim.query, claim.system, claim.claim.n) == (third, "plain", 2) else first_only(claim),
    )
    assert (people.questions, people.changed) == (CLAIM_DRAW.questions[:2], 0)
    people = labelled(tmp_path, answered(), lambda claim: first_only(claim) if claim.query == late else [])
    assert asdict(people) == asdict(PeopleValues(people.file))


def with_answers(inputs: AnalysisInput, system: str, questions: Collection[str], text: str) -> AnalysisInput:
    """The input in which a system gives another answer to some questions."""

    def changed(run: SystemRun) -> SystemRun:
        assert run.answers is not None
        other = {query: replace(answer, text=text) if query in questions else answer for query, answer in run.answers.items()}
        return replace(run, answers=Answers(other)) if run.name == system else run

    return replace(inputs, system_runs=tuple(map(changed, inputs.system_runs)))


def test_labels_of_another_answer_than_the_present_one_do_not_count(tmp_path: Path) -> None:
    inputs = answered()
    now = with_answers(inputs, "wordy", (CLAIM_DRAW.questions[1], CLAIM_DRAW.questions[3]), "Well: Dogs bark.")
    people = labelled(tmp_path, inputs, first_only, now=now)
    assert (people.questions, people.changed) == (CLAIM_DRAW.questions[:1], 2)
    now = with_answers(inputs, "wordy", QUESTIONS, "Well: Dogs bark.")
    people = labelled(tmp_path, inputs, first_only, now=now)
    assert asdict(people) == asdict(PeopleValues(people.file, changed=5))


def test_a_changed_answer_of_a_system_that_is_not_compared_does_not_matter(tmp_path: Path) -> None:
    inputs = answered(answers={**ANSWERS, "other": "Birds sing."})
    joined = answer_joined(replace(inputs, result=replace(inputs.result, systems=inputs.result.systems[:2])))
    now = with_answers(inputs, "other", QUESTIONS, "Birds sing!")
    draw = draw_questions(QUESTIONS, ("plain", "wordy", "other"), "claims")
    people = labelled(
        tmp_path,
        inputs,
        lambda claim: [] if (claim.query, claim.system) == (draw.questions[4], "plain") else first_only(claim),
        draw,
        now=now,
        joined=joined,
    )
    assert (people.questions, people.changed) == (draw.questions[:4], 0)
    assert people.values is not None
    assert people.values.tolist() == [[0.5, 1.0]] * 4


def test_labels_of_claims_need_a_measure_of_claims_a_draw_of_these_systems_and_the_answers(tmp_path: Path) -> None:
    inputs, need = answered(), "need the answers: pass the results folder"
    runs = inputs.system_runs
    assert labelled(tmp_path, answered(F1, FAITHFULNESS), first_only).unusable == f"are of claims, which {F1} does not count"
    other = draw_questions(QUESTIONS, ("plain",), "claims")
    assert labelled(tmp_path, inputs, first_only, other).unusable == "are of other systems: wordy is not among them"
    for now in (replace(inputs, system_runs=()), replace(inputs, system_runs=runs[:1]), replace(inputs, texts=None)):
        assert labelled(tmp_path, inputs, first_only, now=now).unusable == need
    silent = tuple(replace(run, answers=None) if run.name == "plain" else run for run in runs)
    assert labelled(tmp_path, inputs, first_only, now=replace(inputs, system_runs=silent)).unusable == need


@pytest.mark.parametrize(
    ("measure", "unusable"),
    [
        ("AnswerRelevance(judge='overlap')", "do not give AnswerRelevance(judge='overlap')"),
        ("ContextP(judge='overlap')", "have no evidence, which ContextP(judge='overlap') needs"),
    ],
)
def test_labels_say_nothing_of_relevance_and_name_no_evidence(tmp_path: Path, measure: str, unusable: str) -> None:
    assert labelled(tmp_path, answered(measure, FAITHFULNESS), lambda claim: ["supported"]).unusable == unusable


def test_single_claims_give_the_values_of_people_once_all_are_labelled(tmp_path: Path) -> None:
    people = labelled(tmp_path, answered(), lambda claim: ["supported", "not_stated"] if is_first(claim) else ["supported"], None)
    assert (people.unusable, people.questions, people.claims) == ("", QUESTIONS, 15)
    assert people.values is not None
    assert people.means is not None
    assert people.values == pytest.approx(np.array([[0.75, 0.5]] * 5))
    assert people.means.means == pytest.approx([0.75, 0.5])


def test_a_single_claim_without_a_label_or_with_nothing_to_check_is_not_counted(tmp_path: Path) -> None:
    asked: dict[str, list[ClaimLabel]] = {
        "q0": ["supported"],
        "q2": ["nothing_to_check"],
        "q3": ["supported", "nothing_to_check"],
    }
    people = labelled(tmp_path, answered(), lambda claim: asked.get(claim.query, []), None)
    assert (people.questions, people.claims) == (("q0", "q3"), 6)


def test_single_claims_do_not_correct_other_values_than_shares_of_their_claims(tmp_path: Path) -> None:
    inputs, single = answered(), "are of single claims, which do not give"
    joined = answer_joined(inputs)
    strict = "Hallucination(judge='overlap')"
    assert labelled(tmp_path, answered(strict), first_only, None).unusable == f"{single} {strict}"
    near, far = (replace(joined, values=joined.values + shift) for shift in (1e-10, 1e-3))
    assert labelled(tmp_path, inputs, first_only, None, joined=near).unusable == ""
    assert labelled(tmp_path, inputs, first_only, None, joined=far).unusable == f"{single} {FAITHFULNESS}"
    weighted = replace(joined, weights=np.arange(1.0, 6.0))
    unusable = labelled(tmp_path, inputs, first_only, None, joined=weighted).unusable
    assert unusable == f"{single} means of weighted questions"


def test_single_claims_must_be_of_each_system_that_is_compared(tmp_path: Path) -> None:
    people = labelled(tmp_path, answered(), lambda claim: first_only(claim) if claim.system == "plain" else [], None)
    assert asdict(people) == asdict(
        PeopleValues(people.file, unusable="are of other systems: one of those compared has no labelled claim")
    )


def test_single_claims_of_a_measure_that_another_judge_gave_as_well_are_counted_once(tmp_path: Path) -> None:
    inputs = answered()
    others = (replace(claim, judge="llm:tiny:0123abcd", verdict="contradicted") for claim in inputs.result.claims)
    relevance = answered("AnswerRelevance(judge='overlap')").result.claims
    more = replace(inputs, result=replace(inputs.result, claims=(*inputs.result.claims, *others, *relevance)))
    assert labelled(tmp_path, more, first_only, None).claims == 15


def test_labels_that_are_neither_a_draw_of_questions_nor_of_claims_are_no_random_draw(tmp_path: Path) -> None:
    inputs, file = answered(), tmp_path / "people.jsonl"
    lines = (claim_line(claim, "supported", "ann") for claim in inputs.result.claims)
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    people = people_values(replace(inputs, labels=(str(file),)), answer_joined(inputs))
    assert people is not None
    assert asdict(people) == asdict(PeopleValues(str(file), unusable="are not a random draw of questions"))


def test_a_file_of_labels_must_exist_and_be_of_the_kind_that_the_measure_needs(tmp_path: Path) -> None:
    claims, grades = tmp_path / "people.jsonl", tmp_path / "people.qrels"
    for path in (claims, grades):
        path.write_text("")
    inputs, faithfulness, ndcg = answered(), parse_measure("Faithfulness"), parse_measure("nDCG@10")
    assert with_labels_file(inputs, faithfulness, str(claims)).labels == (str(claims),)
    assert with_labels_file(inputs, ndcg, str(grades)).labels == (str(grades),)
    with pytest.raises(UsageError, match=r"people\.jsonl has labels of claims; pass labels of documents, which nDCG@10 needs"):
        with_labels_file(inputs, ndcg, str(claims))
    with pytest.raises(UsageError, match=r"people\.qrels has labels of documents; pass labels of claims, which Faithfulness"):
        with_labels_file(inputs, faithfulness, str(grades))
    write_draw(str(claims), draw_of())
    assert with_labels_file(inputs, ndcg, str(claims)).labels == (str(claims),)
    with pytest.raises(InputError, match="not found"):
        with_labels_file(inputs, ndcg, str(tmp_path / "absent.qrels"))


def test_only_labels_of_present_texts_are_present_and_their_questions_are_counted(tmp_path: Path) -> None:
    inputs = answered()
    file = labelled(tmp_path, inputs, first_only).file
    every, notes = present_labels(inputs, file)
    assert (len(every.labels), notes) == (15, [])
    changed = with_answers(inputs, "wordy", ("q1", "q3"), "Well: Dogs bark.")
    kept, notes = present_labels(changed, file)
    assert {label.key[:2] for label in every.labels} - {label.key[:2] for label in kept.labels} == {
        ("q1", "wordy"),
        ("q3", "wordy"),
    }
    assert notes == ["the labels of 2 questions are of other answers or contexts and do not count"]
    alone = replace(changed, result=replace(changed.result, claims=tuple(c for c in inputs.result.claims if c.system == "plain")))
    assert present_labels(alone, file) == (every, [])
    log = Path(f"{file}.log.jsonl")
    log.write_text(log.read_text().splitlines(keepends=True)[0])
    assert present_labels(changed, file) == (every, [])


def checked(n: int, *, judge: str = LABEL, system: str = "a", shown: tuple[int, ...] | None = None) -> ClaimVerdict:
    return ClaimVerdict("q0", system, Claim("answer", n, f"claim {n}", 0, 7), "contexts", "supported", judge, shown=shown)


def test_people_label_the_claims_that_the_measure_counts_each_with_the_most_contexts() -> None:
    measure = parse_measure("Faithfulness(judge='tiny')")
    assert isinstance(measure, ClaimMeasure)
    wide, narrow = checked(1, shown=(1, 2)), checked(1, shown=(1,))
    heading = replace(checked(3), claim=replace(checked(3).claim, remark="heading"))
    written = replace(checked(4), claim=Claim("answer", 4, "claim 4"))
    of_reference, of_question = replace(checked(5), against="reference"), replace(checked(5), against="question")
    claims = (narrow, wide, narrow, checked(2), checked(2, judge="overlap:0.5:0123abcd"), checked(2, system="c"))
    inputs = answered()
    inputs = replace(
        inputs,
        result=replace(inputs.result, claims=(*claims, heading, written, of_reference, of_question, checked(6, system="b"))),
    )
    assert labelled_claims(inputs, measure, ("a", "b")) == [wide, checked(2), checked(6, system="b")]
