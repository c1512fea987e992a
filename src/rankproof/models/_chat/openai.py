"""Language models behind OpenAI-compatible servers."""

from __future__ import annotations

import json
import math
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Annotated, Any

from rankproof._data import validation
from rankproof._data.identity import NOT_IN_IDENTITY
from rankproof._io.http import (
    DEADLINE_FACTOR,
    RETRYABLE_STATUSES,
    STATUSES_WITH_REASON,
    CallLimiter,
    CallsStoppedError,
    Connection,
    ConnectionLostError,
    HttpResponse,
    Secret,
    checked_base_url,
    checked_variable_name,
    is_loopback,
    is_unencrypted,
    replace_surrogates,
    retry_after_seconds,
    secret_from_env,
)
from rankproof._registry import Option
from rankproof.errors import UsageError, escape_invisible, for_message
from rankproof.models._chat.base import (
    ChatReply,
    ChatRequest,
    ChatRequestError,
    ChatUnavailableError,
    FinishReason,
    estimate_tokens,
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
_MAX_TOKENS = 10**9
_MAX_MODEL_NAME = 200


class ResponseFormatError(ValueError):
    """The body is not a chat completion; the message does not quote it."""


@dataclass(frozen=True, slots=True)
class Completion:
    """A parsed completion; `is_estimated` says that its tokens are estimated."""

    text: str
    finish: FinishReason
    tokens_in: int
    tokens_out: int
    is_estimated: bool
    model: str
    first: tuple[tuple[str, float], ...] | None


def parse_completion(body: str, request: ChatRequest) -> Completion:
    """The first choice, its tokens and its log-probabilities."""
    document = _object(_parse_body(body), "the body")
    choices = document.get("choices")
    if not isinstance(choices, list) or not choices:
        raise ResponseFormatError("there are no choices")
    choice = _object(choices[0], "the choice")
    message = _object(choice.get("message"), "the message")
    refusal = _text(message.get("refusal"), "the refusal")
    text = _text(message.get("content"), "the content") or refusal
    finish = "refusal" if refusal else _FINISH_REASONS.get(str(choice.get("finish_reason")), "other")
    usage = document.get("usage")
    counts = [_count(usage.get(name)) for name in ("prompt_tokens", "completion_tokens")] if isinstance(usage, dict) else [None]
    tokens_in, tokens_out = (None, None) if None in counts else counts
    return Completion(
        text=text,
        finish=finish,
        tokens_in=sum(estimate_tokens(each.text) for each in request.messages) if tokens_in is None else tokens_in,
        tokens_out=estimate_tokens(text) if tokens_out is None else tokens_out,
        is_estimated=None in counts,
        model=replace_surrogates(document["model"])[:_MAX_MODEL_NAME] if isinstance(document.get("model"), str) else "",
        first=_first_token_logprobs(choice.get("logprobs")),
    )


def error_message(body: str) -> str:
    """The server's reason for rejecting a request, "" if there is none."""
    try:
        document = _parse_body(body)
    except ResponseFormatError:
        return ""
    error = document.get("error", document) if isinstance(document, dict) else None
    message = error.get("message") if isinstance(error, dict) else error
    return replace_surrogates(message) if isinstance(message, str) else ""


def _parse_body(body: str) -> Any:
    if not body.strip():
        raise ResponseFormatError("the body is empty")
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise ResponseFormatError("the body is not JSON") from None


def _object(value: Any, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ResponseFormatError(f"{what} is not an object")
    return value


def _text(value: Any, what: str) -> str:
    if value is not None and not isinstance(value, str):
        raise ResponseFormatError(f"{what} is not text")
    return replace_surrogates(value or "")


def _count(value: Any) -> int | None:
    return value if type(value) is int and 0 <= value <= _MAX_TOKENS else None


def _first_token_logprobs(logprobs: Any) -> tuple[tuple[str, float], ...] | None:
    """The most likely first tokens with finite log-probabilities, None if there are none."""
    content = logprobs.get("content") if isinstance(logprobs, dict) else None
    token = content[0] if isinstance(content, list) and content else None
    top = token.get("top_logprobs") if isinstance(token, dict) else None
    pairs: list[tuple[Any, Any]] = []
    if isinstance(top, list):
        pairs = [(each.get("token"), each.get("logprob")) for each in top if isinstance(each, dict)]
    found = tuple(
        (replace_surrogates(text), float(value)) for text, value in pairs if isinstance(text, str) and _is_logprob(value)
    )
    return found or None


def _is_logprob(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and -1e9 < value < 1e9 and math.isfinite(value)


_LIKELY_CAUSES = "; likely causes: limit_key, max_tokens, or a prompt longer than the model's context"
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
        self._estimated, self._lock = 0, threading.Lock()

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
        """Address and settings, and the number of replies with estimated tokens."""
        model = self._model
        facts = {"model": model.model, "address": model.base_url, "temperature": model.temperature, "seed": model.seed}
        return {**facts, "usage_estimated": self._estimated}

    def close(self) -> None:
        """Stops all calls; connections close after their last request."""
        self._calls.stop(self._connection.close)

    def _try(self, request: ChatRequest, body: bytes) -> ChatReply | Exception:
        start = time.perf_counter()
        try:
            response = self._connection.send("POST", f"{self._model.base_url}/chat/completions", body)
            seconds = time.perf_counter() - start
            problem = self._problem(response, request)
            return problem or self._reply(parse_completion(self._secret.masked(response.body), request), seconds)
        except ConnectionLostError as error:
            return self._failed(str(error), charged=error.arrived)
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
            reason = for_message(self._secret.masked(error_message(self._secret.masked(response.body))))
            optional_params = status in STATUSES_WITH_REASON and bool(request.schema or request.logprobs)
            return self._failed(
                f"the server rejected the request (status {status}) {reason}{_LIKELY_CAUSES}",
                retryable=False,
                optional_params=optional_params,
            )
        return self._failed(f"status {status}", wait=retry_after_seconds(response.retry_after))

    def _reply(self, found: Completion, seconds: float) -> ChatReply:
        if found.is_estimated:
            with self._lock:
                self._estimated += 1
        masked = self._secret.masked
        first = None if found.first is None else tuple((masked(token), value) for token, value in found.first)
        return ChatReply(
            masked(found.text),
            found.finish,
            found.tokens_in,
            found.tokens_out,
            seconds,
            model=masked(found.model),
            first=first,
            estimated=found.is_estimated,
        )

    def _failed(self, why: str, *, retryable: bool = True, **more: Any) -> ChatRequestError:
        return ChatRequestError(self._message(why), retryable=retryable, **more)

    def _unavailable(self, why: str) -> ChatUnavailableError:
        return ChatUnavailableError(self._message(why))

    def _message(self, why: str) -> str:
        return escape_invisible(self._secret.masked(f"{self._model.base_url}: {why.strip()}"))
