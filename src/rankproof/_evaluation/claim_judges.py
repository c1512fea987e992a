"""What a judge of claims is asked and must be able to do, and the judge that compares words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import NoReturn, Protocol, runtime_checkable

from rankproof._data.claims import Against, Claim, ClaimTable, ClaimVerdict, Evidence, Importance, Rubric, Verdict
from rankproof._data.identity import identity_key
from rankproof._data.qrels import make_judge_label
from rankproof._data.sentences import SENTENCE_RULES, sentence_starts
from rankproof._data.wording.remarks import without_thinking
from rankproof._data.wording.stop_words import stop_words_of
from rankproof._io.open import Progress
from rankproof.errors import UsageError, for_message
from rankproof.measures._answers import AnswerCase
from rankproof.measures._claim_base import (
    NUGGET_SHARE,
    OVERLAP,
    USEFUL_SHARE,
    Words,
    all_words,
    claim_share,
    claim_words,
    content_words,
    grade_share,
    word_cosine,
    words_of_parts,
)


@dataclass(frozen=True, slots=True)
class ClaimTask:
    """Claims of one text to check against the same sources.

    `shown` are the context numbers of the sources; None where the sources are all contexts, or are not contexts.
    `importances` has the importance of each claim where the claims are nuggets, `rubric` is that of an answer to grade.
    """

    case: AnswerCase
    table: ClaimTable
    claims: tuple[Claim, ...]
    sources: tuple[str, ...]
    shown: tuple[int, ...] | None = None
    importances: tuple[Importance, ...] = ()
    rubric: Rubric | None = None

    @property
    def against(self) -> Against:
        """What the claims are checked against."""
        return self.table.partition("-")[2]

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


@runtime_checkable
class GradingJudge(Protocol):
    """A judge that grades answers by a rubric: the score of its verdict is the grade on a scale from 0 to 1."""

    grades_by_rubric: bool


JudgeOf = Callable[[str], ClaimJudge]
"""From the name of a judge in a measure to the judge."""


WORD_RULES = 2
"""The version of the words that are compared."""
_LEAST_SHARE_ADDED = 0.25
_DIGEST_LENGTH = 8
_CACHED_SOURCES = 512
_REPORTED_TASKS = 500
_LABEL = "judging claims by words"


@dataclass(frozen=True, slots=True)
class NoCalls:
    """The estimate of a judge that calls no model."""

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0


class OverlapJudge:
    """The score of a claim is the share of its distinct content words that the sources contain.

    The verdict is `supported` from a score of 0.5 on, of a nugget from 0.75 on. The evidence are the sentences with the most
    words of the claim; each adds at least a quarter of its words to those before. Against a question, the score of an answer
    is the cosine of both sets of words, and that of a context its grade by shared words, divided by 3. A claim without content
    words, or with nothing but "Yes", has nothing to check.
    """

    name = OVERLAP
    has_scores = True

    @cached_property
    def label(self) -> str:
        """overlap:THRESHOLD:DIGEST; the digest depends on the rules for words and sentences."""
        rules = ("overlap", WORD_RULES, SENTENCE_RULES, sorted(stop_words_of("english")), USEFUL_SHARE, NUGGET_SHARE)
        return make_judge_label(f"{OVERLAP}:", f"{USEFUL_SHARE:g}", identity_key(*rules)[:_DIGEST_LENGTH])

    def judge(self, tasks: Sequence[ClaimTask], progress: Progress) -> list[tuple[ClaimVerdict, ...]]:
        """A score with evidence for each claim."""
        verdicts: list[tuple[ClaimVerdict, ...]] = []
        for done, task in enumerate(tasks, start=1):
            verdicts.append(self._question_verdicts(task) if task.against == "question" else self._source_verdicts(task))
            if done % _REPORTED_TASKS == 0 or done == len(tasks):
                progress(_LABEL, done, len(tasks))
        return verdicts

    def extract(self, texts: Sequence[tuple[str, str]], progress: Progress) -> NoReturn:
        """Words alone do not split a text into atomic claims."""
        raise no_extraction_error(self.name)

    def varied(self, *, repeat: int = 0, reverse: bool = False) -> OverlapJudge:
        """This judge: neither repeats nor the order change a set of words."""
        return self

    def estimate(self, tasks: Sequence[ClaimTask]) -> NoCalls:
        """No call."""
        return NoCalls()

    def _source_verdicts(self, task: ClaimTask) -> tuple[ClaimVerdict, ...]:
        placed = [
            (number, at, words)
            for number, source in zip(task.numbers, task.sources, strict=True)
            for at, words in enumerate(_sentence_words(source), start=1)
        ]
        known = all_words(task.sources)
        least = NUGGET_SHARE if task.table == "nugget-answer" else USEFUL_SHARE
        return tuple(self._verdict(task, claim, known, placed, least) for claim in task.claims)

    def _verdict(
        self, task: ClaimTask, claim: Claim, known: Words, placed: Sequence[tuple[int, int, Words]], least: float
    ) -> ClaimVerdict:
        words = claim_words(claim)
        score = claim_share(claim, known)
        if score is None:
            return task.verdict(claim, "nothing_to_check", self.label)
        verdict: Verdict = "supported" if score >= least else "not_stated"
        return task.verdict(claim, verdict, self.label, evidence=_evidence(words, placed) if score else (), score=score)

    def _question_verdicts(self, task: ClaimTask) -> tuple[ClaimVerdict, ...]:
        question = all_words(task.sources)
        verdicts = []
        for claim in task.claims:
            words = content_words(without_thinking(claim.text))
            score = grade_share(question, words) if claim.side == "context" else word_cosine(question, words)
            if score is None:
                verdicts.append(task.verdict(claim, "nothing_to_check", self.label))
            else:
                verdict: Verdict = "supported" if score >= USEFUL_SHARE else "not_stated"
                verdicts.append(task.verdict(claim, verdict, self.label, score=score))
        return tuple(verdicts)


@lru_cache(maxsize=_CACHED_SOURCES)
def _sentence_words(text: str) -> list[Words]:
    """The content words of each sentence, with those of list numbers: together the content words of the text."""
    starts = sentence_starts(text)
    return words_of_parts([text[start:end] for start, end in pairwise([*starts, len(text)])])


def _evidence(words: Words, placed: Sequence[tuple[int, int, Words]]) -> Evidence:
    """The sentences with the most of these words, in the order of the sources.

    After the first, a sentence must add a quarter of the words; of equal sentences, the first counts.
    """
    candidates = [(shared, place) for *place, own in placed if (shared := words & own)]
    chosen: list[tuple[int, int]] = []
    missing, least = words, 1.0
    while True:
        shares = [len(missing & shared) for shared, _ in candidates]
        most = max(shares, default=0)
        if most < least:
            return tuple(sorted(chosen))
        shared, (number, at) = candidates[shares.index(most)]
        chosen.append((number, at))
        missing, least = missing - shared, max(1.0, _LEAST_SHARE_ADDED * len(words))
