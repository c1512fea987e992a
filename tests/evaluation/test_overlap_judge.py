"""The overlap judge: scores that agree with the measures, and the sentences that they rest on."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rankproof._data.claims import Claim, ClaimVerdict, checkable_claims
from rankproof._data.sentences import sentences
from rankproof._evaluation.claim_judges import ClaimJudge, ClaimTask, OverlapJudge
from rankproof.errors import UsageError
from rankproof.measures._answers import AnswerCase
from rankproof.measures._claim_base import all_words, content_words, words_of_parts
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


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Oslo—the capital of Norway—has trams", "oslo capital norway has trams"),
        ("Oslo/Bergen, snake_case and well-known", "oslo bergen snake case well known"),
        ("[Oslo](https://oslo.no/a_(b)) is **big**<br>`now`", "oslo big now"),
        ("Oslo【4:0†city.pdf】 grew[1][2, 3] fast[^7] here.¹", "oslo grew fast here"),
        ("<p class='x'>H<sub>2</sub>O &amp; CO<sup>3</sup></p><!-- hidden -->", "h2o co"),
        ("3.5 km, 3,5 km, 1,000,000 and 700,000.50", "3.5 km 1000000 700000.50"),
        ("don't, Norway's U.S. U.S.A l’eau e.g. they're", "dont norway us usa l eau eg"),
        ("x<y and y>z, vector<int>", "x y z vector int"),
        ("in 1990,1991,1992; end.Next", "1990 1991 1992 end next"),
        ("co\u00adop Oslo\u200b", "coop oslo"),
        ("नमस्ते—दुनिया", "नमस्ते दुनिया"),
    ],
)
def test_words_end_at_every_character_that_is_no_letter_and_no_digit(text: str, expected: str) -> None:
    assert content_words(text) == set(expected.split())


def test_markup_in_a_claim_or_in_a_source_changes_no_score() -> None:
    plain, marked = "Oslo is the capital of Norway.", "**Oslo** is the [capital](https://a.b)—of <i>Norway</i>【1†source】."
    for claim, source in ((plain, marked), (marked, plain), (marked, marked)):
        assert judged(claim_task("answer-contexts", [claim], [source]))[0].score == 1.0


def test_a_list_item_has_the_lower_share_of_itself_and_with_its_lead_in() -> None:
    def score(text: str, lead_in: str) -> float | None:
        return judged(claim_task("answer-contexts", [Claim("answer", 1, text, 0, 4, lead_in=lead_in)], ["Rain floods Oslo."]))[
            0
        ].score

    assert score("rain", "The floods of Oslo have these causes:") == pytest.approx(3 / 5)
    assert score("fire", "The floods of Oslo have these causes:") == 0.0
    assert score("rain", "Causes:") == 1.0


def test_a_bare_yes_has_nothing_to_check_and_an_opening_does_not_count() -> None:
    bare, full = judged(claim_task("answer-contexts", ["Yes.", "Yes, based on the passages, the oven is hot."]))
    assert (bare.verdict, bare.score) == ("nothing_to_check", None)
    assert judged(claim_task("answer-contexts", ["According to the provided context, the oven is hot."]))[0].score == 1.0
    assert full.score is not None


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
    "Sure! ",
    "Causes:\n",
    "—",
    "<b>tea</b>",
    "【1†source】",
    "3.5 ",
    "1,000",
    "'s ",
    "pie_hot ",
]
TEXTS = st.lists(st.sampled_from(_PIECES), max_size=12).map("".join)


@examples(200)
@given(TEXTS, st.lists(TEXTS, min_size=1, max_size=3))
@example("Tea ", ["pie\x1eTea hot. 茶很热。"])
def test_the_scores_and_verdicts_give_the_values_by_words(answer: str, contexts: list[str]) -> None:
    case = AnswerCase(answer, ("x",), contexts=tuple(contexts))
    found = judged(ClaimTask(case, "answer-contexts", tuple(checkable_claims(answer)), tuple(contexts)))
    scores = [one.score for one in found if one.score is not None]
    value, unsupported = (
        parse_measure(f"{name}(judge='overlap')").claim_value(case, {})  # type: ignore[attr-defined]
        for name in ("Faithfulness", "Hallucination")
    )
    if not case.abstains:
        assert value == (pytest.approx(sum(scores) / len(scores)) if scores else None)
        assert unsupported == (any(one.verdict == "not_stated" for one in found) if scores else None)
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
