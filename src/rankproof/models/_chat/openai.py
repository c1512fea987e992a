"""Language models behind OpenAI-compatible servers."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Annotated, Any

from rankproof._data import validation
from rankproof._data.identity import NOT_IN_IDENTITY
from rankproof._data.text import clip_text
from rankproof._io.http import (
    DEADLINE_FACTOR,
    RETRYABLE_STATUSES,
    STATUSES_WITH_REASON,
    CallLimiter,
    CallsStoppedError,
    Connection,
    ConnectionLostError,
    HttpResponse,
    ResponseFormatError,
    checked_base_url,
    is_loopback,
    is_unencrypted,
    parse_response,
    replace_surrogates,
    retry_after_seconds,
)
from rankproof._io.secrets import Secret, checked_variable_name, secret_from_env
from rankproof._registry import Option
from rankproof.errors import UsageError, escape_invisible, for_message
from rankproof.models._chat.base import (
    ChatReply,
    ChatRequest,
    ChatRequestError,
    ChatUnavailableError,
    FinishReason,
)

_MAX_LOGPROBS = 20
"""The limit of OpenAI's servers."""


def request_body(model: OpenAIChat, request: ChatRequest) -> bytes:
    """The body of a request, in ASCII; settings below 0 are not sent."""
    content: dict[str, Any] = {
        "model": model.model,
        "messages": [{"role": each.role, "content": each.text} for each in request.messages],
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
    return json.dumps(content, allow_nan=False).encode()


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
    found = _object(document, "the body")
    choices = found.get("choices")
    if not isinstance(choices, list) or not choices:
        raise ResponseFormatError("there are no choices")
    choice = _object(choices[0], "the choice")
    message = _object(choice.get("message"), "the message")
    if message.get("role", "assistant") != "assistant":
        raise ResponseFormatError("the role of the message is not assistant")
    refusal = _text(message.get("refusal"), "the refusal")
    usage = found.get("usage")
    tokens = [_count(usage.get(name)) if isinstance(usage, dict) else 0 for name in ("prompt_tokens", "completion_tokens")]
    return Completion(
        text=_text(message.get("content"), "the content") or refusal,
        finish="refusal" if refusal else _FINISH_REASONS.get(str(choice.get("finish_reason")), "other"),
        tokens_in=tokens[0],
        tokens_out=tokens[1],
        model=replace_surrogates(found["model"])[:_MAX_MODEL_NAME] if isinstance(found.get("model"), str) else "",
        first=_first_token_logprobs(choice.get("logprobs")),
    )


def error_message(document: Any) -> str:
    """The server's reason for rejecting a request, "" if there is none."""
    error = document.get("error", document) if isinstance(document, dict) else None
    message = error.get("message") if isinstance(error, dict) else error
    return replace_surrogates(message) if isinstance(message, str) else ""


def _object(value: Any, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ResponseFormatError(f"{what} is not an object")
    return value


def _text(value: Any, what: str) -> str:
    if value is not None and not isinstance(value, str):
        raise ResponseFormatError(f"{what} is not text")
    return replace_surrogates(value or "")


def _count(value: Any) -> int:
    return value if type(value) is int and value > 0 else 0


def _first_token_logprobs(logprobs: Any) -> tuple[tuple[str, float], ...] | None:
    """The most likely first tokens with their log-probabilities, None if there are none; a value that is none is an error."""
    content = logprobs.get("content") if isinstance(logprobs, dict) else None
    token = content[0] if isinstance(content, list) and content else None
    top = token.get("top_logprobs") if isinstance(token, dict) else None
    pairs: list[tuple[Any, Any]] = []
    if isinstance(top, list):
        pairs = [(each.get("token"), each.get("logprob")) for each in top if isinstance(each, dict)]
    found = [(replace_surrogates(text), _logprob(value)) for text, value in pairs if isinstance(text, str)]
    return tuple((text, value) for text, value in found if value > _MIN_LOGPROB) or None


def _logprob(value: Any) -> float:
    """The log-probability, that of an impossible token for a missing one."""
    if value is None:
        return _MIN_LOGPROB
    if isinstance(value, bool) or not isinstance(value, int | float) or not value <= _ROUNDING:
        raise ResponseFormatError("a log-probability is not a number up to 0")
    return float(max(min(value, 0), _MIN_LOGPROB))


_LIKELY_CAUSES = "; likely causes: limit_key, max_tokens, or a prompt longer than the model's context"
_MAX_MESSAGE = 500
LIMIT_KEYS = ("max_tokens", "max_completion_tokens")


@dataclass(frozen=True, slots=True)
class OpenAIChat:
    """A model on an OpenAI-compatible server; the environment variable `api_key_env` has the key, "" for none.

    `timeout` applies to connecting and to each pause of a response. A `temperature` or `seed` below 0 is not sent. `limit_key` is
    the server's name for the maximum number of tokens of a reply. Prices are per million tokens.
    """

    model: Annotated[str, Option("the model's name on its server")]
    base_url: Annotated[str, Option("the address of the server, OpenAI-compatible")] = "https://api.openai.com/v1"
    api_key_env: Annotated[str, Option("the environment variable with the API key, empty for none")] = field(
        default="OPENAI_API_KEY", metadata=NOT_IN_IDENTITY
    )
    temperature: Annotated[float, Option("sampling temperature, from 0 to 2; below 0 it is not sent", least=-1, most=2)] = 0.0
    seed: Annotated[int, Option("seed of the sampling; below 0 it is not sent", least=-1, most=2**63 - 1)] = 0
    limit_key: Annotated[str, Option("the server's name for the maximum tokens of a reply")] = "max_tokens"
    timeout: Annotated[float, Option("maximum seconds to connect and to wait for data", least=0.01, most=86_400)] = field(
        default=60.0, metadata=NOT_IN_IDENTITY
    )
    concurrency: Annotated[int, Option("how many calls run at once", least=1, most=256)] = field(
        default=4, metadata=NOT_IN_IDENTITY
    )
    price_in: Annotated[float, Option("price of a million prompt tokens", least=0, most=1e6)] = field(
        default=0.0, metadata=NOT_IN_IDENTITY
    )
    price_out: Annotated[float, Option("price of a million reply tokens", least=0, most=1e6)] = field(
        default=0.0, metadata=NOT_IN_IDENTITY
    )

    def __post_init__(self) -> None:
        checked_variable_name(self.api_key_env)  # first: the value may be the key itself, which no message may show
        validation.check_options(self)
        if not self.model.strip():
            raise UsageError("model is empty", fix="give the model's name on the server")
        object.__setattr__(self, "base_url", checked_base_url(self.base_url))
        if self.api_key_env and is_unencrypted(self.base_url):
            what = "base_url is a plain http address on another machine, so the key could be read on the network"
            raise UsageError(what, fix="use https, or set api_key_env = \"\" (--api-key-env '') if the server needs no key")
        validation.checked_choice("limit_key", self.limit_key, LIMIT_KEYS)

    def load(self, *, threads: int = 1) -> OpenAIConnection:
        """A connection; nothing is sent."""
        return OpenAIConnection(self, secret_from_env(self.api_key_env, needed=not is_loopback(self.base_url)))

    def revision(self) -> str:
        """A constant: the weights behind a server are unknown."""
        return "openai-compatible"


class OpenAIConnection:
    """The connection to a model on a server."""

    def __init__(self, model: OpenAIChat, secret: Secret) -> None:
        self._model, self._secret = model, secret
        self._connection = Connection(model.base_url, secret.bearer(), secret, model.timeout)
        self._calls = CallLimiter(model.concurrency)

    def reply(self, request: ChatRequest) -> ChatReply:
        """The reply to one request; the key is masked if the server returns it."""
        body = request_body(self._model, request)
        try:
            found = self._calls.within(DEADLINE_FACTOR * self._model.timeout, lambda: self._try(request, body))
        except TimeoutError:
            found = self._failed(f"no complete response within {DEADLINE_FACTOR * self._model.timeout:g} s", charged=True)
        except CallsStoppedError:
            found = ChatUnavailableError("calls to the language model were cancelled")
        # Raised outside of the handler and without a traceback, so that no frame with headers or bodies can be reached.
        if isinstance(found, Exception):
            raise found
        return found

    def facts(self) -> Mapping[str, Any]:
        """Address and settings."""
        model = self._model
        return {"model": model.model, "address": model.base_url, "temperature": model.temperature, "seed": model.seed}

    def close(self) -> None:
        """Stops all calls; connections close after their last request."""
        self._calls.stop(self._connection.close)

    def _try(self, request: ChatRequest, body: bytes) -> ChatReply | Exception:
        start = time.perf_counter()
        try:
            response = self._connection.send("POST", f"{self._model.base_url}/chat/completions", body)
            seconds = time.perf_counter() - start
            return self._problem(response, request) or self._reply(response, seconds)
        except ConnectionLostError as error:
            return self._unavailable(str(error)) if error.is_untrusted else self._failed(str(error), charged=error.arrived)
        except ResponseFormatError as error:
            return self._failed(str(error), charged=True)

    def _problem(self, response: HttpResponse, request: ChatRequest) -> Exception | None:
        """The error for a status other than success, else None."""
        model, status = self._model, response.status
        if status == HTTPStatus.OK:
            return None
        if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            key = f"the key in {model.api_key_env}" if self._secret else "a request without a key (see api_key_env)"
            return self._unavailable(f"the server rejected {key} (status {status}); check the key and its access to the model")
        if status == HTTPStatus.NOT_FOUND:
            return self._unavailable(
                f"the server has no model {model.model}, or no chat at this address (status 404); check both"
            )
        if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
            return self._unavailable(f"the server redirects (status {status}); set base_url to the final address")
        if HTTPStatus.BAD_REQUEST <= status < HTTPStatus.INTERNAL_SERVER_ERROR and status not in RETRYABLE_STATUSES:
            optional_params = status in STATUSES_WITH_REASON and bool(request.schema or request.logprobs)
            return self._failed(
                f"the server rejected the request (status {status}) {self._reason(response)}{_LIKELY_CAUSES}",
                retryable=False,
                optional_params=optional_params,
            )
        wait = retry_after_seconds(response.retry_after)
        demand = f", and it demands a pause of {wait:g} s" if wait else ""
        return self._failed(f"status {status}{demand}", wait=wait)

    def _reason(self, response: HttpResponse) -> str:
        """The server's reason for rejecting a request, "" if its body has none."""
        try:
            return for_message(error_message(parse_response(response.body, self._secret).value))
        except ResponseFormatError:
            return ""

    def _reply(self, response: HttpResponse, seconds: float) -> ChatReply:
        document = parse_response(response.body, self._secret)
        found = parse_completion(document.value)
        return ChatReply(
            found.text,
            found.finish,
            found.tokens_in,
            found.tokens_out,
            seconds,
            model=found.model,
            first=found.first,
            masked=document.is_masked,
        )

    def _failed(self, why: str, *, retryable: bool = True, **more: Any) -> ChatRequestError:
        return ChatRequestError(self._message(why), retryable=retryable, **more)

    def _unavailable(self, why: str) -> ChatUnavailableError:
        return ChatUnavailableError(self._message(why))

    def _message(self, why: str) -> str:
        """The error with keys masked before the text is cut, so that no part of one is left."""
        return escape_invisible(clip_text(self._secret.masked(f"{self._model.base_url}: {why}"), _MAX_MESSAGE))
