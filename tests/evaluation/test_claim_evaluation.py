"""Evaluation by claims: what is asked, what is shared and known, and what is counted where there is no value."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from rankproof._analysis.compare.comparison import compare_inputs
from rankproof._analysis.inputs import AnalysisInput
from rankproof._data.answers import Answer, Answers
from rankproof._data.claims import Claim, ClaimVerdict, Nugget, Verdict
from rankproof._data.qrels import Qrels
from rankproof._data.wording.remarks import declines_to_answer
from rankproof._evaluation.answers import evaluate_answers
from rankproof._evaluation.claim_judges import ClaimJudge, ClaimTask, NoCalls
from rankproof._evaluation.result import Result
from rankproof._io.open import Progress
from rankproof._render.formats import RESULT_FORMATS, RenderOptions
from rankproof.errors import UsageError


@dataclass
class WordJudge:
    """Supports a claim if a source contains its first word; fails on a claim with the word `boom`."""

    name: str = "words"
    label: str = "llm:words:12345678"
    has_scores: bool = False
    asked: list[ClaimTask] = field(default_factory=list)
    extracted: list[tuple[str, str]] = field(default_factory=list)

    def judge(self, tasks: Sequence[ClaimTask], progress: Progress) -> list[tuple[ClaimVerdict, ...]]:
        self.asked += tasks
        return [tuple(self._verdict(task, claim) for claim in task.claims) for task in tasks]

    def _verdict(self, task: ClaimTask, claim: Claim) -> ClaimVerdict:
        word = claim.text.split()[0].lower().strip(".!")
        found = [n for n, source in zip(task.numbers, task.sources, strict=True) if word in source.lower()]
        verdict: Verdict = "failed" if "boom" in claim.text else "supported" if found else "not_stated"
        evidence = tuple((n, 1) for n in found) if verdict == "supported" else ()
        return task.verdict(claim, verdict, self.label, evidence=evidence, reason="no reply" if verdict == "failed" else "")

    def extract(self, texts: Sequence[tuple[str, str]], progress: Progress) -> list[tuple[str, ...] | None]:
        self.extracted += texts
        return [
            None if "boom" in text else tuple(text.rstrip(".").split(" and ")) if text != "Sure." else () for _, text in texts
        ]

    def varied(self, *, repeat: int = 0, reverse: bool = False) -> ClaimJudge:
        return self

    def estimate(self, tasks: Sequence[ClaimTask]) -> NoCalls:
        return NoCalls()


PASSAGES = {"p1": "lang opened the bridge", "p2": "penguins swim", "p3": "steel"}
QUESTIONS = {"q1": "Who opened it?", "q2": "Who swims?"}
REFERENCES = {"q1": ["Lang did."], "q2": ["Penguins do."]}
TWO_SYSTEMS = {
    "a": Answers({"q1": Answer("Lang did. Steel is strong.", given=("p1", "p2")), "q2": Answer("Penguins.", given=("p2",))}),
    "b": Answers({"q1": Answer("Smith did.", given=("p1", "p2")), "q2": Answer("Penguins.", given=("p2",))}),
}


def evaluated(
    answers: Mapping[str, Mapping[str, Answer | str]], measures: str, judge: WordJudge | None = None, **more: Any
) -> Result:
    judge_of: Callable[[str], ClaimJudge] | None = None if judge is None else lambda name: judge
    given: dict[str, Any] = {"questions": QUESTIONS, "passage": PASSAGES.get, "judge_of": judge_of} | more
    return evaluate_answers(answers, given.pop("references", REFERENCES), None, measures, **given)


def counts(result: Result, system: str, measure: str) -> Mapping[str, int]:
    return next(one for one in result.systems if one.name == system).measures[measure].counts


def test_a_table_that_several_measures_need_is_asked_once() -> None:
    judge = WordJudge()
    evaluated(TWO_SYSTEMS, "Faithfulness(judge='words') Hallucination(judge='words') ContextR(judge='words')", judge)
    assert [task.table for task in judge.asked].count("answer-contexts") == 3


def test_systems_with_the_same_contexts_share_the_verdicts_on_the_reference() -> None:
    judge = WordJudge()
    result = evaluated(TWO_SYSTEMS, "ContextR(judge='words')", judge)
    assert len(judge.asked) == 2
    assert {(one.query, one.system) for one in result.claims} == {(query, system) for query in REFERENCES for system in "ab"}
    assert result.means == {system: {"ContextR(judge='words')": 1.0} for system in "ab"}


def test_nothing_is_asked_where_the_value_is_settled() -> None:
    judge = WordJudge()
    answers = {"a": {"q1": Answer("", state="abstained", given=("p1",)), "q2": Answer("Penguins.", given=())}}
    result = evaluated(answers, "Faithfulness(judge='words') Hallucination(judge='words')", judge)
    assert judge.asked == []
    assert result.per_query("a") == {"Faithfulness(judge='words')": {"q2": 0.0}, "Hallucination(judge='words')": {"q2": 1.0}}
    assert counts(result, "a", "Faithfulness(judge='words')") == {"abstained": 1}


def test_sentences_that_state_nothing_are_not_asked_and_do_not_count() -> None:
    judge = WordJudge()
    text = "<think>Smith? No.</think>\nSure! Here is a summary:\n\nLang did it.\n\nLet me know if you need more!"
    measures = "Faithfulness(judge='words') Hallucination(judge='words')"
    result = evaluated({"a": {"q1": Answer(text, given=("p1",))}}, measures, judge)
    assert [[claim.text for claim in task.claims] for task in judge.asked] == [["Lang did it."]]
    assert [(one.claim.n, one.verdict, one.claim.remark) for one in result.claims] == [
        (1, "nothing_to_check", "thinking"),
        (2, "nothing_to_check", "greeting"),
        (3, "nothing_to_check", "lead-in"),
        (4, result.claims[3].verdict, None),
        (5, "nothing_to_check", "offer of help"),
    ]
    only = evaluated({"a": {"q1": Answer("Sure! Let me know!", given=("p1",))}}, measures, judge)
    assert only.per_query("a") == {name: {} for name in measures.split()}
    assert counts(only, "a", "Faithfulness(judge='words')")["no_claim"] == 1


EVERY = (
    "Faithfulness(judge='words') ClaimF1(judge='words') ContextP(judge='words') Utilisation(judge='words')"
    " AnswerRelevance(judge='words') ContextRelevance(judge='words') NuggetR(judge='words') CiteP(by='support',judge='words')"
)
NUGGETS = {"q1": [Nugget("Lang did"), Nugget("Steel", "okay")]}


def test_every_value_follows_from_the_verdicts_without_asking() -> None:
    cited = {"a": Answers({"q1": Answer("Lang did [1][2]. Steel boom [2].", given=("p1", "p2", "p3"))})}
    for answers in (TWO_SYSTEMS, cited):
        first = evaluated(answers, EVERY, WordJudge(), nuggets=NUGGETS)
        again = evaluated(answers, EVERY, None, nuggets=NUGGETS, known=first.claims)
        assert again.claims == first.claims
        for system in answers:
            assert again.per_query(system) == first.per_query(system)
            assert [counts(again, system, name) for name in first.means[system]] == [
                counts(first, system, name) for name in first.means[system]
            ]


def test_known_verdicts_are_not_asked_again_and_failed_ones_are() -> None:
    answers = {"a": Answers({"q1": Answer("Lang did.", given=("p1",)), "q2": Answer("Steel boom.", given=("p3",))})}
    first = evaluated(answers, "Faithfulness(judge='words')", WordJudge())
    judge = WordJudge()
    evaluated(answers, "Faithfulness(judge='words')", judge, known=first.claims)
    assert [task.case.query for task in judge.asked] == ["q2"]
    changed = [replace(one, claim=replace(one.claim, text="Another.")) for one in first.claims]
    judge = WordJudge()
    evaluated(answers, "Faithfulness(judge='words')", judge, known=changed)
    assert len(judge.asked) == 2


def test_a_failed_verdict_is_counted_and_gives_bounds() -> None:
    answers = {"a": Answers({"q1": Answer("Lang did.", given=("p1",)), "q2": Answer("Steel boom.", given=("p3",))})}
    (system,) = evaluated(answers, "Faithfulness(judge='words')", WordJudge()).systems
    one = system.measures["Faithfulness(judge='words')"]
    assert (one.per_query, one.counts, one.bounds) == ({"q1": 1.0}, {"failed": 1}, (0.5, 1.0))
    assert [note.text for note in system.notes if note.code == "failed-verdicts"] == [
        "1 query has no value, because the judge failed; bounds of the mean with them: Faithfulness(judge='words') 0.500 to 1.000"
    ]


def test_a_mean_of_no_values_is_missing_and_not_0() -> None:
    answers = {"a": {"q1": Answer("", state="abstained", given=("p1",))}}
    result = evaluated(answers, "Faithfulness", questions={"q1": "?"}, references={"q1": ["Lang"]})
    assert math.isnan(result.value("Faithfulness"))
    assert "–" in str(result)
    assert "nan" not in str(result)


def test_questions_without_a_reference_count_in_measures_that_need_none() -> None:
    result = evaluated(TWO_SYSTEMS, "Faithfulness ContextR EM AnswerRate", references={"q1": ["Lang did."]})
    assert result.queries == ("q1", "q2")
    assert {name: list(each) for name, each in result.per_query("a").items()} == {
        "Faithfulness(judge='overlap')": ["q1", "q2"],
        "ContextR(judge='overlap')": ["q1"],
        "EM": ["q1"],
        "AnswerRate": ["q1", "q2"],
    }
    assert evaluated(TWO_SYSTEMS, "EM", references={"q1": ["Lang did."]}).queries == ("q1",)


def test_the_verdicts_of_shared_words_are_shown_and_give_the_mean() -> None:
    result = evaluated(TWO_SYSTEMS, "Faithfulness")
    shown = [one for one in result.claims if one.system == "a" and one.query == "q1"]
    assert [(one.claim.text, one.verdict, one.score) for one in shown] == [
        ("Lang did.", "supported", 0.5),
        ("Steel is strong.", "not_stated", 0.0),
    ]
    assert result.per_query("a")["Faithfulness(judge='overlap')"]["q1"] == 0.25


def test_atomic_claims_are_written_once_for_each_text() -> None:
    judge = WordJudge()
    answers = {name: Answers({"q1": Answer("Lang did and penguins swim.", given=("p1", "p2"))}) for name in "ab"}
    result = evaluated(answers, "Faithfulness(judge='words',unit='claim') ClaimP(judge='words',unit='claim')", judge)
    assert judge.extracted == [("Who opened it?", "Lang did and penguins swim.")]
    assert [one.claim.text for one in result.claims if one.system == "a" and one.against == "contexts"] == [
        "Lang did",
        "penguins swim",
    ]
    assert result.means["a"] == {"Faithfulness(judge='words',unit='claim')": 1.0, "ClaimP(judge='words',unit='claim')": 0.5}
    again = evaluated(answers, "Faithfulness(judge='words',unit='claim')", None, known=result.claims)
    assert again.per_query("b") == {"Faithfulness(judge='words',unit='claim')": {"q1": 1.0}}


def test_known_atomic_claims_are_not_written_again() -> None:
    answers = {"a": Answers({"q1": Answer("Lang did and steel.", given=("p1",)), "q2": Answer("Sure.", given=("p2",))})}
    first = evaluated(answers, "Faithfulness(judge='words',unit='claim')", WordJudge())
    judge = WordJudge()
    measures = "Faithfulness(judge='words',unit='claim') ClaimP(judge='words',unit='claim')"
    again = evaluated(answers, measures, judge, known=first.claims)
    assert judge.extracted == []
    assert [(task.table, [claim.text for claim in task.claims]) for task in judge.asked] == [
        ("answer-reference", ["Lang did", "steel"])
    ]
    assert counts(again, "a", "ClaimP(judge='words',unit='claim')") == {"no_claim": 1}


def test_claims_that_could_not_be_written_are_written_again() -> None:
    answers = {"a": Answers({"q1": Answer("A boom.", given=("p1",))})}
    name = "Faithfulness(judge='words',unit='claim')"
    judge = WordJudge()
    evaluated(answers, name, judge, known=evaluated(answers, name, WordJudge()).claims)
    assert judge.extracted == [("Who opened it?", "A boom.")]


def test_nuggets_keep_the_importance_of_their_own_question() -> None:
    answers = {"a": Answers({query: Answer("Lang did.") for query in ("q1", "q2")})}
    nuggets = {"q1": [Nugget("Lang"), Nugget("Smith", "okay")], "q2": [Nugget("Lang", "okay"), Nugget("Smith")]}
    judge, name = WordJudge(), "NuggetR(judge='words')"
    result = evaluated(answers, name, judge, nuggets=nuggets, questions=dict.fromkeys(nuggets, "Who opened it?"))
    assert len(judge.asked) == 1
    assert result.per_query("a") == {name: {"q1": 1.0, "q2": 0.0}}
    swapped = evaluated(answers, name, None, nuggets={"q1": nuggets["q2"], "q2": nuggets["q1"]}, known=result.claims)
    assert swapped.per_query("a") == {name: {"q1": 0.0, "q2": 1.0}}


def test_claims_that_could_not_be_written_fail_and_an_empty_list_is_nothing_to_check() -> None:
    answers = {"a": Answers({"q1": Answer("A boom.", given=("p1",)), "q2": Answer("Sure.", given=("p2",))})}
    name = "Faithfulness(judge='words',unit='claim')"
    result = evaluated(answers, name, WordJudge())
    assert counts(result, "a", name) == {"failed": 1, "no_claim": 1}
    assert [(one.verdict, one.reason) for one in result.claims] == [
        ("failed", "its claims could not be written"),
        ("nothing_to_check", ""),
    ]
    assert counts(evaluated(answers, name, None, known=result.claims), "a", name) == {"failed": 1, "no_claim": 1}


def test_cites_are_asked_together_then_alone_then_without_each() -> None:
    judge = WordJudge()
    answers = {"a": Answers({"q1": Answer("Lang did [1][2][3].", given=("p1", "p2", "p3"))})}
    result = evaluated(answers, "CiteR(by='support',judge='words') CiteP(by='support',judge='words')", judge)
    assert [task.shown for task in judge.asked] == [(1, 2, 3), (1,), (2,), (3,), (1, 3), (1, 2)]
    assert [values["q1"] for values in result.per_query("a").values()] == [1.0, 1 / 3]
    judge = WordJudge()
    evaluated(answers, "CiteR(by='support',judge='words')", judge)
    assert [task.shown for task in judge.asked] == [(1, 2, 3)]


def test_an_unknown_passage_makes_the_contexts_unknown() -> None:
    answers = {
        "a": Answers({"q1": Answer("Lang.", given=("p1", "lost")), "q2": Answer("Penguins.", given=("p2",))}),
    }
    result = evaluated(answers, "Faithfulness")
    assert counts(result, "a", "Faithfulness(judge='overlap')") == {"no_contexts": 1}


@pytest.mark.parametrize(
    ("measure", "more", "message"),
    [
        ("Faithfulness", {"passage": None}, "needs the texts of the passages"),
        ("AnswerRelevance", {"questions": None}, "needs the texts of the questions"),
        ("NuggetR", {}, "needs nuggets"),
        ("Faithfulness(judge='gpt-4o-mini')", {}, "needs the judge gpt-4o-mini"),
        ("ClaimF1", {"references": {}}, "no query has a reference"),
    ],
)
def test_what_a_measure_lacks_is_named(measure: str, more: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        evaluated(TWO_SYSTEMS, measure, **more)


def test_verdicts_of_another_judge_are_not_used() -> None:
    known = evaluated(TWO_SYSTEMS, "Faithfulness(judge='words')", WordJudge()).claims
    with pytest.raises(UsageError, match="no verdicts of the judge nli:other"):
        evaluated(TWO_SYSTEMS, "Faithfulness(judge='nli:other')", None, known=known)
    two = [*known, *(replace(one, judge="llm:more:87654321") for one in known)]
    with pytest.raises(UsageError, match="no verdicts of the judge other"):
        evaluated(TWO_SYSTEMS, "Faithfulness(judge='other')", None, known=two)
    with pytest.raises(UsageError, match="no verdict of the judge words on query q1"):
        evaluated(TWO_SYSTEMS, "Faithfulness(judge='words')", None, known=known[2:])


def test_abstentions_by_wording_are_noted() -> None:
    answers = {"a": {"q1": Answer("I don't know.", given=("p1",)), "q2": Answer("Penguins.", given=("p2",))}}
    result = evaluated(answers, "Faithfulness AnswerRate EM")
    assert counts(result, "a", "Faithfulness(judge='overlap')") == {"abstained": 1}
    assert result.per_query("a")["AnswerRate"] == {"q1": 0.0, "q2": 1.0}
    assert {note.code: note.count for note in result.notes["a"]}["abstentions-by-wording"] == 1


DECLINES = [
    "I don't know.",
    "I do not know the answer",
    "I'm sorry, but I cannot answer this question from the passages.",
    "The passages do not contain the answer.",
    "The provided context does not mention when the bridge was opened.",
    "Based on the provided context, I cannot determine who opened it.",
    "There is not enough information to answer the question.",
    "The answer is not given in the passages.",
    "This question cannot be answered from the given context.",
    "I could not find an answer in the search results. Please provide more details.",
    "I’m sorry. I don’t have enough information to answer that. [1]",
    "No answer",
    "N/A",
    "Based on the given context, it is not possible to answer the question.",
    "It is impossible to determine the answer from the provided passages.",
    "As an AI language model, I cannot answer that.",
    "There is no information on the bridge, as the passages are about ships.",
]
ANSWERS = [
    "There is no information asymmetry in a perfect market.",
    "It is not possible to answer a summons by mail.",
    "It is impossible to determine position and momentum at once.",
    "We don't know what dark matter is made of.",
    "There is no evidence that vitamin C cures colds.",
    "I don't know, but it was probably 1932.",
    "The passages do not say when, but Jack Lang opened it.",
    "Unknown.",
    "No.",
    "",
    "The context does not mention 1932. It was opened in 1937.",
    "It is not known who wrote it.",
    "The treaty does not contain a clause on fishing.",
    "I cannot recommend aspirin for children.",
    "The data do not support the claim; the effect is small.",
    "No information was lost in the fire, because the archive had been copied.",
    "The answer is not simple: it depends on the state.",
    "It was opened by Jack Lang. I do not know when.",
    "The text does not say this; it says that Lang opened it in 1932.",
]


@pytest.mark.parametrize("text", DECLINES)
def test_a_text_that_only_declines_abstains(text: str) -> None:
    assert declines_to_answer(text)


@pytest.mark.parametrize("text", ANSWERS)
def test_a_text_that_says_anything_else_is_an_answer(text: str) -> None:
    assert not declines_to_answer(text)


def test_a_missing_mean_is_null_empty_and_left_out_of_machine_formats() -> None:
    answers = {"a": {"q1": Answer("Lang.", given=("p1",))}, "b": {"q1": Answer("", state="abstained", given=("p1",))}}
    result = evaluated(answers, "Faithfulness", questions={"q1": "?"}, references={"q1": ["Lang"]})
    rendered = {name: RESULT_FORMATS[name](result, RenderOptions()) for name in RESULT_FORMATS}
    name = "Faithfulness(judge='overlap')"
    assert [system["measures"][name]["value"] for system in json.loads(rendered["json"])["systems"]] == [1.0, None]
    assert rendered["csv"].splitlines()[-1] == f'b,,"{name}",mean,0,'
    assert rendered["trec"].count(name) == 1
    assert all("nan" not in text for text in rendered.values())


@pytest.mark.parametrize(("failing", "decided"), [(0, True), (10, True), (60, False)])
def test_a_difference_that_failed_verdicts_could_reverse_is_not_decided(failing: int, decided: bool) -> None:
    queries = [f"q{at}" for at in range(120)]
    texts = ["Lang boom." if at < failing else "Lang did." for at in range(120)]
    good = Answers({query: Answer(text, given=("p1",)) for query, text in zip(queries, texts, strict=True)})
    bad = Answers({query: Answer("Lang did." if at % 3 else "Smith did.", given=("p1",)) for at, query in enumerate(queries)})
    name = "Faithfulness(judge='words')"
    result = evaluated({"good": good, "bad": bad}, name, WordJudge(), questions=dict.fromkeys(queries, "?"), references={})
    inputs = AnalysisInput("answers", "", Qrels.from_dict({}), {}, result)
    decision = compare_inputs(inputs, measures=[name], labels_by="people").decision
    assert (decision.decided, decision.first) == (decided, "good" if decided else "bad")
    assert decision.reason == (None if decided else "missing")
    assert decided or "the judge gave good no value for 50% of the questions" in decision.detail
