"""Claims of answers, references, nuggets and contexts, and the verdict on each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

from rankproof._data.sentences import sentence_spans

Verdict = Literal["supported", "contradicted", "not_stated", "nothing_to_check", "failed"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
Side = Literal["answer", "reference", "nugget", "context"]
SIDES: tuple[Side, ...] = get_args(Side)
Against = Literal["contexts", "reference", "answer", "cited", "question"]
AGAINST: tuple[Against, ...] = get_args(Against)
ClaimTable = Literal[
    "answer-contexts",
    "answer-reference",
    "reference-contexts",
    "reference-answer",
    "answer-question",
    "context-question",
    "answer-cited",
    "nugget-answer",
]
"""The side of the claims, and what they are checked against."""
CLAIM_TABLES: tuple[ClaimTable, ...] = get_args(ClaimTable)
ClaimUnit = Literal["sentence", "claim"]
"""A sentence of the text, or an atomic claim that a language model wrote."""
Importance = Literal["vital", "okay"]
Evidence = tuple[tuple[int, int], ...]
"""Pairs of a text and a sentence of it, both from 1."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim of a text.

    `n` counts from 1. `start` and `end` are its place in the text; None for a claim that a model wrote, and for a nugget.
    `reference` is the reference that the claim is from, or that it is checked against, from 1.
    """

    side: Side
    n: int
    text: str
    start: int | None = None
    end: int | None = None
    reference: int = 1

    @property
    def unit(self) -> ClaimUnit:
        """Whether the claim is a part of its text, or was written by a model."""
        return "claim" if self.start is None and self.side in ("answer", "reference") else "sentence"


@dataclass(frozen=True, slots=True)
class ClaimVerdict:
    """What a judge says of one claim.

    `evidence` are the sentences that the verdict rests on. The first number is that of the context; against a reference it is
    the number of the reference, against an answer or a question 1. `score` is from 0 to 1, of judges that give scores, and
    `reason` says why the judge failed. `shown` are the contexts that the claim was checked against, None for all.
    """

    query: str
    system: str
    claim: Claim
    against: Against
    verdict: Verdict
    judge: str
    evidence: Evidence = ()
    score: float | None = None
    reason: str = ""
    shown: tuple[int, ...] | None = None
    importance: Importance | None = None

    @property
    def table(self) -> ClaimTable:
        """The table that the verdict belongs to."""
        return f"{self.claim.side}-{self.against}"  # type: ignore[return-value]

    @property
    def credit(self) -> float:
        """The score, or 1 for a supported claim and 0 for any other where the judge gives no scores."""
        return float(self.verdict == "supported") if self.score is None else self.score


@dataclass(frozen=True, slots=True)
class Nugget:
    """A fact that a good answer states; a vital one must be in it."""

    text: str
    importance: Importance = "vital"


def claims_of(text: str, side: Side, reference: int = 1) -> tuple[Claim, ...]:
    """The sentences of a text as claims."""
    spans = enumerate(sentence_spans(text), 1)
    return tuple(Claim(side, n, text[start:end], start, end, reference) for n, (start, end) in spans)


def written_claims(texts: Iterable[str], side: Side, reference: int = 1) -> tuple[Claim, ...]:
    """Claims that a model or a person wrote."""
    return tuple(Claim(side, n, text, reference=reference) for n, text in enumerate(texts, 1))
