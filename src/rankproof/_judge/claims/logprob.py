"""Scores claims by the log-probabilities of Yes and No."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NoReturn

from rankproof._data.claims import Claim, ClaimVerdict
from rankproof._data.identity import identity_key
from rankproof._data.qrels import make_judge_label
from rankproof._data.sentences import SENTENCE_RULES
from rankproof._evaluation.claim_judges import ClaimTask, no_extraction_error
from rankproof._io.open import Progress
from rankproof._judge.claims import prompts
from rankproof._judge.claims.base import (
    DIGEST_LENGTH,
    THRESHOLD,
    Ask,
    ClaimFinding,
    FailedAsk,
    JudgeResources,
    ModelCalls,
    blank_finding,
    claim_text,
    estimate_asks,
    merge_findings,
    pack,
    scored_finding,
    source_characters,
    task_pieces,
)
from rankproof._llm.budget import Estimate
from rankproof._llm.client import MissingLogprobsError
from rankproof._llm.prompts import yes_no_score
from rankproof._llm.session import LLMSession
from rankproof.models._chat.base import ChatModel, ChatReply


@dataclass(frozen=True)
class LogprobSettings:
    """What scores depend on besides the prompts; `characters` of sources are in one request."""

    model: ChatModel
    characters: int = 24_000
    attempts: int = 3
    threshold: float = THRESHOLD
    repeat: int = 0
    reverse: bool = False


class LogprobJudge:
    """The score of a claim is P(Yes) / (P(Yes) + P(No)) of the first token of the reply.

    A reply without log-probabilities has no score: its claim fails. Of several requests, each with a part of the sources, the
    highest score counts.
    """

    has_scores = True

    def __init__(self, name: str, settings: LogprobSettings, session: LLMSession) -> None:
        self.name, self._settings, self._session = name, settings, session
        self.calls = ModelCalls(settings.model, session, repeat=settings.repeat, attempts=settings.attempts)
        self._characters = source_characters(settings.model, settings.characters)

    @classmethod
    def named(cls, name: str, source: str, resources: JudgeResources) -> LogprobJudge:
        """The judge of a language model."""
        return cls(name, LogprobSettings(resources.chat(source)), resources.session)

    @cached_property
    def label(self) -> str:
        """logprob:NAME:THRESHOLD:DIGEST."""
        questions = {str(table): prompt.question for table, prompt in prompts.TABLE_PROMPTS.items()}
        texts = (prompts.YES_NO_SYSTEM, prompts.YES_NO_PROMPT, questions)
        name = f"{self.name.removeprefix('logprob:')}:{self._settings.threshold:g}"
        return make_judge_label("logprob:", name, identity_key(self._settings, SENTENCE_RULES, *texts)[:DIGEST_LENGTH])

    def judge(self, tasks: Sequence[ClaimTask], progress: Progress) -> list[tuple[ClaimVerdict, ...]]:
        """A score for each claim; a claim without a usable reply fails, with the reason."""
        asks = [self._asks(task, claim) for task in tasks for claim in task.claims]
        replies = self.calls.ask([ask for claim_asks in asks for ask in claim_asks], progress)
        read = iter(replies)
        findings = iter([[self._finding(next(read)) for _ in ask] for ask in asks])
        return [
            tuple(
                merge_findings(next(findings) or [blank_finding(task, 0.0)]).for_claim(task, claim, self.label)
                for claim in task.claims
            )
            for task in tasks
        ]

    def estimate(self, tasks: Sequence[ClaimTask]) -> Estimate:
        """The cost of the requests, if every first reply is valid and none is cached."""
        return estimate_asks([ask for task in tasks for claim in task.claims for ask in self._asks(task, claim)])

    def extract(self, texts: Sequence[tuple[str, str]], progress: Progress) -> NoReturn:
        """A reply of Yes or No has no claims."""
        raise no_extraction_error(self.name)

    def varied(self, *, repeat: int = 0, reverse: bool = False) -> LogprobJudge:
        """The judge that asks again, or with contexts in reversed order."""
        return LogprobJudge(self.name, replace(self._settings, repeat=repeat, reverse=reverse), self._session)

    def notes(self) -> tuple[str, ...]:
        """Notes on the requests."""
        return tuple(f"{self.name}: {note}" for note in self.calls.notes())

    def _asks(self, task: ClaimTask, claim: Claim) -> list[Ask[float]]:
        """One request for each part of the sources; against a question, which every prompt has, one in all."""
        pieces = task_pieces(task, self._characters, reverse=self._settings.reverse)
        parts = pack(pieces, lambda piece: len(piece.text), self._characters)
        if task.against == "question":
            parts = parts[:1]
        return [
            Ask(prompts.yes_no_request(task.table, task.case.question, part, claim_text(claim)), parse_probability)
            for part in parts
        ]

    def _finding(self, read: float | FailedAsk) -> ClaimFinding:
        if isinstance(read, FailedAsk):
            return ClaimFinding("failed", reason=read.reason)
        return scored_finding(read, threshold=self._settings.threshold)


def parse_probability(reply: ChatReply) -> float:
    """P(Yes) / (P(Yes) + P(No)); MissingLogprobsError if the reply has no log-probabilities of them."""
    odds, by_text = yes_no_score(reply)
    if by_text:
        raise MissingLogprobsError("the model gives no log-probabilities of Yes and No")
    # The logistic function, in a form that does not overflow for large odds.
    return 0.5 + 0.5 * math.tanh(odds / 2)
