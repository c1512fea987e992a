"""ChatModel, ChatRequest, ChatReply."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Literal, Protocol

from rankproof._data.identity import kind_name
from rankproof._data.qrels import make_judge_label
from rankproof.errors import ExternalError

Role = Literal["system", "user", "assistant"]
FinishReason = Literal["stop", "length", "refusal", "other"]


@dataclass(frozen=True, slots=True)
class Message:
    """One turn."""

    role: Role
    text: str


@dataclass(frozen=True, slots=True)
class ChatRequest:
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
class ChatReply:
    """What came back: its text, how it ended, what it cost, and how long the request took that brought it.

    `first` holds the likeliest first tokens with their log-probabilities, None where the server gave none; `requests` counts all
    that were sent until it came, failed ones included; `model` is the name that the server gave, and `estimated` says that it did
    not count the tokens.
    """

    text: str
    finish: FinishReason
    tokens_in: int
    tokens_out: int
    seconds: float
    model: str = ""
    first: tuple[tuple[str, float], ...] | None = None
    requests: int = 1
    estimated: bool = False


class ChatRequestError(ExternalError):
    """One request brought no reply.

    `again` says whether the same request may yet succeed, `wait` how many seconds the server asks for before that, `wishes` that
    the server may have refused the schema or the log-probabilities and not the messages, and `charged` that it may have worked on
    the request and cost something.
    """

    def __init__(
        self,
        message: str,
        *,
        retryable: bool = False,
        wait: float | None = None,
        optional_params: bool = False,
        charged: bool = False,
    ) -> None:
        self.retryable, self.wait, self.optional_params, self.charged = retryable, wait, optional_params, charged
        super().__init__(message)


class ChatUnavailableError(ExternalError):
    """The server will answer nothing as things are: a wrong key, an unknown model, a redirect."""


class Chat(Protocol):
    """A language model that is ready; `reply` may be called from several threads at once."""

    def reply(self, request: ChatRequest) -> ChatReply:
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


_DIGEST_LENGTH = 8


def chat_name(model: ChatModel) -> str:
    """As its server calls it, else as its file or its kind."""
    named = (getattr(model, part, None) for part in ("model", "name"))
    path = getattr(model, "path", None)
    file = PurePath(path).stem if isinstance(path, str) else kind_name(type(model))
    return next((name for name in named if isinstance(name, str) and name), file)


def model_label(model: ChatModel, digest: str) -> str:
    """llm:NAME:DIGEST, of the key of all that a reply depends on: the model itself, the prompts and the settings."""
    return make_judge_label("llm:", chat_name(model), digest[:_DIGEST_LENGTH])


CHARACTERS_PER_TOKEN = 4
"""Of English text in the common tokenizers; other languages and code take more tokens."""


def estimate_tokens(text: str) -> int:
    """Roughly."""
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def max_tokens_of(text: str) -> int:
    """At most: no token of the common tokenizers is less than a byte of UTF-8."""
    return len(text.encode("utf-8", "surrogatepass"))
