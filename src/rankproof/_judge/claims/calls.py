"""Sends the requests of claim judges: several at once, through the cache and the budget of the session, and counted."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from rankproof._io.open import Progress
from rankproof._judge.claims.pieces import PROGRESS_LABEL
from rankproof._llm.budget import Estimate, estimate_request
from rankproof._llm.call_counts import COUNT_NAMES, CallTotals, reply_notes
from rankproof._llm.client import ChatClient
from rankproof._llm.session import LLMSession, map_concurrent
from rankproof.errors import escape_invisible
from rankproof.models._chat.base import BYTES_PER_TOKEN, ChatModel, ChatReply, ChatRequest

USE = "claims"
_MAX_REASON_LENGTH = 500
_PROMPT_TOKENS, _MIN_CHARACTERS = 2000, 1000
ReadT = TypeVar("ReadT")
ChatOf = Callable[[str], ChatModel]
"""From the name of a language model to the model."""


@dataclass(frozen=True, eq=False, slots=True)
class JudgeResources:
    """What judges need besides their names: a session for calls, language models by name, and threads for local models."""

    session: LLMSession
    chat: ChatOf
    threads: int = 1


@dataclass(frozen=True, eq=False, slots=True)
class Ask(Generic[ReadT]):
    """A request, how its reply is read, and the use whose cache has the reply."""

    request: ChatRequest
    parse: Callable[[ChatReply], ReadT]
    use: str = USE


@dataclass(frozen=True, slots=True)
class FailedAsk:
    """A request without a usable reply after all attempts, and why."""

    reason: str


class ModelCalls:
    """The requests of one judge; a repeat has its own response cache, so that the model is asked again."""

    def __init__(self, model: ChatModel, session: LLMSession, *, repeat: int = 0, attempts: int = 3) -> None:
        self._model, self._session, self._repeat, self._attempts = model, session, repeat, attempts
        self._lock = threading.Lock()
        self._clients: dict[str, ChatClient] = {}
        self.counts = CallTotals()

    def ask(self, asks: Sequence[Ask[ReadT]], progress: Progress) -> list[ReadT | FailedAsk]:
        """What each request gives, in their order."""
        done = 0

        def one(ask: Ask[ReadT]) -> ReadT | FailedAsk:
            nonlocal done
            found = self._read(ask)
            with self._lock:
                done += 1
                progress(PROGRESS_LABEL, done, len(asks))
            return found

        return map_concurrent(self._session, one, asks, self._model.concurrency)

    def notes(self) -> tuple[str, ...]:
        """Notes on a server that rejected every request, on estimated tokens and on masked keys."""
        rejected = (client.sender.breaker.rejection_note() for client in self._clients.values())
        return (*filter(None, rejected), *reply_notes(self.counts.counts))

    def _read(self, ask: Ask[ReadT]) -> ReadT | FailedAsk:
        sums, errors = CallTotals(), [""]
        found = self._client(ask.use).read(
            ask.request, ask.parse, sums, attempts=self._attempts, on_error=lambda error: errors.append(str(error))
        )
        with self._lock:
            for name in COUNT_NAMES:
                self.counts.count(name, sums.counts[name])
            self.counts.add_seconds(sums.seconds)
        return FailedAsk(escape_invisible(errors[-1])[:_MAX_REASON_LENGTH]) if found is None else found

    def _client(self, use: str) -> ChatClient:
        """The client of a use, made once: its cache key needs the revision of the model."""
        with self._lock:
            if use not in self._clients:
                own = f"{use}, repeat {self._repeat}" if self._repeat else use
                self._clients[use] = self._session.client(self._model, own)
            return self._clients[use]


def estimate_asks(asks: Sequence[Ask[ReadT]]) -> Estimate:
    """The cost of the requests, if every first reply is valid."""
    return sum((estimate_request(ask.request) for ask in asks), Estimate())


def source_characters(model: ChatModel, most: int) -> int:
    """The characters of sources in one request: fewer than `most` for a local model with a short context."""
    context = getattr(model, "context", None)
    if not isinstance(context, int):
        return most
    # A token of text that is not English may have fewer characters than the usual number of bytes.
    return max(_MIN_CHARACTERS, min(most, (context - _PROMPT_TOKENS) * (BYTES_PER_TOKEN - 1)))
