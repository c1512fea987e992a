"""A language model with scripted replies and failures."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from rankproof._data.identity import NOT_IN_IDENTITY
from rankproof.models._chat.base import ChatReply, ChatRequest

ScriptedReply = str | ChatReply | Exception
"""A text, a complete reply, or an exception to raise."""
TOKENS_IN, TOKENS_OUT = 10, 2
"""The token counts of a reply that gives no others, more for long texts."""
_BYTES_PER_TOKEN = 16


def reply(text: str, **changes: Any) -> ChatReply:
    """A finished reply with 10 tokens in, 2 tokens out and 0.25 seconds."""
    values: dict[str, Any] = {"finish": "stop", "tokens_in": TOKENS_IN, "tokens_out": TOKENS_OUT, "seconds": 0.25}
    return ChatReply(text, **{**values, **changes})


def _tokens_of(least: int, *texts: str) -> int:
    return max(least, sum(len(text.encode("utf-8", "surrogatepass")) for text in texts) // _BYTES_PER_TOKEN + 1)


def prompt_tokens(*requests: ChatRequest) -> int:
    """The tokens that the model counts for the requests."""
    return sum(_tokens_of(TOKENS_IN, *(message.text for message in request.messages)) for request in requests)


class Log:
    """Every request that reached the model, in order."""

    def __init__(self) -> None:
        self.requests: list[ChatRequest] = []
        self.loads = 0
        self.lock = threading.Lock()

    @property
    def calls(self) -> int:
        return len(self.requests)


@dataclass(frozen=True)
class ScriptedChat:
    """`script` is the replies in order (one request more fails the test), or a function of the request.

    `name` distinguishes models in caches; `log` has every request, also after the model was closed.
    """

    script: tuple[ScriptedReply, ...] | Callable[[ChatRequest], ScriptedReply] = field(metadata=NOT_IN_IDENTITY)
    name: str = "scripted"
    concurrency: int = field(default=1, metadata=NOT_IN_IDENTITY)
    price_in: float = field(default=0.0, metadata=NOT_IN_IDENTITY)
    price_out: float = field(default=0.0, metadata=NOT_IN_IDENTITY)
    log: Log = field(default_factory=Log, compare=False, repr=False, metadata=NOT_IN_IDENTITY)

    def load(self, *, threads: int = 1) -> LoadedScript:
        self.log.loads += 1
        return LoadedScript(self)

    def revision(self) -> str:
        return "scripted"


class LoadedScript:
    """Gives the replies of the script."""

    def __init__(self, model: ScriptedChat) -> None:
        self._model = model

    def reply(self, request: ChatRequest) -> ChatReply:
        script, log = self._model.script, self._model.log
        with log.lock:
            number = len(log.requests)
            log.requests.append(request)
        if isinstance(script, tuple):
            assert number < len(script), f"{number + 1} requests where {len(script)} replies are scripted"
            found = script[number]
        else:
            found = script(request)
        if isinstance(found, Exception):
            raise found
        made = found if isinstance(found, ChatReply) else reply(found)
        if (made.tokens_in, made.tokens_out) != (TOKENS_IN, TOKENS_OUT):
            return made
        return replace(made, tokens_in=prompt_tokens(request), tokens_out=_tokens_of(TOKENS_OUT, made.text))

    def facts(self) -> Mapping[str, Any]:
        return {"model": self._model.name}

    def close(self) -> None:
        """Nothing is open."""
