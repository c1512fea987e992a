"""What a judge of claims is asked, and what it must be able to do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from rankproof._data.claims import Against, Claim, ClaimTable, ClaimVerdict, Evidence, Importance, Verdict
from rankproof._io.open import Progress
from rankproof.errors import UsageError, for_message
from rankproof.measures._answers import AnswerCase


@dataclass(frozen=True, slots=True)
class ClaimTask:
    """Claims of one text to check against the same sources.

    `shown` are the context numbers of the sources; None where the sources are all contexts, or are not contexts.
    `importances` has the importance of each claim where the claims are nuggets.
    """

    case: AnswerCase
    table: ClaimTable
    claims: tuple[Claim, ...]
    sources: tuple[str, ...]
    shown: tuple[int, ...] | None = None
    importances: tuple[Importance, ...] = ()

    @property
    def against(self) -> Against:
        """What the claims are checked against."""
        return self.table.partition("-")[2]  # type: ignore[return-value]

    @property
    def numbers(self) -> tuple[int, ...]:
        """The number of each source, as evidence names it: of the context, or of the reference."""
        if self.shown is not None:
            return self.shown
        if self.against == "reference":
            return tuple(claim.reference for claim in self.claims[:1]) or (1,)
        return tuple(range(1, len(self.sources) + 1))

    def verdict(
        self, claim: Claim, verdict: Verdict, judge: str, *, evidence: Evidence = (), score: float | None = None, reason: str = ""
    ) -> ClaimVerdict:
        """A verdict on one claim of the task; `evidence` has the numbers of `numbers`."""
        importance = self.importances[claim.n - 1] if self.importances else None
        case = self.case
        about = (case.query, case.system, claim, self.against)
        return ClaimVerdict(*about, verdict, judge, evidence, score, reason, self.shown, importance, case.repeat)


def no_extraction_error(name: str) -> UsageError:
    """The error for atomic claims by a judge that writes none."""
    return UsageError(
        f"the judge {for_message(name)} cannot split a text into atomic claims",
        fix="leave out unit='claim', or use a language model as the judge",
    )


class CallEstimate(Protocol):
    """Estimated calls and tokens."""

    @property
    def calls(self) -> int: ...
    @property
    def tokens_in(self) -> int: ...
    @property
    def tokens_out(self) -> int: ...


class ClaimJudge(Protocol):
    """Gives a verdict on each claim of each task.

    `name` is the judge's name in a measure, `label` identifies its verdicts in claims.jsonl. `has_scores` says that every
    verdict has a score.
    """

    @property
    def name(self) -> str: ...
    @property
    def label(self) -> str: ...
    @property
    def has_scores(self) -> bool: ...

    def judge(self, tasks: Sequence[ClaimTask], progress: Progress) -> list[tuple[ClaimVerdict, ...]]:
        """The verdicts of each task, one for each claim, in the order of the tasks and claims."""

    def extract(self, texts: Sequence[tuple[str, str]], progress: Progress) -> list[tuple[str, ...] | None]:
        """The atomic claims of each (question, text), None where it failed; a judge without a model raises UsageError."""

    def varied(self, *, repeat: int = 0, reverse: bool = False) -> ClaimJudge:
        """The same judge that asks again, or with contexts and claims in reversed order."""

    def estimate(self, tasks: Sequence[ClaimTask]) -> CallEstimate:
        """The calls and tokens that the tasks would take."""


@runtime_checkable
class JudgeWithNotes(Protocol):
    """A judge that notes what went on while it judged."""

    def notes(self) -> tuple[str, ...]:
        """Sentences on truncated texts, several requests on one claim, and rejected requests."""
        ...


JudgeOf = Callable[[str], ClaimJudge]
"""From the name of a judge in a measure to the judge."""
