"""The base of measures that a judge of claims gives, and why an answer has no value."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from rankproof._data.claims import ClaimTable, ClaimUnit, ClaimVerdict, claims_of
from rankproof.errors import UsageError
from rankproof.measures._answers import AnswerCase, AnswerMeasure, Encode
from rankproof.measures._overlap import OVERLAP, Words, content_words

NoValue = Literal[
    "failed",
    "abstained",
    "missing",
    "no_claim",
    "no_reference",
    "unanswerable",
    "no_contexts",
    "no_such_context",
    "no_evidence",
    "nothing_found",
    "no_question",
    "no_nugget",
    "no_relevant",
    "not_abstained",
    "answerable",
]
"""Why an answer has no value."""
Outcome = float | NoValue
Verdicts = Mapping[ClaimTable, Sequence[ClaimVerdict]]
"""The verdicts of one judge on the claims of one case, by table."""


@dataclass(frozen=True, kw_only=True, repr=False)
class ClaimMeasure(AnswerMeasure):
    """A measure that a judge of claims gives; its name always includes the judge.

    `tables` are the verdicts that it may need. `judge='overlap'` compares words and needs no verdicts.
    """

    judge: str = OVERLAP
    tables: ClassVar[tuple[ClaimTable, ...]] = ()

    @property
    def asks(self) -> bool:
        """Whether a judge is asked for verdicts; those of overlap only show what its value rests on."""
        return True

    def settled(self, case: AnswerCase) -> Outcome | None:
        """The value, or why there is none, where no judge is needed to know it; else None."""
        return None

    def needed(self, case: AnswerCase) -> tuple[ClaimTable, ...]:
        """The tables that the value of a case needs where it is not settled."""
        return self.tables

    @abstractmethod
    def counted(self, case: AnswerCase, verdicts: Verdicts) -> Outcome:
        """The value by verdicts, none of which failed."""

    @abstractmethod
    def by_words(self, case: AnswerCase) -> Outcome:
        """The value by shared words."""

    def outcome(self, case: AnswerCase, verdicts: Verdicts) -> Outcome:
        """The value, or why there is none."""
        known = self.settled(case)
        if known is not None:
            return known
        if self.judge == OVERLAP:
            return self.by_words(case)
        if any(one.verdict == "failed" for table in self.needed(case) for one in self.used_verdicts(verdicts.get(table, ()))):
            return "failed"
        return self.counted(case, verdicts)

    def used_verdicts(self, verdicts: Sequence[ClaimVerdict]) -> Sequence[ClaimVerdict]:
        """Those verdicts of a table that the value depends on."""
        return verdicts

    def claim_value(self, case: AnswerCase, verdicts: Verdicts) -> float | None:
        """The value by the verdicts of the judge; None where there is none."""
        found = self.outcome(case, verdicts)
        return None if isinstance(found, str) else found

    def value(self, case: AnswerCase) -> float | None:
        if self.judge != OVERLAP:
            raise UsageError(f"{self} needs verdicts", fix="use it with rankproof answers, or pass judge_of")
        return self.claim_value(case, {})

    def answer_values(self, cases: Sequence[AnswerCase], encode: Encode | None = None) -> list[float | None]:
        return [self.value(case) for case in cases]

    def _changed(self) -> dict[str, Any]:
        return {**super()._changed(), "judge": self.judge}


@dataclass(frozen=True, kw_only=True, repr=False)
class UnitMeasure(ClaimMeasure):
    """A measure of sentences, or with unit='claim' of atomic claims that the judge writes."""

    unit: ClaimUnit = "sentence"

    def outcome(self, case: AnswerCase, verdicts: Verdicts) -> Outcome:
        # Not when the measure is made: a command may replace the judge of a measure that names none.
        if self.unit == "claim" and self.judge == OVERLAP:
            raise UsageError(f"{self}: overlap cannot write claims", fix="use unit='sentence', or a language model as the judge")
        return super().outcome(case, verdicts)


def checked(verdicts: Iterable[ClaimVerdict]) -> list[ClaimVerdict]:
    """The verdicts on claims that have something to check."""
    return [one for one in verdicts if one.verdict != "nothing_to_check"]


def mean_credit(verdicts: Iterable[ClaimVerdict]) -> Outcome:
    """The mean credit of the claims that have something to check."""
    credits = [one.credit for one in checked(verdicts)]
    return sum(credits) / len(credits) if credits else "no_claim"


def by_reference(verdicts: Iterable[ClaimVerdict]) -> dict[int, list[ClaimVerdict]]:
    """The verdicts of each reference."""
    found: dict[int, list[ClaimVerdict]] = {}
    for one in verdicts:
        found.setdefault(one.claim.reference, []).append(one)
    return found


def best(outcomes: Iterable[Outcome], otherwise: NoValue = "no_claim") -> Outcome:
    """The highest value; `otherwise` where there is none."""
    values = [one for one in outcomes if not isinstance(one, str)]
    return max(values) if values else otherwise


def without_answer(case: AnswerCase) -> NoValue | None:
    """Why there is no text to check, if there is none."""
    return "missing" if case.state == "missing" else "abstained" if case.abstains else None


def without_reference(case: AnswerCase) -> NoValue | None:
    """Why there is no reference text, if there is none."""
    return "no_reference" if not case.references else None if case.answerable else "unanswerable"


def sentence_words(text: str) -> list[Words]:
    """The content words of each sentence that has some."""
    return [words for claim in claims_of(text, "answer") if (words := content_words(claim.text))]
