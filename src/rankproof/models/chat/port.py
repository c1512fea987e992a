"""What the rest of rankproof needs of a language model: one method, which turns messages into a reply."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from ...errors import WorldError

Role = Literal["system", "user", "assistant"]
Finish = Literal["stop", "length", "refusal", "other"]


@dataclass(frozen=True, slots=True)
class Message:
    """One turn."""

    role: Role
    text: str


@dataclass(frozen=True, slots=True)
class Ask:
    """What is asked, with everything that the reply depends on besides the model's own settings.

    `schema` is a JSON schema as text that the reply should follow, "" for free text; `logprobs` is how many of the likeliest
    first tokens are wanted with their log-probabilities, 0 for none. Both are wishes: a server that knows neither still replies.
    `attempt` counts how often the same was asked before because a reply was of no use.
    """

    messages: tuple[Message, ...]
    max_tokens: int
    schema: str = ""
    logprobs: int = 0
    attempt: int = 0


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back: its text, how it ended, what it cost, and how long the request took that brought it.

    `first` holds the likeliest first tokens with their log-probabilities, None where the server gave none; `requests` counts all
    that were sent until it came, failed ones included; `model` is the name that the server gave, and `estimated` says that it did
    not count the tokens.
    """

    text: str
    finish: Finish
    tokens_in: int
    tokens_out: int
    seconds: float
    model: str = ""
    first: tuple[tuple[str, float], ...] | None = None
    requests: int = 1
    estimated: bool = False


class ChatFailedError(WorldError):
    """One request brought no reply.

    `again` says whether the same request may yet succeed, `wait` how many seconds the server asks for before that, `wishes` that
    the server may have refused the schema or the log-probabilities and not the messages, and `charged` that it may have worked on
    the request and cost something.
    """

    def __init__(
        self, message: str, *, again: bool = False, wait: float | None = None, wishes: bool = False, charged: bool = False
    ) -> None:
        self.again, self.wait, self.wishes, self.charged = again, wait, wishes, charged
        super().__init__(message)


class ChatUnusableError(WorldError):
    """The server will answer nothing as things are: a wrong key, an unknown model, a redirect."""


class Chat(Protocol):
    """A language model that is ready; `reply` may be called from several threads at once."""

    def reply(self, ask: Ask) -> Reply:
        """The reply to one request; ChatFailedError where it brought none, ChatUnusableError where no request will."""
        ...

    def facts(self) -> Mapping[str, Any]:
        """What a reader should know: the server's address, settings, library; no secret."""
        ...

    def close(self) -> None:
        """Lets go of connections and servers."""
        ...


class ChatModel(Protocol):
    """The frozen value that stands for a language model.

    `concurrency` is how many asks may be under way at once; prices are money per million tokens, 0 where nobody said. None of the
    three changes a reply, so none is part of the value's identity.
    """

    @property
    def concurrency(self) -> int: ...

    @property
    def price_in(self) -> float: ...

    @property
    def price_out(self) -> float: ...

    def load(self, *, threads: int = 1) -> Chat: ...

    def revision(self) -> str: ...
