"""A model whose replies have no log-probabilities, as some servers give them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rankproof._data.identity import NOT_IN_IDENTITY
from rankproof._llm.budget import CallTotals
from rankproof._llm.cache import ResponseCaches
from rankproof._llm.session import LLMSession
from rankproof.models._chat.base import ChatModel, ChatReply, ChatRequest


@dataclass(frozen=True, slots=True)
class WithoutLogprobs:
    """The model without log-probabilities; its replies come from the response cache in a folder."""

    model: ChatModel
    cache: Path = field(metadata=NOT_IN_IDENTITY)

    @property
    def concurrency(self) -> int:
        """The model's."""
        return self.model.concurrency

    @property
    def price_in(self) -> float:
        """The model's."""
        return self.model.price_in

    @property
    def price_out(self) -> float:
        """The model's."""
        return self.model.price_out

    def load(self, *, threads: int = 1) -> LoadedWithoutLogprobs:
        """A session of its own on the same cache."""
        return LoadedWithoutLogprobs(self.model, LLMSession(ResponseCaches(self.cache), threads=threads))

    def revision(self) -> str:
        """The model's."""
        return self.model.revision()


class LoadedWithoutLogprobs:
    """Sends requests through the cache and removes log-probabilities."""

    def __init__(self, model: ChatModel, session: LLMSession) -> None:
        self._session, self._client = session, session.client(model, "rerank")

    def reply(self, request: ChatRequest) -> ChatReply:
        """The reply without the first tokens."""
        return replace(self._client.request(request, CallTotals()), first=None)

    def facts(self) -> Mapping[str, Any]:
        """The model's."""
        return self._client.facts()

    def close(self) -> None:
        """Closes the session."""
        self._session.close()
