"""The protocol of language models, their requests, replies and errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol, Self

from rankproof._data.qrels import make_judge_label
from rankproof.models._api.settings import model_name

Role = Literal["system", "user", "assistant"]
FinishReason = Literal["stop", "length", "refusal", "other"]


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation."""

    role: Role
    text: str


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A chat request. The reply depends only on the request and the settings of the model.

    `schema` is a JSON schema as text for the reply, "" for free text; `logprobs` is the number of most likely first tokens to
    return with their log-probabilities, 0 for none. Both are optional parameters: a server without them still replies.
    `attempt` counts earlier requests whose reply could not be used.
    """

    messages: tuple[Message, ...]
    max_tokens: int
    schema: str = ""
    logprobs: int = 0
    attempt: int = 0


@dataclass(frozen=True, slots=True)
class ChatReply:
    """A reply: text, finish reason, tokens, and seconds of the successful request.

    `first` has the most likely first tokens with their log-probabilities, None if the server gave none; `requests` counts all
    requests for it, failed ones included; `model` is the name that the server reports. A model gives 0 tokens where it does not
    know them; the client estimates tokens that cannot be right, and sets `estimated`. `masked` says that an API key
    or a token in the reply is masked.
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
    masked: bool = False

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Self:
        """A reply that was written as JSON."""
        first = values["first"]
        return cls(**{**values, "first": None if first is None else tuple((token, value) for token, value in first)})


class Chat(Protocol):
    """A loaded language model; `reply` may be called from several threads."""

    def reply(self, request: ChatRequest) -> ChatReply:
        """The reply to one request; ModelRequestError if it fails, ModelUnavailableError if no request can succeed."""
        ...

    def facts(self) -> Mapping[str, Any]:
        """Address, settings and library, as JSON without secrets."""
        ...

    def close(self) -> None:
        """Closes connections and servers."""
        ...


class ChatModel(Protocol):
    """The settings of a language model, a frozen value.

    `concurrency` is the maximum number of parallel requests; prices are money per million tokens, 0 if unknown. None of the three
    changes a reply, so none is part of the identity.
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


def model_label(model: ChatModel, digest: str) -> str:
    """The judge label llm:NAME:DIGEST; the digest covers the model, the prompts and the settings."""
    return make_judge_label("llm:", model_name(model), digest[:_DIGEST_LENGTH])


BYTES_PER_TOKEN = 4
"""For text in UTF-8 and common tokenizers; code and rare languages need more tokens."""


def estimate_tokens(text: str) -> int:
    """An estimate of the tokens of a text."""
    return -(-max_tokens_of(text) // BYTES_PER_TOKEN)


def max_tokens_of(text: str) -> int:
    """An upper bound of the tokens of a text: a token has at least one byte of UTF-8."""
    return len(text.encode("utf-8", "surrogatepass"))
