"""Measures of an answer by its claims: what its contexts support, and what it has in common with the references."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

from rankproof._data.claims import ClaimTable, checkable_claims
from rankproof._data.text import without_markup
from rankproof._data.wording.remarks import without_thinking
from rankproof.measures._answers import AnswerCase, SharedWords, shared_words
from rankproof.measures._base import Advice
from rankproof.measures._claim_base import (
    USEFUL_SHARE,
    ClaimMeasure,
    Outcome,
    UnitMeasure,
    Verdicts,
    all_words,
    by_reference,
    checkable_verdicts,
    claim_share,
    content_words,
    mean_credit,
    stated_words,
    without_answer,
    without_reference,
    word_cosine,
    word_share,
)

_CACHED_PAIRS = 64


def _sentence_shares(case: AnswerCase) -> list[float]:
    """The share of each claim's words that the contexts contain."""
    context_words = all_words(case.contexts or ())
    shares = (claim_share(claim, context_words) for claim in checkable_claims(case.text))
    return [share for share in shares if share is not None]


class _AnswerInContexts(UnitMeasure):
    """A measure of the answer's claims against the contexts."""

    tables: ClassVar[tuple[ClaimTable, ...]] = ("answer-contexts",)
    inputs = ("contexts",)
    with_reference = False
    without_contexts: ClassVar[float]

    def settled(self, case: AnswerCase) -> Outcome | None:
        if reason := without_answer(case):
            return reason
        if case.contexts is None:
            return "no_contexts"
        return None if case.contexts else self.without_contexts


_NONE_IF_EMPTY = " No value if the answer abstains or has nothing to check."
_BY_WORDS = " judge='overlap': "


class AnswerFaithfulness(_AnswerInContexts):
    """Supported claims of the answer, divided by its claims."""

    name = "Faithfulness"
    title = "Faithfulness to the contexts"
    formula = "supported claims of the answer / claims of the answer"
    definition = (
        "Claims of the answer that the contexts support, divided by its claims. Contradicted and not stated both count against."
        f"{_NONE_IF_EMPTY} 0 if nothing was retrieved.{_BY_WORDS}mean share of each claim's content words in the contexts."
    )
    source = "after Es et al. 2023 (ragas); an empty denominator has no value"
    advice = Advice(
        "answering",
        "an answer must say only what the retrieved passages say.",
        "systems abstain often: read AnswerRate beside it, as abstentions have no value.",
    )
    without_contexts = 0.0

    def counted(self, case: AnswerCase, verdicts: Verdicts) -> Outcome:
        return mean_credit(verdicts.get("answer-contexts", ()))

    def by_words(self, case: AnswerCase) -> Outcome:
        shares = _sentence_shares(case)
        return sum(shares) / len(shares) if shares else "no_claim"


class AnswerHallucination(_AnswerInContexts):
    """1 where a claim of the answer is not supported."""

    name = "Hallucination"
    title = "Answers with an unsupported claim"
    definition = (
        "1 if any claim of the answer is not supported by the contexts, else 0; the mean is the share of such answers."
        f"{_NONE_IF_EMPTY} 1 if nothing was retrieved. A claim with a score is supported from 0.5 on;{_BY_WORDS}the share of its"
        " content words in the contexts."
    )
    source = "as a share of answers: Vectara's leaderboard; here for any claim that is not supported"
    higher_is_better = False
    advice = Advice(
        "answering",
        "one wrong claim spoils an answer.",
        "answers have very different lengths: a longer answer has more chances of an unsupported claim.",
    )
    without_contexts = 1.0

    def counted(self, case: AnswerCase, verdicts: Verdicts) -> Outcome:
        checkable = checkable_verdicts(verdicts.get("answer-contexts", ()))
        return float(any(verdict.verdict != "supported" for verdict in checkable)) if checkable else "no_claim"

    def by_words(self, case: AnswerCase) -> Outcome:
        shares = _sentence_shares(case)
        return float(min(shares) < USEFUL_SHARE) if shares else "no_claim"


class QuestionRelevance(ClaimMeasure):
    """The grade of how well the answer addresses the question."""

    name = "AnswerRelevance"
    title = "Relevance of the answer to the question"
    formula = "grade of the answer / 3"
    definition = (
        "Grade from 0 to 3 of how well the answer addresses the question, divided by 3. No value if the answer abstains."
        f"{_BY_WORDS}cosine of the content words of question and answer, a weak baseline."
    )
    source = "a direct grade, as in TruLens; ragas compares the question with questions generated from the answer"
    advice = Advice(
        "answering",
        "answers may be true and beside the question.",
        "correctness matters: a wrong answer to the right question scores high.",
    )
    tables: ClassVar[tuple[ClaimTable, ...]] = ("answer-question",)
    inputs = ("question",)
    with_reference = False

    def settled(self, case: AnswerCase) -> Outcome | None:
        if reason := without_answer(case):
            return reason
        return "no_question" if not case.question.strip() else None if checkable_claims(case.text) else "no_claim"

    def counted(self, case: AnswerCase, verdicts: Verdicts) -> Outcome:
        return mean_credit(verdicts.get("answer-question", ()))

    def by_words(self, case: AnswerCase) -> Outcome:
        cosine = word_cosine(content_words(case.question), content_words(without_thinking(case.text)))
        return "no_claim" if cosine is None else cosine


@dataclass(frozen=True, slots=True)
class _Agreement:
    """Precision, recall and F1 of the claims of an answer and one reference."""

    precision: Outcome
    recall: Outcome

    @property
    def f1(self) -> Outcome:
        if isinstance(self.recall, str):
            return self.recall
        if isinstance(self.precision, str) or not self.precision + self.recall:
            return 0.0
        return 2 * self.precision * self.recall / (self.precision + self.recall)


def _best_agreement(agreements: Sequence[_Agreement]) -> _Agreement:
    """That of the reference with the highest F1; a reference without claims only where no other is there."""

    def rank(agreement: _Agreement) -> float:
        return -1.0 if isinstance(agreement.f1, str) else agreement.f1

    return max(agreements, key=rank)


class _AgainstReference(UnitMeasure):
    """A measure of the claims that answer and reference have in common; one reference counts, that of the highest F1."""

    own_table: ClassVar[ClaimTable]

    def needed(self, case: AnswerCase) -> tuple[ClaimTable, ...]:
        both: tuple[ClaimTable, ...] = ("answer-reference", "reference-answer")
        return both if len(case.references) > 1 or len(self.tables) > 1 else (self.own_table,)

    @abstractmethod
    def part(self, agreement: _Agreement) -> Outcome:
        """The value of the best reference."""

    def counted(self, case: AnswerCase, verdicts: Verdicts) -> Outcome:
        ours, theirs = (by_reference(verdicts.get(table, ())) for table in ("answer-reference", "reference-answer"))
        numbers = range(1, len(case.references) + 1)
        every = [_Agreement(mean_credit(ours.get(n, ())), mean_credit(theirs.get(n, ()))) for n in numbers]
        return self.part(_best_agreement(every))

    def by_words(self, case: AnswerCase) -> Outcome:
        return self.part(_best_agreement([_word_agreement(case.text, reference) for reference in case.references]))


@lru_cache(maxsize=_CACHED_PAIRS)
def agreement_words(answer: str, reference: str) -> SharedWords:
    """The content words of the sentences that state something; all words if the reference has no content words, as in "No"."""
    words = SharedWords(stated_words(answer), stated_words(reference))
    return words if words.reference else shared_words(without_markup(without_thinking(answer)), without_markup(reference))


def _word_agreement(answer: str, reference: str) -> _Agreement:
    """Precision and recall of these words."""
    words = agreement_words(answer, reference)
    precision, recall = (word_share(side, words.shared) for side in (words.answer, words.reference))
    return _Agreement("no_claim" if precision is None else precision, "no_claim" if recall is None else recall)


_OF_WORDS = "of the sets of content words; with stop words if the reference has no others."


class ClaimPrecision(_AgainstReference):
    """Claims of the answer that the reference supports, divided by the claims of the answer."""

    name = "ClaimP"
    title = "Claim precision"
    formula = "claims of the answer in the reference / claims of the answer"
    definition = (
        "Claims of the answer that the reference supports, divided by its claims."
        f"{_NONE_IF_EMPTY} 0 for an answer to a question that has none.{_BY_WORDS}the precision {_OF_WORDS}"
    )
    source = "Ru et al. 2024 (RAGChecker); an empty denominator has no value"
    advice = Advice(
        "answering",
        "wrong claims cost more than missing ones.",
        "references are short: true claims that the reference lacks count against the answer.",
    )
    tables: ClassVar[tuple[ClaimTable, ...]] = ("answer-reference",)
    own_table = "answer-reference"

    def settled(self, case: AnswerCase) -> Outcome | None:
        if reason := without_answer(case):
            return reason
        reason = without_reference(case)
        return 0.0 if reason == "unanswerable" else reason

    def part(self, agreement: _Agreement) -> Outcome:
        return agreement.precision


class ClaimRecall(_AgainstReference):
    """Claims of the reference that the answer states, divided by the claims of the reference."""

    name = "ClaimR"
    title = "Claim recall, or completeness"
    formula = "claims of the reference in the answer / claims of the reference"
    definition = (
        "Claims of the reference that the answer states, divided by the claims of the reference. 0 if the answer abstains or is"
        f" missing; no value if the question has no answer.{_BY_WORDS}the recall {_OF_WORDS}"
    )
    source = "Ru et al. 2024 (RAGChecker); an empty denominator has no value"
    advice = Advice("answering", "an answer must be complete.", "references are longer than a good answer.")
    tables: ClassVar[tuple[ClaimTable, ...]] = ("reference-answer",)
    own_table = "reference-answer"

    def settled(self, case: AnswerCase) -> Outcome | None:
        return without_reference(case) or (0.0 if without_answer(case) else None)

    def part(self, agreement: _Agreement) -> Outcome:
        return agreement.recall


class ClaimFScore(_AgainstReference):
    """The harmonic mean of claim precision and claim recall."""

    name = "ClaimF1"
    title = "F1 of claims"
    formula = "2 ClaimP ClaimR / (ClaimP + ClaimR)"
    definition = (
        "Harmonic mean of ClaimP and ClaimR, each over its own claims. 0 if the answer is missing, or abstains though there is an"
        " answer; 1 for abstaining and 0 for answering if the question has no answer."
        f"{_BY_WORDS}the F1 {_OF_WORDS}"
    )
    source = "Ru et al. 2024 (RAGChecker)"
    advice = Advice(
        "answering",
        "one number for correctness is needed.",
        "the balance between wrong and missing claims matters: report ClaimP and ClaimR.",
    )
    tables: ClassVar[tuple[ClaimTable, ...]] = ("answer-reference", "reference-answer")
    own_table = "answer-reference"

    def settled(self, case: AnswerCase) -> Outcome | None:
        reason = without_reference(case)
        if reason == "unanswerable":
            return float(without_answer(case) == "abstained")
        return reason or (0.0 if without_answer(case) else None)

    def part(self, agreement: _Agreement) -> Outcome:
        return agreement.f1


Faithfulness = AnswerFaithfulness()
Hallucination = AnswerHallucination()
AnswerRelevance = QuestionRelevance()
ClaimP = ClaimPrecision()
ClaimR = ClaimRecall()
ClaimF1 = ClaimFScore()
