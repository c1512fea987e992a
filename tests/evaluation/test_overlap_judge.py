"""The overlap judge: scores that agree with the measures, and the sentences that they rest on."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rankproof._data.claims import Claim, ClaimVerdict, claims_of
from rankproof._data.sentences import sentences
from rankproof._evaluation.claim_judges import ClaimJudge, ClaimTask
from rankproof._evaluation.overlap_judge import OverlapJudge
from rankproof.errors import UsageError
from rankproof.measures._answers import AnswerCase
from rankproof.measures._overlap import all_words, content_words, words_of_parts
from rankproof.measures._parse import parse_measure
from support.claim_tasks import claim_task, silent
from support.examples import examples

JUDGE: ClaimJudge = OverlapJudge()


def judged(task: ClaimTask) -> tuple[ClaimVerdict, ...]:
    (found,) = JUDGE.judge([task], silent)
    return found


def test_the_evidence_is_the_sentence_with_the_most_words_of_the_claim() -> None:
    (one,) = judged(claim_task("answer-contexts", ["The oven is hot today."]))
    assert (one.verdict, one.evidence) == ("supported", ((1, 2),))
    assert one.score == pytest.approx(2 / 3)


def test_a_second_sentence_is_evidence_if_it_adds_a_quarter_of_the_words() -> None:
    sources = ("Alpha beta gamma. Alpha delta.", "Epsilon zeta. Beta gamma.")
    (one,) = judged(claim_task("answer-contexts", ["Alpha beta gamma epsilon"], sources))
    assert one.evidence == ((1, 1), (2, 1))
    (one,) = judged(claim_task("answer-contexts", ["Alpha beta gamma epsilon more words that nobody wrote"], sources))
    assert one.evidence == ((1, 1),)


def test_of_equal_sentences_the_first_is_evidence_and_contexts_keep_their_numbers() -> None:
    (one,) = judged(claim_task("answer-cited", ["Tea"], ("Hot tea. Cold tea.", "Tea."), shown=(4, 7)))
    assert (one.evidence, one.shown) == (((4, 1),), (4, 7))


@pytest.mark.parametrize(("claim", "verdict"), [("tea pie oven sun", "supported"), ("tea pie sun moon", "not_stated")])
def test_a_nugget_needs_three_quarters_of_its_words(claim: str, verdict: str) -> None:
    (one,) = judged(claim_task("nugget-answer", [claim], ["Tea and pie in the oven."]))
    assert one.verdict == verdict
    assert judged(claim_task("reference-answer", [claim], ["Tea and pie in the oven."]))[0].verdict == "supported"


def test_a_claim_without_content_words_has_nothing_to_check() -> None:
    one, other = judged(claim_task("answer-contexts", ["It is not.", "Tea."]))
    assert (one.verdict, one.score, one.evidence) == ("nothing_to_check", None, ())
    assert other.verdict == "supported"


@pytest.mark.parametrize("sources", [(), ("",), ("  \n", "It is.")])
def test_sources_without_words_support_nothing(sources: tuple[str, ...]) -> None:
    (one,) = judged(claim_task("answer-contexts", ["Tea is hot."], sources))
    assert (one.verdict, one.score, one.evidence) == ("not_stated", 0.0, ())


def test_against_a_question_answers_have_a_cosine_and_contexts_a_grade() -> None:
    question = "How long does the pie bake?"
    (answer,) = judged(claim_task("answer-question", ["The pie bakes for one hour."], [question]))
    assert answer.score == pytest.approx(1 / (5 * 4) ** 0.5)
    contexts = ["Tea.", "How long the pie stays.", "How long does a pie bake"]
    task = claim_task("context-question", [Claim("context", n, text) for n, text in enumerate(contexts, 1)], [question])
    assert [one.score for one in judged(task)] == [0.0, pytest.approx(2 / 3), 1.0]
    assert judged(claim_task("answer-question", ["Yes."], ["Is it?"]))[0].verdict == "nothing_to_check"


_PIECES = [
    "Tea ",
    "hot. ",
    "is ",
    "pie",
    "\n- ",
    "1. ",
    "[1] ",
    "茶很热。",
    "ชาร้อน ",
    "Ä ",
    "e\u0301 ",
    "x.y ",
    "? ",
    "\x1e",
    "The ",
]
TEXTS = st.lists(st.sampled_from(_PIECES), max_size=12).map("".join)


@examples(200)
@given(TEXTS, st.lists(TEXTS, min_size=1, max_size=3))
@example("Tea ", ["pie\x1eTea hot. 茶很热。"])
def test_the_mean_score_is_faithfulness_by_words(answer: str, contexts: list[str]) -> None:
    case = AnswerCase(answer, ("x",), contexts=tuple(contexts))
    found = judged(ClaimTask(case, "answer-contexts", claims_of(answer, "answer"), tuple(contexts)))
    scores = [one.score for one in found if one.score is not None]
    value = parse_measure("Faithfulness(judge='overlap')").claim_value(case, {})  # type: ignore[attr-defined]
    assert value == (pytest.approx(sum(scores) / len(scores)) if scores else None)
    for one in found:
        assert all(1 <= number <= len(contexts) for number, _ in one.evidence)
        assert all(1 <= at <= len(sentences(contexts[number - 1])) for number, at in one.evidence)
        assert bool(one.evidence) == bool(one.score)


@examples(200)
@given(st.lists(TEXTS, max_size=5))
def test_words_of_parts_are_the_words_of_each_part(parts: list[str]) -> None:
    assert words_of_parts(parts) == [content_words(part) for part in parts]
    assert frozenset().union(*words_of_parts(parts)) == all_words(parts)


def test_the_judge_asks_no_model_and_writes_no_claims() -> None:
    task = claim_task("answer-contexts", ["Tea."])
    assert JUDGE.estimate([task]).calls == 0
    assert JUDGE.varied(repeat=2, reverse=True).label == JUDGE.label
    assert re.fullmatch(r"overlap:0\.5:[0-9a-f]{8}", JUDGE.label)
    with pytest.raises(UsageError, match="atomic claims"):
        JUDGE.extract([("What?", "Tea.")], silent)
