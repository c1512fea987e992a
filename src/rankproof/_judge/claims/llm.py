"""A language model that gives verdicts with evidence, grades relevance, and splits texts into atomic claims."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

from rankproof._data.claims import ClaimTable, ClaimVerdict, Evidence
from rankproof._data.identity import identity_key
from rankproof._data.qrels import HIGHEST_GRADE, make_judge_label
from rankproof._data.sentences import SENTENCE_RULES, sentences
from rankproof._data.text import pluralise, without_citations
from rankproof._evaluation.claim_judges import ClaimTask
from rankproof._io.open import Progress
from rankproof._judge.claims import prompts
from rankproof._judge.claims.base import (
    DIGEST_LENGTH,
    Ask,
    ClaimFinding,
    FailedAsk,
    JudgeResources,
    ModelCalls,
    Piece,
    blank_finding,
    claim_text,
    estimate_asks,
    merge_findings,
    pack,
    source_characters,
    task_pieces,
)
from rankproof._judge.claims.prompts import RUBRIC_PROMPT, RUBRIC_SYSTEM, rubric_ask
from rankproof._judge.judges import USE as GRADING
from rankproof._judge.judges import LLMJudge, parse_grade
from rankproof._llm.budget import Estimate
from rankproof._llm.client import ReplyParseError
from rankproof._llm.prompts import is_truncated, parse_int, parse_json, reply_text
from rankproof._llm.session import LLMSession
from rankproof.errors import is_hidden
from rankproof.models._chat.base import ChatModel, ChatReply

_CLAIM_CHARACTERS = 6000
"""Characters of the claims in one request."""
_TEXT_CHARACTERS = 6000
"""Characters of a text that is split into claims, in one request."""
_MAX_CLAIM_LENGTH = 1000
_USEFUL_GRADE = 2
_SENTENCE_LABEL = re.compile(r"\[?([0-9]{1,7})\.([0-9]{1,7})\]?", re.ASCII)


@dataclass(frozen=True)
class LLMClaimSettings:
    """What verdicts depend on besides the prompts: `characters` of sources and number of `claims` in one request."""

    model: ChatModel
    characters: int = 24_000
    claims: int = 15
    attempts: int = 3
    repeat: int = 0
    reverse: bool = False

    @cached_property
    def digest(self) -> str:
        """The digest of the settings and of all prompts."""
        texts = (
            *(prompts.VERDICT_SYSTEM, prompts.VERDICT_PROMPT, prompts.EXTRACTION_SYSTEM, prompts.EXTRACTION_PROMPT),
            *(RUBRIC_SYSTEM, RUBRIC_PROMPT),
        )
        tables: Mapping[str, Any] = {str(table): prompt for table, prompt in prompts.TABLE_PROMPTS.items()}
        return identity_key(self, SENTENCE_RULES, texts, tables, [self.grader(table) for table in GRADED_TABLES])

    def grader(self, table: ClaimTable) -> LLMJudge:
        """Of contexts the judge of `rankproof judge`, with its rubric; of answers the same with another rubric."""
        if table == "context-question":
            return LLMJudge(self.model, attempts=self.attempts)
        return LLMJudge(self.model, prompts.RELEVANCE_SYSTEM, prompts.RELEVANCE_PROMPT, attempts=self.attempts)


GRADED_TABLES: tuple[ClaimTable, ...] = ("answer-question", "context-question")
"""The tables whose claims get a grade from 0 to 3, not a verdict."""


@dataclass(frozen=True, eq=False, slots=True)
class _TaskAsk:
    """A request on some claims of a task, by their places in it; the reply is read as one finding for each."""

    task: int
    claims: Sequence[int]
    ask: Ask[list[ClaimFinding]]


class LLMClaimJudge:
    """Asks for the verdicts on all claims of a task at once; in several requests where claims or sources do not fit in one."""

    has_scores = False
    grades_by_rubric = True

    def __init__(self, name: str, settings: LLMClaimSettings, session: LLMSession) -> None:
        self.name, self._settings, self._session = name, settings, session
        self.calls = ModelCalls(settings.model, session, repeat=settings.repeat, attempts=settings.attempts)
        self._characters = source_characters(settings.model, settings.characters)
        self._split, self._cut = 0, 0

    @classmethod
    def named(cls, name: str, source: str, resources: JudgeResources) -> LLMClaimJudge:
        """The judge of a language model."""
        return cls(name, LLMClaimSettings(resources.chat(source)), resources.session)

    @cached_property
    def label(self) -> str:
        """llm:NAME:DIGEST."""
        return make_judge_label("llm:", self.name.removeprefix("llm:"), self._settings.digest[:DIGEST_LENGTH])

    def judge(self, tasks: Sequence[ClaimTask], progress: Progress) -> list[tuple[ClaimVerdict, ...]]:
        """A verdict on each claim; those of a request without a valid reply fail, with the reason."""
        asks = [ask for at, task in enumerate(tasks) for ask in self._asks(at, task)]
        findings_of: dict[tuple[int, int], list[ClaimFinding]] = defaultdict(list)
        replies = self.calls.ask([ask.ask for ask in asks], progress)
        for task_ask, read in zip(asks, replies, strict=True):
            if isinstance(read, FailedAsk):
                read = [ClaimFinding("failed", reason=read.reason)] * len(task_ask.claims)
            for claim, finding in zip(task_ask.claims, read, strict=True):
                findings_of[task_ask.task, claim].append(finding)
        self._count(tasks, findings_of)
        return [
            self._verdicts(task, [findings_of.get((at, place), []) for place in range(len(task.claims))])
            for at, task in enumerate(tasks)
        ]

    def _verdicts(self, task: ClaimTask, findings_of: Sequence[list[ClaimFinding]]) -> tuple[ClaimVerdict, ...]:
        # A blank answer states no nugget, which is a score; a claim against blank sources has a verdict alone.
        unasked = [blank_finding(task, 0.0 if task.table == "nugget-answer" else None)]
        return tuple(
            merge_findings(findings or unasked).for_claim(task, claim, self.label)
            for claim, findings in zip(task.claims, findings_of, strict=True)
        )

    def estimate(self, tasks: Sequence[ClaimTask]) -> Estimate:
        """The cost of the requests, if every first reply is valid and none is cached."""
        return estimate_asks([ask.ask for at, task in enumerate(tasks) for ask in self._asks(at, task)])

    def extract(self, texts: Sequence[tuple[str, str]], progress: Progress) -> list[tuple[str, ...] | None]:
        """The atomic claims of each text, in their order, each once; a long text is read in several requests."""
        asks = [(at, ask) for at, (question, text) in enumerate(texts) for ask in _extraction_asks(question, text)]
        claims_of: dict[int, list[str] | None] = {at: [] for at in range(len(texts))}
        replies = self.calls.ask([ask for _, ask in asks], progress)
        for (at, _), read in zip(asks, replies, strict=True):
            known = claims_of[at]
            claims_of[at] = None if known is None or isinstance(read, FailedAsk) else [*known, *read]
        return [None if claims is None else tuple(dict.fromkeys(claims)) for claims in claims_of.values()]

    def estimate_extraction(self, texts: Sequence[tuple[str, str]]) -> Estimate:
        """The cost of `extract`, if every first reply is valid and none is cached."""
        return estimate_asks([ask for question, text in texts for ask in _extraction_asks(question, text)])

    def varied(self, *, repeat: int = 0, reverse: bool = False) -> LLMClaimJudge:
        """The judge that asks again, or with contexts and claims in reversed order."""
        return LLMClaimJudge(self.name, replace(self._settings, repeat=repeat, reverse=reverse), self._session)

    def notes(self) -> tuple[str, ...]:
        """Notes on sources that did not fit in one request, on truncated texts, and on the requests."""
        notes = list(self.calls.notes())
        if self._split:
            checked = pluralise(self._split, "claim was checked", "claims were checked")
            notes.append(f"{checked} in several requests, each with at most {self._characters:,} characters of the sources")
        if self._cut:
            most = self._settings.grader("context-question").characters
            notes.append(
                f"{pluralise(self._cut, 'text was truncated', 'texts were truncated')} at {most:,} characters before grading"
            )
        return tuple(f"{self.name}: {note}" for note in notes)

    def _asks(self, at: int, task: ClaimTask) -> list[_TaskAsk]:
        if task.rubric is not None:
            return [_TaskAsk(at, [0], rubric_ask(task, task.rubric, self._characters, reverse=self._settings.reverse))]
        if task.table in GRADED_TABLES:
            return self._grade_asks(at, task) if task.case.question.strip() else []
        pieces = task_pieces(task, self._characters, reverse=self._settings.reverse)
        places = list(range(len(task.claims)))
        return [
            _TaskAsk(at, claims, _verdict_ask(task, claims, part))
            for claims in self._claim_groups(task, places[::-1] if self._settings.reverse else places)
            for part in pack(pieces, lambda piece: len(piece.text), self._characters)
        ]

    def _claim_groups(self, task: ClaimTask, places: Sequence[int]) -> list[list[int]]:
        """Groups with at most as many claims and characters as one request may have."""
        # Counting a short claim as this long limits the number of claims and their characters by one sum.
        least = _CLAIM_CHARACTERS // self._settings.claims
        return pack(places, lambda place: max(len(task.claims[place].text), least), _CLAIM_CHARACTERS)

    def _grade_asks(self, at: int, task: ClaimTask) -> list[_TaskAsk]:
        grader = self._settings.grader(task.table)
        return [
            _TaskAsk(at, [place], Ask(grader.request(task.case.question, claim_text(claim)), _parse_grade_finding, GRADING))
            for place, claim in enumerate(task.claims)
        ]

    def _count(self, tasks: Sequence[ClaimTask], findings_of: Mapping[tuple[int, int], Sequence[ClaimFinding]]) -> None:
        self._split += sum(len(findings) > 1 for findings in findings_of.values())
        for at, task in enumerate(tasks):
            if task.table in GRADED_TABLES:
                most = self._settings.grader(task.table).characters
                self._cut += sum(
                    is_truncated(claim_text(claim), most) for place, claim in enumerate(task.claims) if (at, place) in findings_of
                )


def _verdict_ask(task: ClaimTask, claims: Sequence[int], pieces: Sequence[Piece]) -> Ask[list[ClaimFinding]]:
    request = prompts.verdict_request(
        task.table, task.case.question, pieces, [claim_text(task.claims[place]) for place in claims]
    )
    known = frozenset(piece.place for piece in pieces)
    return Ask(request, partial(parse_verdicts, count=len(claims), known=known, scale=prompts.TABLE_PROMPTS[task.table].scale))


def parse_verdicts(
    reply: ChatReply, *, count: int, known: frozenset[tuple[int, int]], scale: prompts.VerdictScale
) -> list[ClaimFinding]:
    """The findings on the claims 1 to `count`, in this order.

    Invalid are a claim that is missing or there twice, a sentence that was not shown, and credit without evidence.
    """
    listed = parse_json(reply_text(reply)).get("verdicts")
    if not isinstance(listed, list):
        raise ReplyParseError("no list called verdicts")
    findings: dict[int, ClaimFinding] = {}
    for verdict in listed:
        if not isinstance(verdict, dict):
            raise ReplyParseError("a verdict that is not an object")
        claim = _parse_claim_number(verdict.get("claim"), count)
        if claim in findings:
            raise ReplyParseError(f"claim {claim} is there twice")
        findings[claim] = _parse_finding(verdict, claim, known, scale)
    missing = [str(claim) for claim in range(1, count + 1) if claim not in findings]
    if missing:
        raise ReplyParseError(f"no verdict on claim {', '.join(missing)}")
    return [findings[claim] for claim in range(1, count + 1)]


def _parse_claim_number(value: object, count: int) -> int:
    try:
        return parse_int(value, 1, count)
    except ReplyParseError:
        raise ReplyParseError(f"claim is not a whole number from 1 to {count}") from None


def _parse_finding(
    fields: Mapping[str, Any], claim: int, known: frozenset[tuple[int, int]], scale: prompts.VerdictScale
) -> ClaimFinding:
    name = fields.get("verdict")
    if not isinstance(name, str) or name not in scale.counts_as:
        raise ReplyParseError(f"the verdict on claim {claim} is not one of {', '.join(scale.counts_as)}")
    evidence = _parse_evidence(fields.get("evidence"), claim, known)
    if name in scale.needs_evidence and not evidence:
        raise ReplyParseError(f"claim {claim} is {name} without evidence")
    verdict, score = scale.counts_as[name]
    rests = name in scale.needs_evidence or verdict == "contradicted"
    return ClaimFinding(verdict, evidence if rests else (), score)


def _parse_evidence(value: object, claim: int, known: frozenset[tuple[int, int]]) -> Evidence:
    """The labels of sentences; a number is rejected, because 2.10 and 2.1 are the same number."""
    if not isinstance(value, list) or not all(isinstance(label, str) for label in value):
        raise ReplyParseError(f"the evidence of claim {claim} is not a list of labels as text")
    matches = [_SENTENCE_LABEL.fullmatch(label.strip()) for label in value]
    places = {(int(match[1]), int(match[2])) if match else (0, 0) for match in matches}
    if not places <= known:
        example = ".".join(map(str, min(known)))
        raise ReplyParseError(
            f"the evidence of claim {claim} names a sentence that is not there; a label is written as {example}"
        )
    return tuple(sorted(places))


def _parse_grade_finding(reply: ChatReply) -> list[ClaimFinding]:
    """The grade as a score from 0 to 1; the verdict says whether it is at least 2."""
    grade, _ = parse_grade(reply)
    return [ClaimFinding("supported" if grade >= _USEFUL_GRADE else "not_stated", score=grade / HIGHEST_GRADE)]


def _extraction_asks(question: str, text: str) -> list[Ask[tuple[str, ...]]]:
    parts = pack(sentences(without_citations(text)), len, _TEXT_CHARACTERS)
    return [Ask(prompts.extraction_request(question, "\n".join(part)), parse_claims) for part in parts]


def parse_claims(reply: ChatReply) -> tuple[str, ...]:
    """The claims of a reply, each on one line; an empty, overlong or unreadable one makes the reply invalid."""
    listed = parse_json(reply_text(reply)).get("claims")
    if not isinstance(listed, list) or not all(isinstance(claim, str) for claim in listed):
        raise ReplyParseError("no list of texts called claims")
    claims = tuple(" ".join(claim.split()) for claim in listed)
    if any(not any(map(str.isalnum, claim)) for claim in claims):
        raise ReplyParseError("a claim is empty")
    if any(len(claim) > _MAX_CLAIM_LENGTH for claim in claims):
        raise ReplyParseError(f"a claim has more than {_MAX_CLAIM_LENGTH} characters")
    if any(map(is_hidden, "".join(claims))):
        raise ReplyParseError("a claim contains invisible characters")
    return claims
