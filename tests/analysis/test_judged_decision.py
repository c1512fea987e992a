"""Decisions on values of a machine judge that people checked: each outcome, its record and its sentences."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import rankproof as rp
from rankproof._analysis.compare.comparison import compare_inputs
from rankproof._analysis.compare.people_labels import present_labels
from rankproof._analysis.decision.decide import DecisionData, labelled_interval
from rankproof._analysis.decision.judge_sentences import check_sentences
from rankproof._analysis.decision.record import Decision
from rankproof._analysis.decision.scenarios import doubt_table
from rankproof._analysis.inputs import input_from_results
from rankproof._cli.main import main
from rankproof._data.dataset import Queries, Query
from rankproof._data.qrels import Qrels
from rankproof._results.judgements import with_judgements
from rankproof._results.label_tasks import draw_questions, read_label_draw
from rankproof._statistics.labelled_means import labelled_means
from rankproof.errors import UsageError
from rankproof.measures import parse_measure
from support.labelled_results import LABEL, judged_by, labelled_folder, with_contexts, write_claim_labels, write_draw


def coin(share: float, n: int, seed: int) -> list[int]:
    return [int(value < share) for value in np.random.default_rng(seed).random(n)]


def decision_of(folder: Path, labelled: int, *, n: int = 200, judge_seed: int | None = None, drawn: bool = True) -> Decision:
    """People find `good` right on 80% of the questions and `poor` on 10%; the judge says the reverse, or has the same errors."""
    human = {"good": coin(0.8, n, 1), "poor": coin(0.1, n, 2)}
    judge = {"good": human["poor"], "poor": human["good"]} if judge_seed is None else human
    results, people = judged_by(human, judge)
    return rp.compare(labelled_folder(folder / "results", results, people, labelled, drawn=drawn), samples=1_000).decision


def test_labels_of_thirty_questions_overrule_a_judge_that_is_wrong(tmp_path: Path) -> None:
    decision = decision_of(tmp_path, 30)
    assert (decision.outcome, decision.systems, decision.judge, decision.labelled) == ("ship", ("good",), "tiny", 30)
    assert (decision.n, decision.queries, decision.looks, decision.is_judge_unchecked) == (30, 200, "many", False)
    assert decision.check is not None
    assert (decision.check.weight, decision.check.leader) == (0.0, "poor")
    first, *others = decision.sentences
    assert first.startswith("Ship good: 0.")
    assert " Success@1 by people's labels of 30 of 200 questions at 1.62 ms, better than every other system" in first
    assert "tiny does not help here: labels alone count." in others
    (other,) = [sentence for sentence in others if sentence.startswith("By tiny alone poor would lead good by ")]
    assert other.endswith(" pp lower.")


def test_a_judge_that_agrees_with_people_counts_and_its_worth_is_said(tmp_path: Path) -> None:
    decision = decision_of(tmp_path, 40, judge_seed=1)
    assert decision.check is not None
    assert decision.check.weight is not None
    assert decision.check.weight > 0.5
    assert decision.check.leader is None
    assert " by people's labels of 40 of 200 questions and tiny on all" in decision.sentences[0]
    said = (
        f"tiny counts with weight {decision.check.weight:.2f}: worth {round(decision.check.worth or 0)} more labelled questions."
    )
    assert said in decision.sentences


@pytest.mark.parametrize("conversations", [20, 150])
def test_labelled_turns_count_as_the_conversations_they_are_of(conversations: int, tmp_path: Path) -> None:
    human = {"good": coin(0.8, 300, 1), "poor": coin(0.1, 300, 2)}
    results, people = judged_by(human, human)
    turns = [Query(query, query, fields={"session": f"s{at % conversations}"}) for at, query in enumerate(results.queries)]
    folder = labelled_folder(tmp_path / "results", replace(results, texts=Queries(turns)), people, 60)
    decision = rp.compare(folder, samples=1_000).decision
    if conversations == 20:
        assert (decision.outcome, decision.reason, decision.risk) == ("not_decided", "few_labels", None)
        assert "a decision needs at least 30 conversations (60 turns of 20 conversations" in decision.sentences[0]
    else:
        assert (decision.outcome, decision.systems, decision.labelled) == ("ship", ("good",), 60)


@pytest.mark.parametrize(("labelled", "has_interval"), [(1, False), (9, False), (10, True), (29, True)])
def test_fewer_than_thirty_labelled_questions_decide_nothing(tmp_path: Path, labelled: int, has_interval: bool) -> None:
    decision = decision_of(tmp_path, labelled)
    assert (decision.outcome, decision.reason, decision.labelled) == ("not_decided", "few_labels", labelled)
    assert (decision.risk, {system.risk for system in decision.by_system}) == (None, {None})
    assert (decision.check is not None and decision.check.weight is not None) == has_interval
    verb = "is" if labelled == 1 else "are"
    first = f"Not decided: {labelled} of 200 questions {verb} labelled, and a decision needs 30 ({30 - labelled} more)."
    assert decision.sentences[0] == first
    assert not any("risk" in sentence or "Ship" in sentence for sentence in decision.sentences)


def test_a_close_race_says_how_many_labelled_questions_decide(tmp_path: Path) -> None:
    human = {"one": coin(0.72, 400, 3), "two": coin(0.55, 400, 4)}
    results, people = judged_by(human, human | {"two": coin(0.4, 400, 5)})
    decision = rp.compare(labelled_folder(tmp_path / "results", results, people, 40), samples=1_000).decision
    assert (decision.outcome, decision.reason) == ("not_decided", "risk")
    assert decision.check is not None
    assert decision.check.needed == 80
    wanted = "About 80 labelled questions (40 more) decide with a chance of 80%."
    assert decision.sentences[0] == f"Not decided: 40 of 400 questions are labelled. {wanted}"
    assert re.fullmatch(r"one minus two: \d\d\.\d pp, 95% CI \[-?\d+\.\d, \d\d\.\d\]\.", decision.sentences[1])


def test_a_race_that_all_questions_may_not_decide_asks_for_more_questions(tmp_path: Path) -> None:
    human = {"one": coin(0.72, 400, 3), "two": coin(0.55, 400, 4)}
    results, people = judged_by(human, human | {"two": coin(0.4, 400, 5)})
    decision = rp.compare(labelled_folder(tmp_path / "results", results, people, 40), samples=1_000).decision
    assert decision.check is not None
    hopeless = replace(decision, check=replace(decision.check, needed=None))
    add = "More labels than you have questions may be needed: add questions."
    assert hopeless.sentences[0] == f"Not decided: 40 of 400 questions are labelled. {add}"


def test_labels_that_are_no_random_draw_show_agreement_and_decide_nothing(tmp_path: Path) -> None:
    decision = decision_of(tmp_path, 60, drawn=False)
    assert (decision.outcome, decision.reason) == ("judge_leads", "judge_not_checked")
    assert decision.check is not None
    (agreement,) = [sentence for sentence in decision.sentences if sentence.startswith("People and judge give ")]
    assert " of 120 pairs the same grade, kappa of relevance -0." in agreement
    assert (
        "The labels in results.people.qrels are not a random draw of questions: they cannot correct the judge."
        in decision.sentences
    )


def test_a_leader_by_a_judge_alone_has_no_limit_that_a_further_look_could_break(tmp_path: Path) -> None:
    decision = replace(decision_of(tmp_path, 0), look=3)
    assert (decision.outcome, decision.looks) == ("judge_leads", "one")
    assert not any("look" in sentence for sentence in decision.sentences)


def test_a_draw_whose_order_was_chosen_decides_nothing(tmp_path: Path) -> None:
    human = {"good": coin(0.8, 100, 1), "poor": coin(0.1, 100, 2)}
    results, people = judged_by(human, human)
    folder = labelled_folder(tmp_path / "results", results, people, 60)
    file = f"{folder}.people.qrels"
    draw = read_label_draw(file)
    assert draw is not None
    lucky = draw.questions[:1] * 40
    for questions in (draw.questions[::-1], (*lucky, *draw.questions)):
        write_draw(file, replace(draw, questions=questions))
        decision = rp.compare(folder, samples=1_000).decision
        assert (decision.outcome, decision.labelled) == ("judge_leads", 0)
        assert any("are not a random draw of questions" in sentence for sentence in decision.sentences)


def test_only_the_questions_before_the_first_incomplete_one_count(tmp_path: Path) -> None:
    human = {"good": coin(0.8, 100, 1), "poor": coin(0.1, 100, 2)}
    results, people = judged_by(human, human)
    folder = labelled_folder(tmp_path / "results", results, people, 60)
    file = Path(f"{folder}.people.qrels")
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(lines[:80] + lines[81:]))
    assert rp.compare(folder, samples=1_000).decision.labelled == 40


def test_a_judge_whose_grades_are_mixed_with_those_of_people_does_not_count(tmp_path: Path) -> None:
    human = {"good": coin(0.8, 100, 1), "poor": coin(0.1, 100, 2)}
    results, people = judged_by(human, human)
    folder = labelled_folder(tmp_path / "results", results, people, 60)
    mixed = with_judgements(rp.load_results(folder), Qrels({"q000": {"d-good": 1}}))
    decision = compare_inputs(input_from_results(mixed)).decision
    assert decision.check is not None
    assert (decision.labelled, decision.check.weight) == (60, 0.0)


def test_labels_of_other_systems_cannot_correct_the_judge(tmp_path: Path) -> None:
    human = {"good": coin(0.8, 100, 1), "poor": coin(0.1, 100, 2)}
    results, people = judged_by(human, human)
    folder = labelled_folder(tmp_path / "results", results, people, 60)
    log = Path(f"{folder}.people.qrels.log.jsonl")
    log.write_text(log.read_text().replace('"poor"', '"older"'))
    decision = rp.compare(folder, samples=1_000).decision
    assert decision.outcome == "judge_leads"
    assert decision.check is not None
    assert decision.check.unusable == "are of other systems: poor is not among them"


def test_the_command_takes_another_file_of_labels_and_shows_the_corrected_means(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    human = {"good": coin(0.8, 100, 1), "poor": coin(0.1, 100, 2)}
    results, people = judged_by(human, {"good": human["poor"], "poor": human["good"]})
    folder = labelled_folder(tmp_path / "results", results, people, 50)
    for name in ("people.qrels", "people.qrels.log.jsonl"):
        Path(f"{folder}.{name}").rename(tmp_path / f"mine.{name}")
    assert main(["compare", str(folder), "--samples", "1000"]) == 0
    assert capsys.readouterr().out.startswith("By tiny (not checked by people), poor leads: ")
    assert main(["compare", str(folder), "--samples", "1000", "--labels", str(tmp_path / "mine.people.qrels")]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("Ship good: ")
    assert "corrected" in shown


def test_labels_of_another_kind_than_the_measure_needs_are_an_error(tmp_path: Path) -> None:
    human = {"good": coin(0.8, 40, 1), "poor": coin(0.1, 40, 2)}
    results, people = judged_by(human, human)
    folder = labelled_folder(tmp_path / "results", results, people, 30)
    (tmp_path / "claims.jsonl").write_text("{}\n")
    with pytest.raises(UsageError, match="has labels of claims; pass labels of documents, which Success@1 needs"):
        rp.compare(folder, labels=tmp_path / "claims.jsonl")


def claims_folder(place: Path, labelled: int) -> Path:
    """Answers that share all or half of their words with the contexts; people support only the second system's."""
    logs = []
    for name, answer in (("wordy", "Cats purr at night."), ("plain", "Cats hum in darkness.")):
        rows = (
            {"query": f"q{at:02}", "question": f"What of {at}?", "answer": answer, "contexts": ["Cats purr at night."]}
            for at in range(60)
        )
        logs.append(str(place / f"{name}.jsonl"))
        Path(logs[-1]).write_text("".join(json.dumps(row) + "\n" for row in rows))
    folder = place / "results"
    assert main(["answers", *logs, "-m", "Faithfulness", "-o", str(folder), "--quiet"]) == 0
    write_claim_labels(
        folder,
        ("plain", "wordy"),
        labelled,
        lambda claim, place: "supported" if claim.system == "plain" else "not_stated",
    )
    return folder


@pytest.mark.slow
def test_labels_of_all_claims_of_a_question_give_people_s_value_of_the_measure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = claims_folder(tmp_path, 40)
    decision = rp.compare(folder, samples=1_000).decision
    assert (decision.outcome, decision.systems, decision.labelled, decision.queries) == ("ship", ("plain",), 40, 60)
    assert (decision.of("plain").value, decision.of("wordy").value) == (1.0, 0.0)
    assert decision.check is not None
    assert (decision.check.leader, decision.check.weight) == ("wordy", 0.0)
    capsys.readouterr()
    assert main(["answers", str(folder), "--samples", "1000"]) == 0
    assert capsys.readouterr().out.startswith("Ship plain: 1.000 Faithfulness(judge='overlap') by people's labels of 40 of 60")


def claim_sample_folder(place: Path, claims: int, *, header: dict[str, str] | None = None) -> Path:
    """120 questions with two claims for each system; people find 9 of 10 claims of `plain` supported, and 1 of 5 of `wordy`."""
    texts = ["Cats purr and sleep.", "Dogs bark at night."]
    logs = [place / "plain.jsonl", place / "wordy.jsonl"]
    for log, answer in zip(logs, (" ".join(texts), " ".join(texts[::-1])), strict=True):
        rows = [{"id": f"q{at}", "question": f"cats {at}", "answer": answer, "contexts": texts} for at in range(120)]
        log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    folder = place / "results"
    assert main(["answers", *map(str, logs), "-m", "Faithfulness", "-o", str(folder), "--quiet"]) == 0
    every = rp.load_results(folder).claims
    random = np.random.default_rng(3)
    lines: list[dict[str, object]] = [{**({"draw": "claims"} if header is None else header)}]
    for at in random.permutation(len(every))[:claims]:
        claim = every[at]
        supported = random.random() < (0.9 if claim.system == "plain" else 0.2)
        key = {"query": claim.query, "system": claim.system, "side": claim.claim.side, "n": claim.claim.n}
        text = {"against": claim.against, "text": claim.claim.text, "label": "supported" if supported else "not_stated"}
        lines.append({**key, **text, "person": "ann"})
    Path(f"{folder}.people.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines if line))
    return folder


def test_labels_of_single_claims_that_were_drawn_at_random_decide_from_a_hundred_on(tmp_path: Path) -> None:
    folder = claim_sample_folder(tmp_path, 160)
    decision = rp.compare(folder, samples=1_000).decision
    assert (decision.outcome, decision.systems, decision.looks, decision.queries) == ("ship", ("plain",), "many", 120)
    assert decision.check is not None
    assert (decision.check.claims, decision.is_judge_unchecked) == (160, False)
    assert f" by people's labels of 160 claims in {decision.labelled} of 120 questions" in decision.sentences[0]
    assert 0.85 < decision.of("plain").value < 0.95
    assert 0.1 < decision.of("wordy").value < 0.3


def test_fewer_than_a_hundred_labels_of_single_claims_decide_nothing(tmp_path: Path) -> None:
    decision = rp.compare(claim_sample_folder(tmp_path, 90), samples=1_000).decision
    assert (decision.outcome, decision.reason, decision.risk) == ("not_decided", "few_labels", None)
    assert decision.is_judge_unchecked
    first = f"Not decided: 90 claims in {decision.labelled} of 120 questions are labelled, and a decision needs 100 claims in 30."
    assert decision.sentences[0].startswith(first)


def test_labels_of_single_claims_that_nobody_calls_a_random_draw_decide_nothing(tmp_path: Path) -> None:
    decision = rp.compare(claim_sample_folder(tmp_path, 160, header={}), samples=1_000).decision
    assert (decision.outcome, decision.reason) == ("judge_leads", "judge_not_checked")


def logs_of(place: Path) -> list[Path]:
    return [place / "wordy.jsonl", place / "plain.jsonl"]


CHANGED = "The labels of {} in results.people.jsonl are of other answers or contexts: they do not count."


def test_labels_do_not_count_after_the_contexts_have_changed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = claims_folder(tmp_path, 40)
    with_contexts(folder, logs_of(tmp_path), "Cats purr at night, they say.")
    decision = rp.compare(folder, samples=1_000).decision
    assert (decision.outcome, decision.reason, decision.labelled) == ("judge_leads", "judge_not_checked", 0)
    assert decision.sentences[0].startswith("By overlap (not checked by people), wordy leads: ")
    assert CHANGED.format("40 questions") in decision.sentences
    assert decision.to_dict()["check"]["changed"] == 40
    capsys.readouterr()
    for command in ("compare", "answers"):
        for form in ("table", "markdown", "json"):
            assert main([command, str(folder), "--samples", "1000", "-m", "Faithfulness", "--format", form]) == 0
            assert CHANGED.format("40 questions") in " ".join(capsys.readouterr().out.split())
    assert main(["report", str(folder), "-o", str(tmp_path / "page.html")]) == 0
    assert CHANGED.format("40 questions") in (tmp_path / "page.html").read_text()


def test_labels_of_other_contexts_give_no_agreement_with_the_judge(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = claims_folder(tmp_path, 40)
    command = ["answers", str(folder), "--labels", f"{folder}.people.jsonl", "--samples", "1000"]
    assert main(command) == 0
    assert "Labelled claims: " in capsys.readouterr().out
    labels = f"{folder}.people.jsonl"
    assert rp.evaluate_answers(folder, measures=["Faithfulness"], labels=labels).calibrations
    with_contexts(folder, logs_of(tmp_path), "Cats purr at night, they say.")
    capsys.readouterr()
    assert main(command) == 0
    shown = capsys.readouterr()
    assert "Labelled claims: " not in shown.out
    assert "note: the labels of 40 questions are of other answers or contexts and do not count" in " ".join(shown.err.split())
    assert not rp.evaluate_answers(folder, measures=["Faithfulness"], labels=labels).calibrations


def test_only_questions_before_the_first_one_with_other_contexts_are_labelled(tmp_path: Path) -> None:
    folder = claims_folder(tmp_path, 40)
    draw = read_label_draw(f"{folder}.people.jsonl")
    assert draw is not None
    question = rp.load_results(folder).texts[draw.questions[35]].text
    with_contexts(folder, logs_of(tmp_path), "Cats purr at night, they say.", [question])
    decision = rp.compare(folder, samples=1_000).decision
    assert (decision.outcome, decision.systems, decision.labelled) == ("ship", ("plain",), 35)
    assert CHANGED.format("1 question") in decision.sentences


def test_labels_do_not_count_for_another_answer_with_the_same_claim(tmp_path: Path) -> None:
    folder = claims_folder(tmp_path, 40)
    for log in logs_of(tmp_path):
        log.write_text(log.read_text().replace('"answer": "Cats', '"answer": "Sure! Cats'))
    assert main(["answers", *map(str, logs_of(tmp_path)), "-m", "Faithfulness", "-o", str(tmp_path / "again"), "--quiet"]) == 0
    decision = rp.compare(tmp_path / "again", labels=f"{folder}.people.jsonl", samples=1_000).decision
    assert (decision.outcome, decision.labelled) == ("judge_leads", 0)
    assert decision.check is not None
    assert decision.check.changed == 40


def test_labels_count_again_with_the_texts_that_were_labelled(tmp_path: Path) -> None:
    folder = claims_folder(tmp_path, 40)
    decision = rp.compare(folder, samples=1_000).decision
    assert (decision.outcome, decision.labelled) == ("ship", 40)
    assert decision.check is not None
    assert decision.check.changed == 0


def test_labels_whose_log_does_not_say_what_was_labelled_do_not_count(tmp_path: Path) -> None:
    folder = claims_folder(tmp_path, 40)
    log = Path(f"{folder}.people.jsonl.log.jsonl")
    log.write_text(log.read_text().splitlines(keepends=True)[0])
    assert rp.compare(folder, samples=1_000).decision.labelled == 0


def test_grades_do_not_count_after_the_top_documents_have_changed(tmp_path: Path) -> None:
    human = {"good": coin(0.8, 100, 1), "poor": coin(0.1, 100, 2)}
    results, people = judged_by(human, human)
    draw = draw_questions(people, human, "documents", 10)
    further = {question: {"unseen": 0.5} for question in draw.questions[33:36]}
    moved = {query: {"d-poor": 1.0, **further.get(query, {})} for query in results.queries}
    own = tuple(replace(run, stored_run=rp.Run(moved, name="poor")) if run.name == "poor" else run for run in results.system_runs)
    folder = labelled_folder(tmp_path / "results", replace(results, system_runs=own), people, 60)
    decision = rp.compare(folder, samples=1_000).decision
    assert decision.labelled == 33
    said = (
        "The labels of 3 questions in results.people.qrels are of other documents than those at the top now: they do not count."
    )
    assert said in decision.sentences


def test_only_documents_down_to_the_depth_of_the_draw_need_grades(tmp_path: Path) -> None:
    human = {"good": coin(0.8, 100, 1), "poor": coin(0.1, 100, 2)}
    results, people = judged_by(human, human)
    deeper = {query: {"d-poor": 1.0, "unseen": 0.5} for query in results.queries}
    own = tuple(
        replace(run, stored_run=rp.Run(deeper, name="poor")) if run.name == "poor" else run for run in results.system_runs
    )
    folder = labelled_folder(tmp_path / "results", replace(results, system_runs=own), people, 60)
    labelled = {}
    for depth in (1, 2):
        write_draw(f"{folder}.people.qrels", draw_questions(people, human, "documents", depth))
        labelled[depth] = rp.compare(folder, samples=1_000).decision.labelled
    assert labelled == {1: 60, 2: 0}


def test_a_measure_whose_claims_nobody_can_label_says_so(tmp_path: Path) -> None:
    rows = [{"query": f"q{at}", "question": f"cats {at}", "answer": "Cats purr.", "contexts": ["Cats purr."]} for at in range(40)]
    other = [{**row, "answer": "Dogs bark."} for row in rows]
    result = rp.evaluate_answers({"one": rows, "two": other}, measures=["AnswerRelevance"])
    assert rp.compare(result).decision.sentences[-1].startswith("Next: decide by a measure whose claims people can label")


def test_the_command_that_checks_the_judge_names_the_results_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    human = {"good": coin(0.8, 40, 1), "poor": coin(0.1, 40, 2)}
    monkeypatch.chdir(tmp_path)
    results, people = judged_by(human, human)
    labelled_folder(Path("my results"), results, people, 0)
    assert (
        rp.compare("my results", samples=1_000)
        .decision.sentences[-1]
        .startswith("Next: rankproof serve 'my results' --label 30 (30 questions at random, about 60 grades).")
    )


def test_the_command_that_checks_the_judge_fits_the_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = (f"q{at} {LABEL} d{at % 2} 1\n" for at in range(40))
    (tmp_path / "qrels.txt").write_text("".join(rows))
    for name, doc in (("one", "d0"), ("two", "d1")):
        lines = (f"q{at} Q0 {doc} 1 1.0 {name}\n" for at in range(40))
        (tmp_path / f"{name}.run").write_text("".join(lines))
    files = [str(tmp_path / name) for name in ("qrels.txt", "one.run", "two.run")]
    assert main(["compare", *files, "--samples", "1000"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "By tiny (not checked by people), one and two lead: " in shown
    assert (
        "Next: rankproof serve QRELS RUN… --dataset DATASET --label 30 --labels FILE (30 questions at random, about 60 " in shown
    )
    answers = {"a": [{"question": f"is it {at}?", "answer": "Cats purr.", "contexts": ["Cats purr."]} for at in range(40)]}
    other = [{**row, "answer": "Cats purr!"} for row in answers["a"]]
    result = rp.evaluate_answers({**answers, "b": other}, measures=["Faithfulness"])
    command = "rankproof answers LOG… -o RESULTS, then rankproof serve RESULTS --label 30 ("
    assert command in rp.compare(result).decision.sentences[-1]


def test_labels_and_the_judge_s_values_of_other_questions_are_sources_of_doubt(tmp_path: Path) -> None:
    decision = decision_of(tmp_path, 40, judge_seed=1)
    table = doubt_table(decision)
    assert table is not None
    assert decision.check is not None
    share = decision.check.label_share or 0.0
    labels, judge = table.rows
    assert labels[:2] == ("labelled questions", share)
    assert labels[2] == pytest.approx(share * 12 / 52)
    rest = decision.queries - 40 + 6
    assert judge[:2] == ("judge's values of the other questions", 1 - share)
    assert judge[2] == pytest.approx((1 - share) * 6 / rest)
    assert judge[3:] == (None, None)
    assert 0 < share < 1


@pytest.mark.parametrize("worth", [0.0, 0.3])
def test_a_judge_that_adds_little_is_worth_less_than_one_question(tmp_path: Path, worth: float) -> None:
    decision = decision_of(tmp_path, 40, judge_seed=1)
    assert decision.check is not None
    little = replace(decision, check=replace(decision.check, weight=0.05, worth=worth))
    assert "tiny counts with weight 0.05: worth less than one more labelled question." in little.sentences


def test_a_corrected_mean_is_shown_within_the_range_of_its_measure(tmp_path: Path) -> None:
    n, labelled = 200, 40
    drawn = [int(name[1:]) for name in draw_questions([f"q{at:03}" for at in range(n)], (), "documents").questions]
    human = {"good": [1] * n, "poor": coin(0.5, n, 2)}
    judge = {"good": [int(at not in drawn[: labelled // 2]) for at in range(n)], "poor": human["poor"]}
    results, people = judged_by(human, judge)
    found = rp.compare(labelled_folder(tmp_path / "results", results, people, labelled), samples=1_000)
    decision = found.decision
    assert decision.check is not None
    assert decision.check.outside["good"] > 1.05
    assert decision.of("good").value == 1.0
    assert decision.against[0].difference == pytest.approx(decision.check.outside["good"] - decision.of("poor").value)
    assert all("1.000 Success@1" in sentence for sentence in decision.sentences if " Success@1" in sentence)
    (note,) = [note for note in found.notes if "outside 0 to 1, the range of Success@1" in note]
    assert f"good {decision.check.outside['good']:.3f}" in note


@pytest.mark.parametrize(("corrected", "text"), [(-0.25, "25.0 pp lower"), (0.0, "0.0 pp lower"), (None, "0.0 pp lower")])
def test_the_leader_of_the_judge_is_shown_with_its_place_by_labels(tmp_path: Path, corrected: float | None, text: str) -> None:
    decision = decision_of(tmp_path, 30)
    assert decision.check is not None
    check = replace(decision.check, lead=0.125, corrected_lead=corrected)
    said = list(check_sentences(replace(decision, check=check)))
    assert f"By tiny alone poor would lead good by 12.5 pp; with people's labels it is {text}." in said


def test_the_interval_of_a_labelled_difference_takes_the_whole_range_of_the_measure() -> None:
    human = np.random.default_rng(3).uniform(0.4, 0.6, (40, 2))
    labelled = labelled_means(human, human, np.zeros((0, 2)))
    data = DecisionData(parse_measure("Similarity"), ("a", "b"), human)
    further = labelled.interval_floor(2.0)
    assert further > labelled.interval_floor(1.0)
    assert labelled_interval(data, labelled, 0, 1) == labelled.difference_interval(0, 1, further)


def test_without_a_log_all_labels_of_claims_are_present(tmp_path: Path) -> None:
    folder = claims_folder(tmp_path, 40)
    with_contexts(folder, logs_of(tmp_path), "Cats purr at night, they say.")
    inputs, file = input_from_results(rp.load_results(folder), needs_judgements=False), f"{folder}.people.jsonl"
    labels, notes = present_labels(replace(inputs, texts=None), file)
    assert (len(labels.labels) > 0, notes) == (True, [])
