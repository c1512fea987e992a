"""A model whose replies have no log-probabilities, as some servers give them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rankproof._data.identity import NOT_IN_IDENTITY
from rankproof._llm.cache import ResponseCaches
from rankproof._llm.call_counts import CallTotals
from rankproof._llm.session import LLMSession
from rankproof.models._chat.base import ChatModel, ChatReply, ChatRequest


@dataclass(frozen=True, slots=True)
class TextAlone:
    """Replies of the model to rerankers, from the books under a folder where they are kept."""

    model: ChatModel
    books: Path = field(metadata=NOT_IN_IDENTITY)

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

    def load(self, *, threads: int = 1) -> TextAloneChat:
        """A desk of its own at the same books."""
        return TextAloneChat(self.model, LLMSession(ResponseCaches(self.books), threads=threads))

    def revision(self) -> str:
        """The model's."""
        return self.model.revision()


class TextAloneChat:
    """Asks where the model was asked before."""

    def __init__(self, model: ChatModel, session: LLMSession) -> None:
        self._session, self._client = session, session.client(model, "rerank")

    def reply(self, request: ChatRequest) -> ChatReply:
        """The model's reply, its first tokens hidden."""
        return replace(self._client.request(request, CallTotals()), first=None)

    def facts(self) -> Mapping[str, Any]:
        """The model's."""
        return self._client.facts()

    def close(self) -> None:
        """Closes the desk."""
        self._session.close()
