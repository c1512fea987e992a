"""A language model behind an OpenAI-compatible server: OpenAI itself, vLLM, Ollama, llama.cpp and many others."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Annotated, Any

from ..._registry import Option
from ...data import checks
from ...data.identity import NOT_PART
from ...errors import UsageError, shown, visible
from .address import is_loopback, is_open, plain_address
from .calls import Calls, StoppedError
from .http import EXPLAINED, BrokenError, Connection, HttpAnswer
from .port import Ask, ChatFailedError, ChatUnusableError, Reply
from .request import request_body
from .response import Completion, WrongShapeError, completion_of, reason_of
from .retry_after import seconds_asked
from .secrets import Secret, secret_of, variable_name

_LIKELY = "; likely causes: limit_key, max_tokens, or more than the model's context holds"
LIMIT_KEYS = ("max_tokens", "max_completion_tokens")
_AGAIN = frozenset({408, 409, 425, 429})
_DEADLINE = 2.5
"""Time-outs after which an answer is given up whatever the connection does: looking up a host's name knows no limit."""


@dataclass(frozen=True, slots=True)
class OpenAIChat:
    """A model's name and its server's address; the key is in the environment variable `key_env`, "" where none is needed.

    `timeout` seconds are for connecting and for each pause of an answer. A `temperature` or `seed` below 0 is not sent, and
    `limit_key` is what the server calls the most tokens of a reply. Prices are for a million tokens.
    """

    model: Annotated[str, Option("the model's name on its server")]
    base_url: Annotated[str, Option("the address of the server, OpenAI-compatible")] = "https://api.openai.com/v1"
    key_env: Annotated[str, Option("the environment variable with the API key, empty for none")] = field(
        default="OPENAI_API_KEY", metadata=NOT_PART
    )
    temperature: Annotated[float, Option("sampling temperature, from 0 to 2; below 0 it is not sent", least=-1, most=2)] = 0.0
    seed: Annotated[int, Option("seed of the sampling; below 0 it is not sent", least=-1, most=2**63 - 1)] = 0
    limit_key: Annotated[str, Option("the server's name for the most tokens of a reply")] = "max_tokens"
    timeout: Annotated[float, Option("the most seconds to connect and to wait for data", least=0.01, most=86_400)] = field(
        default=60.0, metadata=NOT_PART
    )
    concurrency: Annotated[int, Option("how many calls run at once", least=1, most=256)] = field(default=4, metadata=NOT_PART)
    price_in: Annotated[float, Option("price of a million prompt tokens", least=0, most=1e6)] = field(
        default=0.0, metadata=NOT_PART
    )
    price_out: Annotated[float, Option("price of a million reply tokens", least=0, most=1e6)] = field(
        default=0.0, metadata=NOT_PART
    )

    def __post_init__(self) -> None:
        variable_name(self.key_env)  # first: what stands in its place may be the key, which no message shows
        checks.check_options(self)
        if not self.model.strip():
            raise UsageError("model is empty", fix="give the name that the server knows the model by")
        object.__setattr__(self, "base_url", plain_address(self.base_url))
        if self.key_env and is_open(self.base_url):
            what = "base_url is a plain http address of another machine, and the key could be read on the way there"
            raise UsageError(what, fix='use https, or give key_env = "" where the server needs no key')
        checks.choice("limit_key", self.limit_key, LIMIT_KEYS)

    def load(self, *, threads: int = 1) -> OpenAIConnection:
        """A connection; nothing is sent yet."""
        return OpenAIConnection(self, secret_of(self.key_env, needed=not is_loopback(self.base_url)))

    def revision(self) -> str:
        """Nobody can tell which weights stand behind a server's name."""
        return "openai-compatible"


class OpenAIConnection:
    """The model, ready to reply."""

    def __init__(self, model: OpenAIChat, secret: Secret) -> None:
        self._model, self._secret = model, secret
        self._connection = Connection(model.base_url, secret, model.timeout)
        self._calls = Calls(model.concurrency)
        self._estimated, self._lock = 0, threading.Lock()

    def reply(self, ask: Ask) -> Reply:
        """The reply to one request, without the key where the server sent it back."""
        body = request_body(self._model, ask)
        try:
            found = self._calls.within(_DEADLINE * self._model.timeout, lambda: self._tried(ask, body))
        except TimeoutError:
            found = self._failed(f"no whole answer within {_DEADLINE * self._model.timeout:g} s", charged=True)
        except StoppedError:
            found = ChatUnusableError("asking was stopped")
        # Raised out here, and made without a traceback: none leads to a frame that holds headers or what the server sent.
        if isinstance(found, Exception):
            raise found
        return found

    def facts(self) -> Mapping[str, Any]:
        """Where it is asked, and how many replies came without a count of their tokens."""
        model = self._model
        said = {"model": model.model, "address": model.base_url, "temperature": model.temperature, "seed": model.seed}
        return {**said, "usage_estimated": self._estimated}

    def close(self) -> None:
        """Ends every wait for a reply; connections close with their last request."""
        self._calls.stop(self._connection.close)

    def _tried(self, ask: Ask, body: bytes) -> Reply | Exception:
        start = time.perf_counter()
        try:
            answer = self._connection.post(body)
            seconds = time.perf_counter() - start
            problem = self._problem(answer, ask)
            return problem or self._reply(completion_of(self._secret.masked(answer.body), ask), seconds)
        except BrokenError as error:
            return self._failed(str(error), charged=error.arrived)
        except WrongShapeError as error:
            return self._failed(str(error), charged=True)

    def _problem(self, answer: HttpAnswer, ask: Ask) -> Exception | None:
        """What a status means other than success."""
        model, status = self._model, answer.status
        if status == HTTPStatus.OK:
            return None
        if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            key = f"the key in {model.key_env}" if self._secret else "an ask without a key (see key_env)"
            return self._unusable(f"the server refused {key} (status {status}); check that it is right and may use the model")
        if status == HTTPStatus.NOT_FOUND:
            return self._unusable(f"the server knows no model {model.model}, or no chat at this address (status 404); check both")
        if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
            return self._unusable(f"the server leads elsewhere (status {status}), which is not followed; give the right base_url")
        if HTTPStatus.BAD_REQUEST <= status < HTTPStatus.INTERNAL_SERVER_ERROR and status not in _AGAIN:
            told = shown(self._secret.masked(reason_of(self._secret.masked(answer.body))))
            wishes = status in EXPLAINED and bool(ask.schema or ask.logprobs)
            return self._failed(f"the server refused the request (status {status}) {told}{_LIKELY}", again=False, wishes=wishes)
        return self._failed(f"status {status}", wait=seconds_asked(answer.retry_after))

    def _reply(self, found: Completion, seconds: float) -> Reply:
        if found.is_estimated:
            with self._lock:
                self._estimated += 1
        masked = self._secret.masked
        first = None if found.first is None else tuple((masked(token), value) for token, value in found.first)
        return Reply(
            masked(found.text),
            found.finish,
            found.tokens_in,
            found.tokens_out,
            seconds,
            model=masked(found.model),
            first=first,
            estimated=found.is_estimated,
        )

    def _failed(self, why: str, *, again: bool = True, **more: Any) -> ChatFailedError:
        return ChatFailedError(self._said(why), again=again, **more)

    def _unusable(self, why: str) -> ChatUnusableError:
        return ChatUnusableError(self._said(why))

    def _said(self, why: str) -> str:
        return visible(self._secret.masked(f"{self._model.base_url}: {why.strip()}"))
