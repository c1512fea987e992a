"""What a measure of answers is: a measure whose values come from answers and references, not from rankings."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, NoReturn

from ...align.hits import Hits
from ...data.arrays import Matrix
from ...errors import UsageError
from ..base import Measure

Encode = Callable[[str, Sequence[str]], Matrix]
"""The vectors of texts, one row each, of length 1 or 0, by the encoder of that name."""


@dataclass(frozen=True, slots=True)
class Case:
    """One answer and what it is held against.

    `text` is empty for an answer that abstains, and `references` is ("",) for a question that has no answer. `relevant` are the
    documents that `cited` should name, None where they are not known; `missing` says that nothing was answered at all.
    """

    text: str
    references: tuple[str, ...]
    cited: tuple[str, ...] = ()
    relevant: frozenset[str] | None = None
    missing: bool = False


class AnswerMeasure(Measure):
    """A measure of an answer; asked of a ranking it is refused."""

    kind: ClassVar[Literal["binary", "graded", "count", "answer"]] = "answer"
    parity = None

    def values(self, hits: Hits) -> NoReturn:
        fix = "write F1@10 for rankings" if self.name == "F1" else "ask for it where there are answers: rankproof answers"
        raise UsageError(f"{self} measures answers, not rankings", fix=fix)

    @abstractmethod
    def value(self, case: Case) -> float | None:
        """The value of one answer; None where the question has nothing to measure it by."""

    def of_answers(self, cases: Sequence[Case], encode: Encode | None = None) -> list[float | None]:
        """A value for each case; 0 for an answer that is missing."""
        found = [self.value(case) for case in cases]
        return [value if value is None or not case.missing else 0.0 for case, value in zip(cases, found, strict=True)]


class TextMeasure(AnswerMeasure):
    """A measure of the answer's text against one reference; the best of several references counts."""

    @abstractmethod
    def score(self, answer: str, reference: str) -> float:
        """The value against one reference."""

    def value(self, case: Case) -> float:
        return max(self._against(case.text, reference) for reference in case.references)

    def _against(self, answer: str, reference: str) -> float:
        """0 where only one of the two says nothing, also where normalising leaves nothing of the other ("The")."""
        return self.score(answer, reference) if is_silent(answer) == is_silent(reference) else 0.0


def is_silent(text: str) -> bool:
    """Whether the text says nothing."""
    return not text.strip()
