"""Measures of nuggets that an answer states, and of how often systems answer and abstain."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from rankproof._data.claims import ClaimTable, ClaimVerdict, Nugget
from rankproof._data.wording.remarks import without_thinking
from rankproof._registry import Option
from rankproof.measures._answers import AnswerCase, AnswerMeasure, Encode
from rankproof.measures._base import Advice
from rankproof.measures._claim_base import ClaimMeasure, Outcome, Verdicts, checkable_verdicts, without_answer
from rankproof.measures._overlap import NUGGET_SHARE, content_words, word_share

NuggetChoice = Literal["vital", "all"]


@dataclass(frozen=True, kw_only=True, repr=False)
class NuggetRecall(ClaimMeasure):
    """Nuggets that the answer states, divided by the nuggets."""

    strict: Annotated[bool, Option("whether only a full statement counts")] = True
    of: Annotated[NuggetChoice, Option("the nuggets that count")] = "vital"
    name = "NuggetR"
    title = "Nugget recall"
    formula = "nuggets in the answer / nuggets"
    definition = (
        "Nuggets that the answer states in full, divided by the nuggets; of='vital' counts vital nuggets, of='all' all of them."
        " strict=False: the judge's score of each nugget counts. 0 if the answer abstains or is missing; no value without such a"
        " nugget. judge='overlap': a nugget is stated if 3/4 of its content words are in the answer; strict=False: their share."
    )
    source = "strict vital score of Pradeep et al. 2025 (TREC RAG, AutoNuggetizer)"
    advice = Advice(
        "answering",
        "people wrote or confirmed the facts that a good answer has.",
        "single answers are compared: nuggets rank systems, they are unreliable for one question.",
    )
    tables: ClassVar[tuple[ClaimTable, ...]] = ("nugget-answer",)
    inputs = ("nuggets",)
    with_reference = False

    def settled(self, case: AnswerCase) -> Outcome | None:
        if not self._chosen(case) or case.answerable is False:
            return "no_nugget"
        return 0.0 if without_answer(case) else None

    def _chosen(self, case: AnswerCase) -> list[Nugget]:
        return [nugget for nugget in case.nuggets or () if self.of == "all" or nugget.importance == "vital"]

    def used_verdicts(self, verdicts: Sequence[ClaimVerdict]) -> Sequence[ClaimVerdict]:
        """Those of the nuggets that count."""
        return [verdict for verdict in verdicts if self.of == "all" or verdict.importance == "vital"]

    def counted(self, case: AnswerCase, verdicts: Verdicts) -> Outcome:
        checkable = checkable_verdicts(self.used_verdicts(verdicts.get("nugget-answer", ())))
        credits = [float(verdict.verdict == "supported") if self.strict else verdict.credit for verdict in checkable]
        return sum(credits) / len(credits) if credits else "no_nugget"

    def by_words(self, case: AnswerCase) -> Outcome:
        answer = content_words(without_thinking(case.text))
        shares = [word_share(content_words(nugget.text), answer) for nugget in self._chosen(case)]
        known = [share for share in shares if share is not None]
        credits = [float(share >= NUGGET_SHARE) if self.strict else share for share in known]
        return sum(credits) / len(credits) if credits else "no_nugget"


NuggetR = NuggetRecall()


class AnswerStateMeasure(AnswerMeasure):
    """A measure of whether a system answers; it reads no text but the wording of an abstention."""

    with_reference = False

    @abstractmethod
    def outcome(self, case: AnswerCase) -> Outcome:
        """The value, or why there is none."""

    def value(self, case: AnswerCase) -> float | None:
        outcome = self.outcome(case)
        return None if isinstance(outcome, str) else outcome

    def answer_values(self, cases: Sequence[AnswerCase], encode: Encode | None = None) -> list[float | None]:
        return [self.value(case) for case in cases]

    def outcomes(self, cases: Sequence[AnswerCase], encode: Encode | None = None) -> Sequence[float | str | None]:
        return [self.outcome(case) for case in cases]


ABSTAINING_ANSWER = (
    " An answer abstains by its state, or if its sentences only decline to answer, in one of fourteen languages; a note counts"
    " the latter."
)


class AnsweredShare(AnswerStateMeasure):
    """1 for an answer, 0 where the system abstains or gives none."""

    name = "AnswerRate"
    title = "Answered questions"
    definition = (
        f"1 if the system answers, 0 if it abstains or gives no answer; the mean is the share of answers.{ABSTAINING_ANSWER}"
    )
    source = "coverage in selective prediction (El-Yaniv and Wiener 2010)"
    advice = Advice(
        "answering",
        "other measures leave out abstentions: read it beside them.",
        "many questions have no answer: use AbstainP and AbstainR.",
    )

    def outcome(self, case: AnswerCase) -> Outcome:
        return 0.0 if without_answer(case) else 1.0


class AbstainPrecision(AnswerStateMeasure):
    """Abstentions on questions without an answer, divided by abstentions."""

    name = "AbstainP"
    title = "Right abstentions"
    definition = (
        "Over the questions on which the system abstains: 1 if the question has no answer, else 0. No value where it is not known"
        f" whether there is one.{ABSTAINING_ANSWER}"
    )
    source = "precision of abstention, as for no-answer questions in Rajpurkar et al. 2018 (SQuAD 2.0)"
    advice = Advice(
        "answering",
        "abstaining on a question that has an answer is costly.",
        "few questions are abstained from: the mean is then over few values.",
    )

    def outcome(self, case: AnswerCase) -> Outcome:
        if without_answer(case) != "abstained":
            return "not_abstained"
        return "no_reference" if case.answerable is None else float(not case.answerable)


class AbstainRecall(AnswerStateMeasure):
    """Abstentions on questions without an answer, divided by these questions."""

    name = "AbstainR"
    title = "Unanswerable questions abstained from"
    definition = f"Over the questions that have no answer: 1 if the system abstains, else 0.{ABSTAINING_ANSWER}"
    source = "recall of abstention, as for no-answer questions in Rajpurkar et al. 2018 (SQuAD 2.0)"
    advice = Advice("answering", "a made-up answer is worse than none.", "every question has an answer: there is then no value.")

    def outcome(self, case: AnswerCase) -> Outcome:
        if case.answerable is None:
            return "no_reference"
        return "answerable" if case.answerable else float(without_answer(case) == "abstained")


AnswerRate = AnsweredShare()
AbstainP = AbstainPrecision()
AbstainR = AbstainRecall()
