"""Generates queries with a language model from one or two documents each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

from rankproof._data.identity import identity, identity_key
from rankproof._generate.draft import (
    MAX_PASSAGE_CHARACTERS,
    PROMPT,
    SCHEMA,
    SYSTEM,
    TASKS,
    FailedDocument,
    QueryDraft,
    SourceDocument,
    build_request,
)
from rankproof._generate.filters import MAX_QUERY_WORDS, TermStatistics
from rankproof._generate.rules import GenerationOutcome
from rankproof._llm.budget import Estimate, estimate_request
from rankproof._llm.call_counts import COUNT_NAMES, CallTotals
from rankproof._llm.client import CachedClient
from rankproof._llm.parsing import parse_json, parse_line, parse_query, reply_text
from rankproof._llm.session import LLMSession, map_concurrent
from rankproof.errors import for_message
from rankproof.models._chat.base import ChatModel, ChatReply, ChatRequest, model_label
from rankproof.stages._base import Progress

USE = "generate"
_LABEL = "generate: calling the model"
_CALLS_PER_UPDATE = 4
"""Calls of each thread between two updates of the progress."""


class LLMGenerator:
    """Requests each query on its own; an invalid reply is requested again, a document without a valid reply fails."""

    max_rounds: int | None = 3

    def __init__(
        self,
        model: ChatModel,
        term_statistics: TermStatistics,
        session: LLMSession,
        progress: Progress,
        *,
        attempts: int = 3,
        max_tokens: int = 200,
    ) -> None:
        self._model, self._term_statistics, self._session, self._progress = model, term_statistics, session, progress
        self._attempts, self._max_tokens = attempts, max_tokens
        self._unfounded, self._sums = 0, CallTotals()

    @cached_property
    def judge_label(self) -> str:
        """llm:MODEL:DIGEST, the digest of the model with its settings and of the prompts."""
        prompts = (SYSTEM, PROMPT, dict(TASKS), SCHEMA, MAX_PASSAGE_CHARACTERS, self._max_tokens, self._attempts)
        return model_label(self._model, identity_key(self._model, *prompts))

    def categories(self) -> tuple[str, ...]:
        """The categories that have a task."""
        return tuple(TASKS)

    def generate(self, sources: Sequence[SourceDocument]) -> list[GenerationOutcome]:
        """A draft or a failure for each source, with the concurrency of the model."""
        client, concurrency, found = self._session.client(self._model, USE), max(1, self._model.concurrency), []
        for start in range(0, len(sources), _CALLS_PER_UPDATE * concurrency):
            block = sources[start : start + _CALLS_PER_UPDATE * concurrency]
            for outcome, sums in map_concurrent(self._session, partial(self._outcome, client), block, concurrency):
                found.append(outcome)
                self._add(outcome, sums)
            self._progress(_LABEL, len(found), len(sources))
        return found

    def _outcome(self, client: CachedClient, source: SourceDocument) -> tuple[GenerationOutcome, CallTotals]:
        sums, errors = CallTotals(), [""]
        draft = client.read(
            self._request(source),
            partial(self._parse, source),
            sums,
            attempts=self._attempts,
            on_error=lambda error: errors.append(str(error)),
        )
        return draft or FailedDocument(source, for_message(errors[-1])), sums

    def estimate(self, sources: Sequence[SourceDocument]) -> Estimate:
        """One call for each source."""
        return sum((estimate_request(self._request(source)) for source in sources), Estimate())

    def describe(self) -> Mapping[str, Any]:
        """The model, the prompts, and the usage."""
        return {
            "by": "model",
            "model": identity(self._model),
            "system": SYSTEM,
            "prompt": PROMPT,
            "answers_not_in_the_document": self._unfounded,
            "usage": self._sums.plain(),
            "spent_by_this_run": self._session.meter.spent.plain(),
        }

    def _request(self, source: SourceDocument) -> ChatRequest:
        return build_request(source.category, [self._term_statistics.texts[doc] for doc in source.docs], self._max_tokens)

    def _parse(self, source: SourceDocument, reply: ChatReply) -> QueryDraft:
        """The query, with its answer where that is in a document."""
        found = parse_json(reply_text(reply))
        text = parse_query(found, "query", 2 * MAX_QUERY_WORDS)
        answer = parse_line(found, "answer") if found.get("answer") is not None else ""
        if not answer:
            return QueryDraft(text)
        founded = contains_answer(answer, (self._term_statistics.texts[doc] for doc in source.docs))
        return QueryDraft(text, (answer,)) if founded else QueryDraft(text, unfounded=True)

    def _add(self, outcome: GenerationOutcome, sums: CallTotals) -> None:
        for name in COUNT_NAMES:
            self._sums.count(name, sums.counts[name])
        self._sums.add_seconds(sums.seconds)
        if isinstance(outcome, QueryDraft) and outcome.unfounded:
            self._unfounded += 1


def contains_answer(answer: str, texts: Iterable[str]) -> bool:
    """Whether the answer is in a text, ignoring case and white space."""
    wanted = " ".join(answer.casefold().split())
    return any(wanted in " ".join(text.casefold().split()) for text in texts)
