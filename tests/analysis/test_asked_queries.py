"""Systems that were asked different queries, and queries that are copies of others."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

import rankproof as rp
from rankproof._analysis.decision.record import Decision
from rankproof.types import Comparison

Rows = list[dict[str, Any]]


def rows(system: str, ids: Iterable[int], right_of_ten: int, texts: int | None = None, **more: Any) -> Rows:
    """Answers to questions, of which so many of ten are right; the questions have so many texts, each its own by default."""
    return [
        {
            "id": f"q{at}",
            "question": f"What is number {at if texts is None else at % texts}?",
            "system": system,
            "answer": "right" if at % 10 < right_of_ten else "wrong",
            "reference": "right",
            **more,
        }
        for at in ids
    ]


def compared(log: Rows) -> Comparison:
    return rp.compare(rp.evaluate_answers(log, measures="EM"), samples=100)


def decided(log: Rows) -> Decision:
    return compared(log).decision


def test_a_system_that_was_asked_more_questions_is_not_better_for_that() -> None:
    decision = decided([*rows("often", range(200), 6), *rows("rarely", range(200, 300), 9)])
    assert (decision.outcome, decision.reason) == ("not_decided", "few_queries")
    assert decision.sentences[0] == (
        "Not decided: a decision needs at least 30 questions that often and rarely were both asked (n = 300, 0 of both): ask both"
        " the same questions."
    )


@pytest.mark.parametrize(("shared", "reason"), [(5, "few_queries"), (29, "few_queries"), (30, "missing"), (59, "missing")])
def test_a_system_that_lacks_most_questions_was_perhaps_not_asked_them(shared: int, reason: str) -> None:
    decision = decided([*rows("base", range(120), 6), *rows("new", range(shared), 7)])
    assert (decision.outcome, decision.reason, decision.n) == ("not_decided", reason, 120)
    assert decided([*rows("base", range(120), 9), *rows("new", range(60), 7)]).systems == ("base",)


def test_questions_that_no_system_answers_tell_nothing() -> None:
    def log(answered: int) -> Rows:
        every = [*rows("good", range(60), 9), *rows("poor", range(60), 4)]
        return [{**row, "answer": row["answer"] if at % 60 < answered else ""} for at, row in enumerate(every)]

    decision = decided(log(20))
    assert (decision.outcome, decision.reason) == ("not_decided", "few_queries")
    assert decision.sentences[0] == (
        "Not decided: a decision needs at least 30 questions with a result of any system (n = 60, 20 with one)."
    )
    assert decided(log(30)).systems == ("good",)


def test_queries_for_which_no_run_has_documents_tell_nothing_and_shared_zeros_do() -> None:
    grades = {f"q{at}": {f"right{at}": 1, f"wrong{at}": 0} for at in range(60)}
    runs = {
        "good": {f"q{at}": [f"right{at}"] for at in range(20)},
        "poor": {f"q{at}": [f"wrong{at}"] for at in range(20)},
    }
    decision = rp.compare(grades, runs, "P@1", samples=100).decision
    assert (decision.outcome, decision.reason) == ("not_decided", "few_queries")
    zeros = {name: {**run, **{f"q{at}": [f"wrong{at}"] for at in range(20, 60)}} for name, run in runs.items()}
    assert rp.compare(grades, zeros, "P@1", samples=100).decision.systems == ("good",)


def test_a_system_that_leaves_questions_unanswered_which_the_other_answers_fails_on_them() -> None:
    decision = decided([*rows("full", range(120), 9), *rows("half", range(60), 10)])
    assert (decision.outcome, decision.systems) == ("ship", ("full",))


def test_systems_that_lack_a_few_questions_each_are_compared_without_them_as_well() -> None:
    decision = decided([*rows("good", range(120), 9), *rows("poor", range(5, 125), 5)])
    assert (decision.outcome, decision.systems) == ("ship", ("good",))
    assert [(scenario.name, scenario.systems) for scenario in decision.scenarios] == [
        ("without queries that a system lacks", ("good",))
    ]


@pytest.mark.parametrize(("first", "reason"), [(0, "few_queries"), (50, "missing")])
def test_runs_of_different_queries_do_not_decide(first: int, reason: str) -> None:
    grades = {f"q{at}": {"right": 1, "wrong": 0} for at in range(300)}
    runs = {
        "often": {f"q{at}": ["right", "wrong"] if at % 10 < 6 else ["wrong"] for at in range(200 + first)},
        "rarely": {f"q{at}": ["right", "wrong"] if at % 10 < 9 else ["wrong"] for at in range(200, 300)},
    }
    decision = rp.compare(grades, runs, "P@1", margin=0.05, samples=100).decision
    assert (decision.outcome, decision.reason) == ("not_decided", reason)


def test_a_run_that_writes_ids_in_another_way_does_not_lose_for_that() -> None:
    grades = {f"{at:03}": {"right": 1, "wrong": 0} for at in range(200)}
    runs = {
        "padded": {f"{at:03}": ["right" if at % 10 < 6 else "wrong"] for at in range(200)},
        "plain": {str(at): ["right" if at % 10 < 9 else "wrong"] for at in range(200)},
    }
    decision = rp.compare(grades, runs, "P@1", samples=100).decision
    assert (decision.outcome, decision.reason) == ("not_decided", "missing")


@pytest.mark.parametrize(("kept", "outcome"), [(55, "not_decided"), (80, "ship")])
def test_a_run_file_that_lacks_many_queries_was_perhaps_cut(kept: int, outcome: str) -> None:
    grades = {f"q{at}": {"right": 1, "wrong": 0} for at in range(100)}
    runs = {
        "whole": {query: ["right" if at % 10 < 7 else "wrong"] for at, query in enumerate(grades)},
        "cut": {query: ["right" if at % 10 < 8 else "wrong"] for at, query in enumerate(grades) if at < kept},
    }
    decision = rp.compare(grades, runs, "P@1", margin=0.05, samples=100).decision
    assert decision.outcome == outcome


def test_runs_that_lack_the_same_queries_are_compared_as_they_are() -> None:
    grades = {f"q{at}": {"right": 1, "wrong": 0} for at in range(100)}
    runs = {
        name: {f"q{at}": ["right"] if at % 10 < right else ["wrong"] for at in range(80)}
        for name, right in (("good", 9), ("poor", 5))
    }
    decision = rp.compare(grades, runs, "P@1", samples=100).decision
    assert (decision.outcome, decision.systems, decision.missing) == ("ship", ("good",), ())


def test_thirty_copies_of_few_questions_do_not_decide() -> None:
    comparison = compared([*rows("good", range(120), 9, texts=12), *rows("poor", range(120), 4, texts=12)])
    decision = comparison.decision
    assert (decision.outcome, decision.reason, decision.needed) == ("not_decided", "few_queries", None)
    assert decision.sentences[0] == "Not decided: a decision needs at least 30 different queries (n = 120, 12 different)."
    note = "the 120 queries are 12 different queries: give copies one id if they are repeats, so that they count once"
    assert note in comparison.notes


def test_case_and_punctuation_make_no_other_question() -> None:
    texts = ("What is {}?", "what is {}", "WHAT  IS {} ?", "What is: {}")
    log = [{**row, "question": texts[at % 4].format(at // 4 % 10)} for at, row in enumerate(rows("good", range(40), 9))]
    log += [{**row, "question": texts[at % 4].format(at // 4 % 10)} for at, row in enumerate(rows("poor", range(40), 3))]
    assert decided(log).detail == "a decision needs at least 30 different queries (n = 40, 10 different)"


def test_many_copies_of_questions_are_noted_and_decide() -> None:
    comparison = compared([*rows("good", range(120), 9, texts=60), *rows("poor", range(120), 4, texts=60)])
    assert comparison.decision.outcome == "ship"
    assert any("are 60 different queries" in note for note in comparison.notes)
    few = compared([*rows("good", range(120), 9, texts=110), *rows("poor", range(120), 4, texts=110)])
    assert not any("different queries" in note for note in few.notes)


def copied(queries: int, copies: int, further: int = 0, lost: int = 0) -> tuple[dict[str, dict[str, int]], dict[str, Any]]:
    """Runs of queries without texts, each copied so often, which one system finds; of further queries it finds all but some."""
    names = [(f"q{at}.{copy}", at) for at in range(queries) for copy in range(copies)]
    names += [(f"f{at}", queries + at) for at in range(further)]
    docs = {name: [f"d{at}.{rank}" for rank in range(4)] for name, at in names}
    return {name: {docs[name][0]: 1, docs[name][3]: 0} for name, _ in names}, {
        "good": {name: docs[name] if at < queries + further - lost else docs[name][::-1] for name, at in names},
        "poor": {name: docs[name][::-1] if at < queries else docs[name] for name, at in names},
    }


def test_copies_of_queries_without_texts_are_known_by_their_judgements_and_documents() -> None:
    decision = rp.compare(*copied(10, 5), "P@1", samples=100).decision
    assert decision.sentences[0] == "Not decided: a decision needs at least 30 different queries (n = 50, 10 different)."
    assert rp.compare(*copied(50, 1), "P@1", samples=100).decision.outcome == "ship"


def test_a_choice_that_rests_on_copies_of_few_queries_is_not_decided() -> None:
    decision = rp.compare(*copied(4, 20, 60, 6), "P@1", samples=100).decision
    assert (decision.outcome, decision.reason) == ("not_decided", "few_queries")
    assert decision.sentences[0] == "Not decided: with copies of a query counted once the choice is open, not good."


def test_queries_that_number_their_own_documents_are_no_copies() -> None:
    grades = {f"q{at}": {"d0": 1, "d3": 0} if at % 2 else {"d1": 1, "d3": 0} for at in range(60)}
    runs = {name: {query: ["d0", "d1", "d2", "d3"][::step] for query in grades} for name, step in (("good", 1), ("poor", -1))}
    assert rp.compare(grades, runs, "P@1", samples=100).decision.outcome == "ship"


def test_equal_questions_about_different_contexts_are_different_questions() -> None:
    log = [
        {**row, "contexts": [f"The text of document {row['id']}."]}
        for row in [*rows("good", range(60), 9, texts=1), *rows("poor", range(60), 4, texts=1)]
    ]
    assert decided(log).outcome == "ship"


def test_a_gate_of_copies_of_few_questions_is_unsure() -> None:
    def outcome(texts: int) -> str:
        now, before = (rp.evaluate_answers(rows("s", range(120), right, texts=texts), measures="EM") for right in (9, 4))
        return rp.gate(now, baseline=before).outcome

    assert (outcome(12), outcome(60)) == ("unsure", "passed")


def test_a_gate_whose_outcome_rests_on_copies_is_unsure() -> None:
    def outcome(text: str | None) -> str:
        """The outcome of a build that answers 4 of 60 questions worse, and 40 further ones, copies of one text, better."""
        copies = {} if text is None else {"question": text}
        now, before = (
            rp.evaluate_answers(
                [
                    *({**row, "answer": wrong if at < 4 else "right"} for at, row in enumerate(rows("s", range(60), 10))),
                    *({**row, **copies, "answer": right} for row in rows("s", range(60, 100), 10)),
                ],
                measures="EM",
            )
            for wrong, right in (("wrong", "right"), ("right", "wrong"))
        )
        return rp.gate(now, baseline=before).outcome

    assert (outcome(None), outcome("What is it?")) == ("passed", "unsure")


def conversation_rows(system: str, conversations: int, turns: int, right: int) -> Rows:
    """Conversations of so many turns each, of which the system answers those of the first ones right, or no turn."""
    return [
        {
            "id": f"s{session}/{turn}",
            "session": f"s{session}",
            "question": f"What is {turn} of {session}?",
            "system": system,
            "answer": "right" if session < right else "wrong",
            "reference": "right",
        }
        for session in range(conversations)
        for turn in range(turns)
    ]


def test_turns_of_few_conversations_do_not_decide() -> None:
    comparison = compared([*conversation_rows("good", 12, 10, 10), *conversation_rows("poor", 12, 10, 5)])
    decision = comparison.decision
    assert (decision.outcome, decision.reason, decision.n, decision.needed) == ("not_decided", "few_queries", 120, None)
    assert decision.sentences[0] == "Not decided: a decision needs at least 30 conversations (120 turns of 12 conversations)."
    assert "the 120 questions are of 12 conversations: risks, intervals and p count conversations" in comparison.notes


def test_one_conversation_decides_nothing() -> None:
    log = [*conversation_rows("good", 1, 40, 1), *conversation_rows("poor", 1, 40, 0)]
    decision = decided(log)
    assert (decision.outcome, decision.reason) == ("not_decided", "few_queries")
    assert decision.sentences[0] == "Not decided: a decision needs at least 30 conversations (40 turns of 1 conversation)."
    now, before = (rp.evaluate_answers(conversation_rows("s", 1, 40, right), measures="EM") for right in (1, 0))
    assert rp.gate(now, baseline=before).outcome == "unsure"


def test_copies_of_conversations_are_one_conversation() -> None:
    log = [*conversation_rows("good", 12, 5, 10), *conversation_rows("poor", 12, 5, 5)]
    copies = [{**row, "id": f"{row['id']}.{copy}", "session": f"{row['session']}.{copy}"} for row in log for copy in range(5)]
    decision = decided(copies)
    assert (decision.outcome, decision.reason) == ("not_decided", "few_queries")
    assert decision.sentences[0] == "Not decided: a decision needs at least 30 conversations (300 turns of 12 conversations)."


def test_equal_turns_of_a_conversation_count_as_one_question() -> None:
    single = decided([*conversation_rows("good", 40, 1, 36), *conversation_rows("poor", 40, 1, 30)])
    log = [*conversation_rows("good", 40, 10, 36), *conversation_rows("poor", 40, 10, 30)]
    several = decided(log)
    assert (several.n, several.outcome) == (400, single.outcome)
    assert several.risk == pytest.approx(single.risk, rel=0.2)
    apart = decided([{**row, "session": row["id"]} for row in log])
    assert apart.outcome == "ship"
    assert apart.risk is not None
    assert several.risk is not None
    assert apart.risk < several.risk / 10


def test_the_table_tests_conversations_as_the_decision_does() -> None:
    single, several = (
        compared([*conversation_rows("good", 40, turns, 36), *conversation_rows("poor", 40, turns, 30)]) for turns in (1, 5)
    )
    first, second = single.pairs[0], several.pairs[0]
    assert (first.n, first.p, first.ci) == (second.n, second.p, second.ci)
    by_question = rp.compare(
        rp.evaluate_answers([*conversation_rows("good", 40, 5, 36), *conversation_rows("poor", 40, 5, 30)], measures="EM"),
        test="wilcoxon",
    )
    assert by_question.pairs[0].n == 200
    assert any(note.endswith("risks count conversations, p each question") for note in by_question.notes)


def test_a_gate_on_turns_of_few_conversations_is_unsure() -> None:
    def outcome(conversations: int) -> str:
        now, before = (
            rp.evaluate_answers(conversation_rows("s", conversations, 10, round(conversations * share)), measures="EM")
            for share in (0.9, 0.3)
        )
        return rp.gate(now, baseline=before).outcome

    assert (outcome(12), outcome(60)) == ("unsure", "passed")


@pytest.mark.parametrize(
    "variant",
    ["{question} (variant {n})", "{n}. {question}", "{question} [{n}]?", "{question} for order {n}?", "Hi, n{n}: {question}"],
)
def test_near_copies_with_the_same_reference_count_as_one_question(variant: str) -> None:
    log = [
        {
            "system": system,
            "question": variant.format(question=f"what is the {chr(97 + at)} of it", n=n),
            "answer": "right" if at < right else "wrong",
            "reference": "right",
        }
        for system, right in (("good", 9), ("poor", 4))
        for at in range(10)
        for n in range(12)
    ]
    decision = rp.compare(rp.evaluate_answers(log, measures="EM"), measures=["EM"], samples=100).decision
    assert decision.sentences[0] == "Not decided: a decision needs at least 30 different queries (n = 120, 10 different)."


def test_near_copies_with_other_references_are_different_questions() -> None:
    log = [
        {
            "system": system,
            "question": f"what does feature {at} cost",
            "answer": f"{at} euros" if at % 10 < right else "?",
            "reference": f"{at} euros",
        }
        for system, right in (("good", 9), ("poor", 4))
        for at in range(60)
    ]
    assert rp.compare(rp.evaluate_answers(log, measures="EM"), measures=["EM"], samples=100).decision.outcome == "ship"
