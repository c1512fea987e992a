"""Repeated answers and runs: the value of a question is the mean over its repeats, and n counts questions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankproof as rp
from rankproof._analysis.compare.joined_values import common_values, with_first_answers
from rankproof._analysis.decision.repeats import repeated_answers
from rankproof._cli.main import main
from rankproof._evaluation.answers import evaluate_answers
from rankproof.measures import parse_measure
from rankproof.measures._base import worst_value


def answers_of(*questions: str) -> rp.Answers:
    """The answers to each question: "110" is right, right and wrong."""
    each = {f"q{at}": [rp.types.Answer(digit) for digit in digits] for at, digits in enumerate(questions)}
    first = {query: answers[0] for query, answers in each.items()}
    return rp.Answers(first, repeats={query: answers[1:] for query, answers in each.items()})


def evaluated(**systems: rp.Answers) -> rp.Result:
    queries = dict.fromkeys(next(iter(systems.values())), "1")
    return rp.evaluate_answers(dict(systems), queries, measures="EM")


def test_the_value_of_a_question_is_the_mean_over_its_answers_and_every_question_counts_the_same() -> None:
    result = evaluated(a=answers_of("11", "000000"))
    assert result.value("EM", "a") == 0.5
    one = result.systems[0].measures["EM"]
    assert one.queries == 2
    assert [values.tolist() for values in one.repeats.values()] == [[1, 1], [0] * 6]


def test_the_variance_of_a_difference_is_split_into_questions_and_repeats() -> None:
    result = evaluated(a=answers_of("110", "111", "010"), b=answers_of("000", "101", "000"))
    found = rp.compare(result).decision.repeats
    assert found is not None
    apart = np.subtract(*(system.measures["EM"].values for system in result.systems))
    assert apart == pytest.approx([2 / 3, 1 / 3, 1 / 3])
    assert apart.var(ddof=1) / 3 == pytest.approx(0.0123, abs=5e-5)
    assert (found.within, found.between) == pytest.approx((0.3333, -0.0741), abs=5e-5)
    assert (found.question_share, found.repeat_share) == (0, 1)


@pytest.mark.parametrize(
    ("between", "within", "question_cost", "repeats"),
    [(0.04, 0.25, 2, 4), (0.01, 0.09, 10, 9), (0.09, 0.01, 2, 1), (0, 1, 1, None)],
)
def test_the_best_number_of_repeats_for_a_cost(between: float, within: float, question_cost: float, repeats: int | None) -> None:
    found = rp.types.RepeatedAnswers((), between=between, within=within)
    assert found.best_repeats(question_cost) == repeats


def test_the_sentences_say_how_many_answers_there_are_and_how_to_spend_them() -> None:
    """Questions differ much and answers little, so that one answer to each of more questions is better."""
    result = evaluated(
        a=answers_of(*["111"] * 30, *["000"] * 5, *["110"] * 5), b=answers_of(*["000"] * 20, *["111"] * 15, *["010"] * 5)
    )
    decision = rp.compare(result).decision
    assert decision.n == 40
    found = next(sentence for sentence in decision.sentences if "answers per system" in sentence)
    assert found.startswith("120 answers per system to 40 questions (3 each): n = 40. Of the variance of the difference ")
    assert decision.sentences[-1].startswith("With 120 answers per system, 40 questions x 3 (standard error 0.")
    assert " or 120 x 1 (0." in decision.sentences[-1]


def test_answers_that_never_differ_have_no_shares() -> None:
    decision = rp.compare(evaluated(a=answers_of("11", "11"), b=answers_of("11", "11"))).decision
    assert decision.repeats is not None
    assert decision.repeats.question_share is None
    assert decision.sentences[-1] == "4 answers per system to 2 questions: n = 2."


def test_pass_at_k_and_pass_all_k_of_a_measure_that_is_0_or_1() -> None:
    result = evaluated(a=answers_of("110", "111", "000"), b=answers_of("100", "100", "100"))
    found = rp.compare(result).decision.repeats
    assert found is not None
    first, second = found.by_system
    assert (first.pass_at[2], first.pass_all[2]) == pytest.approx((2 / 3, (1 / 3 + 1) / 3))
    assert (first.pass_at[3], first.pass_all[3]) == pytest.approx((2 / 3, 1 / 3))
    assert (second.pass_at[2], second.pass_all[2]) == pytest.approx((2 / 3, 0))


def test_a_measure_between_0_and_1_has_no_pass_at_k() -> None:
    references = {f"q{at}": "one two" for at in range(3)}
    repeats = {query: [rp.types.Answer("one")] for query in references}
    answers = rp.Answers({query: rp.types.Answer("one two") for query in references}, repeats=repeats)
    found = rp.compare(rp.evaluate_answers({"a": answers, "b": answers}, references, measures="F1")).decision.repeats
    assert found is not None
    assert found.by_system[0].pass_at == {}
    assert found.by_system[0].answers == 6


def test_a_failed_repeat_counts_as_the_worst_value() -> None:
    failed = rp.types.Answer("", state="failed")
    answers = rp.Answers({"q0": rp.types.Answer("1")}, repeats={"q0": [failed]})
    assert rp.evaluate_answers({"a": answers}, {"q0": "1"}, measures="EM").value("EM", "a") == 0.5


@pytest.mark.parametrize(("reference", "value"), [("Anna", 1 / 3), ("", 1.0)])
def test_an_abstaining_repeat_counts_as_the_worst_value_unless_there_is_no_answer(reference: str, value: float) -> None:
    silent, claim = (rp.types.Answer(text, given=("d1",)) for text in ("", "Anna wrote it."))
    answers = rp.Answers({"q0": silent}, repeats={"q0": [silent, claim]})
    found = evaluate_answers(
        {"a": answers}, {"q0": reference}, measures="Faithfulness", questions={"q0": "Who?"}, passage=lambda _: "Anna wrote it."
    )
    (faithful,) = found.systems[0].measures.values()
    assert faithful.per_query == {"q0": pytest.approx(value)}


def test_a_repeat_without_an_answer_counts_as_the_worst_value() -> None:
    missing, claim = rp.types.Answer("", given=("d1",), state="missing"), rp.types.Answer("Anna wrote it.", given=("d1",))
    answers = rp.Answers({"q0": claim}, repeats={"q0": [missing, missing]})
    found = evaluate_answers(
        {"a": answers}, {}, measures="Faithfulness", questions={"q0": "Who?"}, passage=lambda _: "Anna wrote it."
    )
    (faithful,) = found.systems[0].measures.values()
    assert faithful.per_query == {"q0": pytest.approx(1 / 3)}


def test_the_worst_value_of_a_measure_from_minus_1_to_1_is_0() -> None:
    measure = parse_measure("Similarity(model='m')")
    assert measure.range[0] < 0
    assert worst_value(measure) == 0


def test_single_answers_have_no_repeats() -> None:
    result = evaluated(a=answers_of("1", "0"), b=answers_of("0", "0"))
    assert result.systems[0].measures["EM"].repeats == {}
    assert rp.compare(result).decision.repeats is None


def test_verdicts_on_repeats_are_kept_apart_and_read_again(tmp_path: Path) -> None:
    rows = [
        {"question": f"Who wrote {at}?", "answer": text, "contexts": [f"Anna wrote {at}."]}
        for at in range(3)
        for text in (f"Anna wrote {at}.", "Berta sang loudly.")
    ]
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    folder = tmp_path / "results"
    assert main(["answers", str(path), "-m", "Faithfulness", "-o", str(folder)]) == 0
    lines = [json.loads(line) for line in (folder / "claims.jsonl").read_text().splitlines()]
    assert [line.get("repeat") for line in lines] == [None] * 3 + [2] * 3
    found = rp.load_results(folder).answers
    assert found is not None
    assert (len(found.claims), len(found.repeat_claims)) == (3, 3)
    assert found.systems[0].measures[next(iter(found.systems[0].measures))].value == 0.5


def test_people_label_first_answers_so_the_judge_is_compared_on_these() -> None:
    result = evaluated(a=answers_of("10", "01"), b=answers_of("11", "0"))
    joined = common_values(result)
    assert joined.values[0].tolist() == [[0.5, 1], [0.5, 0]]
    assert with_first_answers(joined, result).values[0].tolist() == [[1, 1], [0, 0]]


QRELS = {f"q{at}": {"d": 1} for at in range(40)}


def run_of(right: int) -> dict[str, dict[str, float]]:
    return {f"q{at}": {"d" if at < right else "x": 1.0} for at in range(40)}


def test_runs_named_a_and_a_2_are_repeats_of_one_system() -> None:
    result = rp.evaluate(QRELS, {"a#2": run_of(10), "a": run_of(30), "b": run_of(20)}, "Success@1")
    assert [system.name for system in result.systems] == ["a", "b"]
    assert result.value("Success@1", "a") == 0.5
    assert result.systems[0].measures["Success@1"].repeats["q20"].tolist() == [1, 0]
    found = rp.compare(result).decision.repeats
    assert found is not None
    assert [(one.name, one.answers) for one in found.by_system] == [("a", 80), ("b", 40)]


def test_bounds_that_unjudged_documents_leave_are_said_of_the_first_run() -> None:
    runs = {"a": {"q1": {"d": 2, "x": 1}, "q2": {"x": 2, "d": 1}}, "a#2": {"q1": {"x": 2}, "q2": {"x": 2}}}
    (system,) = rp.evaluate({"q1": {"d": 1}, "q2": {"d": 1}}, runs, "Success@1").systems
    texts = [note.text for note in system.notes if note.code == "few-judged"]
    assert [text.partition(",")[0] for text in texts] == ["first run: Judged@10 is 50%"]


def test_a_run_named_a_2_without_a_first_run_is_a_system_of_its_own() -> None:
    result = rp.evaluate(QRELS, {"a#2": run_of(10), "b#1": run_of(20), "b": run_of(20)}, "Success@1")
    assert [system.name for system in result.systems] == ["a#2", "b#1", "b"]


def test_the_command_shows_repeats_in_every_format(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "qrels.txt").write_text("".join(f"{query} 0 d 1\n" for query in QRELS))
    paths = []
    for name, right in (("a", 30), ("a#2", 20), ("b", 10), ("b#2", 8)):
        rows = [(query, doc) for query, docs in run_of(right).items() for doc in docs]
        (tmp_path / f"{name}.run").write_text("".join(f"{query} Q0 {doc} 1 1.0 t\n" for query, doc in rows))
        paths.append(str(tmp_path / f"{name}.run"))
    command = ["compare", str(tmp_path / "qrels.txt"), *paths, "-m", "Success@1"]
    shown: dict[str, Any] = {}
    for view in ("table", "markdown", "json"):
        assert main([*command, "--format", view]) == 0
        shown[view] = capsys.readouterr().out
    assert "pass^2" in shown["table"]
    assert "pass^2" in shown["markdown"]
    assert json.loads(shown["json"])["decision"]["repeats"]["by_system"][0]["pass_at"]["2"] == 0.75


def test_questions_without_a_value_have_no_repeats(tmp_path: Path) -> None:
    """An abstention has no faithfulness; the decision counts it as the worst value."""
    rows = [
        {"question": f"Who wrote {at}?", "answer": f"Anna wrote {at}." if at else "", "contexts": [f"Anna wrote {at}."]}
        for at in range(3)
        for _ in range(2)
    ]
    for name in ("a", "b"):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    logs = {name: tmp_path / f"{name}.jsonl" for name in ("a", "b")}
    found = rp.compare(rp.evaluate_answers(logs, measures="Faithfulness")).decision
    assert found.n == 3
    assert found.repeats is not None
    assert [one.answers for one in found.repeats.by_system] == [5, 5]


def test_a_question_that_was_answered_in_one_repeat_is_no_missing_answer() -> None:
    missing = rp.types.Answer("", state="missing")
    first = {"q0": missing, "q1": missing}
    answers = rp.Answers(first, repeats={"q0": [rp.types.Answer("1")], "q1": [missing]})
    one = rp.evaluate_answers({"a": answers}, {"q0": "1", "q1": "1"}, measures="EM").systems[0].measures["EM"]
    assert one.reasons == {"q1": "missing"}
    assert one.value == 0.25


def test_the_answers_of_one_system_have_pass_at_k(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"question": f"What is {at}?", "answer": answer, "reference": "1"} for at in range(3) for answer in "110"]
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert main(["answers", str(tmp_path / "log.jsonl"), "-m", "EM", "--format", "json"]) == 0
    tables = json.loads(capsys.readouterr().out)["tables"]
    (row,) = next(table["rows"] for table in tables if table["name"] == "repeats")
    assert [row[name] for name in ("answers", "pass@2", "pass^2", "pass^3")] == pytest.approx([9, 1, 1 / 3, 0])


def test_the_share_of_the_judge_is_that_of_its_variance_in_both_answers() -> None:
    """Three answers to each question: the variance is that of questions plus a third of that of repeats."""
    result = evaluated(
        a=answers_of(*["111"] * 30, *["000"] * 5, *["110"] * 5), b=answers_of(*["000"] * 20, *["111"] * 15, *["010"] * 5)
    )
    measured = {system.name: system.measures["EM"] for system in result.systems}
    values = np.column_stack([stored.values for stored in measured.values()])
    queries = measured["a"].query_ids
    found = repeated_answers(measured, queries, values, ("a", "b"), judge_deviation=0.1)
    assert found is not None
    assert found.between is not None
    assert found.within is not None
    assert found.repeats == pytest.approx(3)
    assert found.judge_share == pytest.approx(2 * 0.1**2 / 3 / (found.between + found.within / 3))
    noisier = repeated_answers(measured, queries, values, ("a", "b"), judge_deviation=0.9)
    assert noisier is not None
    assert noisier.judge_share == found.repeat_share, "the judge is a part of the repeats"


def test_answers_of_few_questions_again_give_no_advice_to_ask_more_questions_once() -> None:
    """Two of 40 questions were asked twice: about one answer per question, of which there is nothing to spend otherwise."""
    first, second = ["1", "1", "0"], ["0", "1", "1"]
    result = evaluated(
        a=answers_of("10", "01", *[first[at % 3] for at in range(38)]),
        b=answers_of("00", "11", *[second[at % 3] for at in range(38)]),
    )
    decision = rp.compare(result).decision
    assert decision.repeats is not None
    assert decision.repeats.repeats == pytest.approx(40 / 39)
    assert decision.sentences[-1].startswith("42 answers per system to 40 questions: n = 40. Of the variance of the difference ")


def test_systems_with_other_numbers_of_answers_are_listed_with_the_questions_of_both() -> None:
    result = evaluated(a=answers_of("110", "111", "010"), b=answers_of("00", "10", "00"))
    decision = rp.compare(result).decision
    assert "Answers: 9 of a and 6 of b to 3 questions: n = 3." in " ".join(decision.sentences)


def test_the_answers_of_one_system_are_counted() -> None:
    decision = rp.compare(evaluated(a=answers_of("110", "111"))).decision
    assert decision.sentences[-1] == "Answers: 6 of a to 2 questions: n = 2."


def test_the_deviation_of_answers_is_pooled_over_questions() -> None:
    found = rp.compare(evaluated(a=answers_of("110", "111", "000"), b=answers_of("1", "0", "1"))).decision.repeats
    assert found is not None
    assert [one.deviation for one in found.by_system] == [pytest.approx((2 / 3 / 6) ** 0.5), None]


@pytest.mark.parametrize(
    ("answers", "sizes"),
    [
        (2, [2]),
        (4, [2, 3, 4]),
        (5, [2, 3, 5]),
        (7, [2, 3, 5, 7]),
        (10, [2, 3, 5, 10]),
        (21, [2, 3, 5, 10, 20, 21]),
        (102, [2, 3, 5, 10, 20, 50, 100, 102]),
    ],
)
def test_usual_numbers_of_answers_up_to_all_have_a_pass_rate(answers: int, sizes: list[int]) -> None:
    found = rp.compare(evaluated(a=answers_of("1" * answers, "0" * answers), b=answers_of("1", "0"))).decision.repeats
    assert found is not None
    assert [list(one.pass_at) for one in found.by_system] == [sizes, []]
    assert list(found.by_system[0].pass_all) == sizes


def test_one_question_alone_has_the_mean_of_its_answers() -> None:
    repeats = rp.compare(evaluated(a=answers_of("110"))).decision.repeats
    assert repeats is not None
    assert repeats.by_system[0].value == pytest.approx(2 / 3)
