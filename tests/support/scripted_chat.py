"""A language model that says what a test tells it to, or fails on purpose."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rankproof._data.identity import NOT_IN_IDENTITY
from rankproof.models._chat.base import ChatReply, ChatRequest

Said = str | ChatReply | Exception
"""A text, a whole reply, or what is raised instead of one."""
TOKENS_IN, TOKENS_OUT = 10, 2
"""What every reply that is a text alone costs."""


def reply(text: str, **changes: Any) -> ChatReply:
    """A reply of ten tokens read and two written, that took a quarter of a second and ended by itself."""
    values: dict[str, Any] = {"finish": "stop", "tokens_in": TOKENS_IN, "tokens_out": TOKENS_OUT, "seconds": 0.25}
    return ChatReply(text, **{**values, **changes})


class Log:
    """Every ask that reached the model, in order."""

    def __init__(self) -> None:
        self.asks: list[ChatRequest] = []
        self.loads = 0
        self.lock = threading.Lock()

    @property
    def calls(self) -> int:
        return len(self.asks)


@dataclass(frozen=True)
class ScriptedChat:
    """`script` is what it says in order (asking once more is a failure of the test), or a function of what is asked.

    `name` tells models apart in caches; `log` has what was asked, also after the model was closed.
    """

    script: tuple[Said, ...] | Callable[[ChatRequest], Said] = field(metadata=NOT_IN_IDENTITY)
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
    """The script being said."""

    def __init__(self, model: ScriptedChat) -> None:
        self._model = model

    def reply(self, request: ChatRequest) -> ChatReply:
        script, log = self._model.script, self._model.log
        with log.lock:
            number = len(log.asks)
            log.asks.append(request)
        if isinstance(script, tuple):
            assert number < len(script), f"asked {number + 1} times where {len(script)} replies are scripted"
            said = script[number]
        else:
            said = script(request)
        if isinstance(said, Exception):
            raise said
        return said if isinstance(said, ChatReply) else reply(said)

    def facts(self) -> Mapping[str, Any]:
        return {"model": self._model.name}

    def close(self) -> None:
        """Nothing is open."""
