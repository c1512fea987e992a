"""Claims of answers, references, nuggets and contexts, and the verdict on each."""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Literal, get_args

if TYPE_CHECKING:
    from rankproof._data.wording.remarks import Remark

Seen = Literal["question", "contexts", "reference"]
"""What a judge sees beside the answer."""
CRITERION = "criterion:"
"""How the name of what a graded answer is checked against begins: criterion:NAME:VERSION."""
USEFUL_SCORE = 0.5
"""The score from which on an answer counts as good where only yes or no counts."""
_VERSION_LENGTH = 8


@dataclass(frozen=True, slots=True)
class RubricExample:
    """An answer with its grade, and why it has it."""

    answer: str
    grade: int
    question: str = ""
    reason: str = ""


@dataclass(frozen=True)
class Rubric:
    """What a criterion asks of an answer; a higher grade is better.

    `grades` has the meaning of each grade from the lowest to the highest, `steps` what a judge should do before it grades.
    """

    name: str
    question: str
    grades: Mapping[int, str]
    sees: tuple[Seen, ...] = ("question",)
    steps: tuple[str, ...] = ()
    examples: tuple[RubricExample, ...] = ()

    @cached_property
    def version(self) -> str:
        """A digest of all that a judge reads of the rubric, but for its name."""
        import json

        grades = {str(grade): meaning for grade, meaning in self.grades.items()}
        examples = [asdict(example) for example in self.examples]
        seen = [self.question, grades, self.sees, self.steps, examples]
        return hashlib.sha256(json.dumps(seen).encode()).hexdigest()[:_VERSION_LENGTH]

    @property
    def lowest(self) -> int:
        """The lowest grade, which is worth 0."""
        return min(self.grades)

    @property
    def highest(self) -> int:
        """The highest grade, which is worth 1."""
        return max(self.grades)

    def score(self, grade: float) -> float:
        """The grade on a scale from 0 to 1."""
        return (grade - self.lowest) / (self.highest - self.lowest)

    def grade(self, score: float) -> int:
        """The grade with this score."""
        return round(self.lowest + score * (self.highest - self.lowest))


def criterion_of(name: str, version: str) -> str:
    """What answers are checked against that this version of the rubric grades."""
    return f"{CRITERION}{name}:{version}"


Verdict = Literal["supported", "contradicted", "not_stated", "nothing_to_check", "failed"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
Side = Literal["answer", "reference", "nugget", "context"]
Against = str
"""contexts, reference, answer, cited, question, or criterion:NAME:VERSION for a rubric."""
ClaimTable = str
"""The side of the claims, and what they are checked against."""
CLAIM_TABLES: tuple[ClaimTable, ...] = (
    "answer-contexts",
    "answer-reference",
    "reference-contexts",
    "reference-answer",
    "answer-question",
    "context-question",
    "answer-cited",
    "nugget-answer",
)
AGAINST = ("contexts", "reference", "answer", "cited", "question")


def is_against(name: str) -> bool:
    """Whether claims can be checked against what has this name."""
    return name in AGAINST or name.startswith(CRITERION)


def tables_in_order(tables: Iterable[ClaimTable]) -> list[ClaimTable]:
    """Each table once: those of all measures of claims, then criteria by name."""
    known = dict.fromkeys(tables)
    return [*(table for table in CLAIM_TABLES if table in known), *sorted(set(known).difference(CLAIM_TABLES))]


ClaimUnit = Literal["sentence", "claim"]
"""A sentence of the text, or an atomic claim that a language model wrote."""
Importance = Literal["vital", "okay"]
Evidence = tuple[tuple[int, int], ...]
"""Pairs of a text and a sentence of it, both from 1."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim of a text.

    `n` counts from 1. `start` and `end` are its place in the text; None for a claim that a model wrote, and for a nugget.
    `reference` is the reference that the claim is from, or that it is checked against, from 1. `remark` says why a sentence has
    nothing to check, None for a claim. `lead_in` is the line that introduces a list item, such as "The causes are:".
    """

    side: Side
    n: int
    text: str
    start: int | None = None
    end: int | None = None
    reference: int = 1
    remark: Remark | None = None
    lead_in: str = ""

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
    `repeat` is the number of the answer among those of the system to the question.
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
    repeat: int = 1

    @property
    def table(self) -> ClaimTable:
        """The table that the verdict belongs to."""
        return f"{self.claim.side}-{self.against}"

    @property
    def credit(self) -> float:
        """The score, or 1 for a supported claim and 0 for any other where the judge gives no scores."""
        return float(self.verdict == "supported") if self.score is None else self.score

    @property
    def contexts_shown(self) -> float:
        """The number of contexts that the claim was checked against, infinite for all."""
        return float("inf") if self.shown is None else len(self.shown)


@dataclass(frozen=True, slots=True)
class Nugget:
    """A fact that a good answer states; a vital one must be in it."""

    text: str
    importance: Importance = "vital"


_MARK = re.compile(r"\[\s*\d{1,3}(?:\s*[,;]\s*\d{1,3}|\s*[-–]\s*\d{1,3})*\s*\]")
_MARK_PART = re.compile(r"(\d+)(?:\s*[-–]\s*(\d+))?")
_MAX_RANGE = 100
_CACHED_TEXTS = 1024


@lru_cache(maxsize=_CACHED_TEXTS)
def claims_of(text: str, side: Side, reference: int = 1) -> tuple[Claim, ...]:
    """The sentences of a text; marks of citations such as [1] neither end a sentence nor are one.

    A sentence without a letter or digit, such as "…", is left out. One that states nothing, such as a heading, has a remark.
    """
    from rankproof._data.wording.remarks import text_units

    return tuple(
        Claim(side, n, text[unit.start : unit.end], unit.start, unit.end, reference, unit.remark, unit.lead_in)
        for n, unit in enumerate(text_units(text), 1)
    )


def checkable_claims(text: str, side: Side = "answer", reference: int = 1) -> list[Claim]:
    """The sentences that state something."""
    return [claim for claim in claims_of(text, side, reference) if claim.remark is None]


def written_claims(texts: Iterable[str], side: Side, reference: int = 1) -> tuple[Claim, ...]:
    """Claims that a model or a person wrote."""
    return tuple(Claim(side, n, text, reference=reference) for n, text in enumerate(texts, 1))


def whole_claim(text: str, side: Side, n: int = 1) -> Claim:
    """A whole text as one claim."""
    return Claim(side, n, text, 0, len(text))


def cites_of_claims(text: str, claims: Sequence[Claim]) -> list[tuple[int, ...]] | None:
    """The numbers that each sentence of an answer cites by marks; None where the answer has no mark.

    A mark belongs to the sentence that it is in, or that ends before it.
    """
    marks = list(_MARK.finditer(text)) if "[" in text else []
    if not marks or not claims:
        return None
    cited: list[dict[int, None]] = [{} for _ in claims]
    starts = [claim.start or 0 for claim in claims]
    for mark in marks:
        at = max(bisect_left(starts, mark.start()) - 1, 0)
        cited[at].update(dict.fromkeys(_numbers(mark[0])))
    return [tuple(numbers) for numbers in cited]


def _numbers(mark: str) -> Iterator[int]:
    """The numbers of a mark; 1-3 stands for 1, 2 and 3."""
    for first, last in _MARK_PART.findall(mark):
        low, high = int(first), int(last or first)
        yield from range(low, min(high, low + _MAX_RANGE) + 1) if high >= low else (low, high)


@dataclass(frozen=True, slots=True)
class Calibration:
    """The agreement of a judge with people on one table of claims.

    `labels` are the labels that were compared, of so many `queries`. A value is None where it is not defined; intervals are 95%.
    """

    judge: str
    table: ClaimTable
    labels: int
    queries: int
    auc: float | None = None
    auc_interval: tuple[float, ...] | None = None
    kappa: float | None = None
    kappa_interval: tuple[float, ...] | None = None
    people_kappa: float | None = None
    people_kappa_interval: tuple[float, ...] | None = None


@dataclass(frozen=True, slots=True)
class JudgeNoise:
    """How much the values of a measure vary when the judge is asked again.

    `deviation` is the standard deviation of a question's value over the repeats, pooled over questions and systems. `flips` is
    the share of claims whose credit changes between two repeats, `reversed_flips` between the usual and the reversed order; None
    where no claim was compared.
    """

    judge: str
    measure: str
    queries: int
    repeats: int
    deviation: float | None
    flips: float | None
    reversed_flips: float | None = None
