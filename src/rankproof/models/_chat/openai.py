"""Language models behind OpenAI-compatible servers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from rankproof._data import validation
from rankproof._data.identity import NOT_IN_IDENTITY
from rankproof._data.validation import ApiKeyEnv, BaseUrl, Concurrency, PriceIn, PriceOut
from rankproof._io.http import ResponseFormatError, replace_surrogates
from rankproof._registry import Option
from rankproof.models._api.connection import ModelConnection, count_of, object_of
from rankproof.models._api.settings import Timeout, check_server
from rankproof.models._chat.base import ChatReply, ChatRequest, FinishReason

_MAX_LOGPROBS = 20
"""The limit of OpenAI's servers."""


def request_content(model: OpenAIChat, request: ChatRequest) -> dict[str, Any]:
    """The JSON of a request; settings below 0 are not sent."""
    content: dict[str, Any] = {
        "model": model.model,
        "messages": [{"role": message.role, "content": message.text} for message in request.messages],
        model.limit_key: request.max_tokens,
        "stream": False,
    }
    if model.temperature >= 0:
        content["temperature"] = model.temperature
    if model.seed >= 0:
        content["seed"] = model.seed
    if request.schema:
        shape = {"name": "reply", "strict": True, "schema": json.loads(request.schema)}
        content["response_format"] = {"type": "json_schema", "json_schema": shape}
    if request.logprobs:
        content |= {"logprobs": True, "top_logprobs": min(request.logprobs, _MAX_LOGPROBS)}
    return content


_FINISH_REASONS: dict[str, FinishReason] = {
    "stop": "stop",
    "length": "length",
    "max_tokens": "length",
    "content_filter": "refusal",
}
_MAX_MODEL_NAME = 200
_MIN_LOGPROB = -1e9
_ROUNDING = 1e-4
"""How far above 0 a log-probability may be: servers round probabilities that are almost 1."""


@dataclass(frozen=True, slots=True)
class Completion:
    """A parsed completion; its tokens are 0 where the server does not tell them."""

    text: str
    finish: FinishReason
    tokens_in: int
    tokens_out: int
    model: str
    first: tuple[tuple[str, float], ...] | None


def parse_completion(document: Any) -> Completion:
    """The first choice, its tokens and its log-probabilities."""
    body = object_of(document, "the body")
    choices = body.get("choices")
    if not isinstance(choices, list) or not choices:
        raise ResponseFormatError("there are no choices")
    choice = object_of(choices[0], "the choice")
    message = object_of(choice.get("message"), "the message")
    if message.get("role", "assistant") != "assistant":
        raise ResponseFormatError("the role of the message is not assistant")
    refusal = _text(message.get("refusal"), "the refusal")
    usage = body.get("usage")
    tokens = [count_of(usage.get(name)) if isinstance(usage, dict) else 0 for name in ("prompt_tokens", "completion_tokens")]
    return Completion(
        text=_text(message.get("content"), "the content") or refusal,
        finish="refusal" if refusal else _FINISH_REASONS.get(str(choice.get("finish_reason")), "other"),
        tokens_in=tokens[0],
        tokens_out=tokens[1],
        model=replace_surrogates(body["model"])[:_MAX_MODEL_NAME] if isinstance(body.get("model"), str) else "",
        first=_first_token_logprobs(choice.get("logprobs")),
    )


def _text(value: Any, what: str) -> str:
    if value is not None and not isinstance(value, str):
        raise ResponseFormatError(f"{what} is not text")
    return replace_surrogates(value or "")


def _first_token_logprobs(logprobs: Any) -> tuple[tuple[str, float], ...] | None:
    """The most likely first tokens with their log-probabilities, None if there are none; a value that is none is an error."""
    content = logprobs.get("content") if isinstance(logprobs, dict) else None
    token = content[0] if isinstance(content, list) and content else None
    top = token.get("top_logprobs") if isinstance(token, dict) else None
    pairs: list[tuple[Any, Any]] = []
    if isinstance(top, list):
        pairs = [(listed.get("token"), listed.get("logprob")) for listed in top if isinstance(listed, dict)]
    tokens = [(replace_surrogates(text), _logprob(value)) for text, value in pairs if isinstance(text, str)]
    return tuple((text, value) for text, value in tokens if value > _MIN_LOGPROB) or None


def _logprob(value: Any) -> float:
    """The log-probability, that of an impossible token for a missing one."""
    if value is None:
        return _MIN_LOGPROB
    if isinstance(value, bool) or not isinstance(value, int | float) or not value <= _ROUNDING:
        raise ResponseFormatError("a log-probability is not a number up to 0")
    return float(max(min(value, 0), _MIN_LOGPROB))


_LIKELY_CAUSES = "; likely causes: limit_key, max_tokens, or a prompt longer than the model's context"
LIMIT_KEYS = ("max_tokens", "max_completion_tokens")


@dataclass(frozen=True, slots=True)
class OpenAIChat:
    """A model on an OpenAI-compatible server; the environment variable `api_key_env` has the key, "" for none.

    `timeout` applies to connecting and to each pause of a response. A `temperature` or `seed` below 0 is not sent. `limit_key` is
    the server's name for the maximum number of tokens of a reply. Prices are per million tokens.
    """

    model: Annotated[str, Option("the model's name on its server")]
    base_url: BaseUrl = "https://api.openai.com/v1"
    api_key_env: ApiKeyEnv = field(default="OPENAI_API_KEY", metadata=NOT_IN_IDENTITY)
    temperature: Annotated[float, Option("sampling temperature, from 0 to 2; below 0 it is not sent", least=-1, most=2)] = 0.0
    seed: Annotated[int, Option("seed of the sampling; below 0 it is not sent", least=-1, most=2**63 - 1)] = 0
    limit_key: Annotated[str, Option("the server's name for the maximum tokens of a reply")] = "max_tokens"
    timeout: Timeout = field(default=60.0, metadata=NOT_IN_IDENTITY)
    concurrency: Concurrency = field(default=4, metadata=NOT_IN_IDENTITY)
    price_in: PriceIn = field(default=0.0, metadata=NOT_IN_IDENTITY)
    price_out: PriceOut = field(default=0.0, metadata=NOT_IN_IDENTITY)

    def __post_init__(self) -> None:
        object.__setattr__(self, "base_url", check_server(self))
        validation.checked_choice("limit_key", self.limit_key, LIMIT_KEYS)

    def load(self, *, threads: int = 1) -> OpenAIConnection:
        """A connection; nothing is sent."""
        return OpenAIConnection(self)

    def revision(self) -> str:
        """A constant: the weights behind a server are unknown."""
        return "openai-compatible"


class OpenAIConnection:
    """The connection to a model on a server."""

    def __init__(self, model: OpenAIChat) -> None:
        self._model = model
        self._connection = ModelConnection(model, service="chat", causes=_LIKELY_CAUSES)

    def reply(self, request: ChatRequest) -> ChatReply:
        """The reply to one request; the key is masked if the server returns it."""
        has_optional = bool(request.schema or request.logprobs)
        content = request_content(self._model, request)
        response = self._connection.post("/chat/completions", content, parse_completion, optional_params=has_optional)
        completion = response.value
        return ChatReply(
            completion.text,
            completion.finish,
            completion.tokens_in,
            completion.tokens_out,
            response.seconds,
            model=completion.model,
            first=completion.first,
            masked=response.masked,
        )

    def facts(self) -> Mapping[str, Any]:
        """Address and settings."""
        model = self._model
        return {"model": model.model, "address": model.base_url, "temperature": model.temperature, "seed": model.seed}

    def close(self) -> None:
        """Stops all calls; connections close after their last request."""
        self._connection.close()
