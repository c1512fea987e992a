"""The connection to a model behind a server: sends JSON, reads JSON with keys masked, and turns failures into errors."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Generic, TypeVar

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
    is_loopback,
    parse_response,
    replace_surrogates,
    retry_after_seconds,
)
from rankproof._io.secrets import Secret, secret_from_env
from rankproof.errors import escape_invisible, for_message
from rankproof.models._api.settings import ModelRequestError, ModelServer, ModelUnavailableError, default_address

ReadT = TypeVar("ReadT")
_MAX_MESSAGE = 500
_READ_STATUSES = STATUSES_WITH_REASON | {
    HTTPStatus.PAYMENT_REQUIRED,
    HTTPStatus.NOT_FOUND,
    HTTPStatus.METHOD_NOT_ALLOWED,
    HTTPStatus.TOO_MANY_REQUESTS,
}
"""Statuses whose body may say what is wrong: the model, the path, or a quota that is used up."""


@dataclass(frozen=True, slots=True)
class ApiResponse(Generic[ReadT]):
    """What was read from a response, the seconds of the request, and whether a key in it was masked."""

    value: ReadT
    seconds: float
    masked: bool


class ModelConnection:
    """Keeps connections to the server of one model open; safe for several threads.

    `service` is what the server does, for messages: "chat", "embeddings". `causes` follows the reason of a rejected request.
    `key_headers` makes the header with the key, by default a bearer token.
    """

    def __init__(
        self,
        server: ModelServer,
        *,
        service: str,
        causes: str = "",
        key_headers: Callable[[Secret], Mapping[str, str]] = Secret.bearer,
        max_bytes: int | None = None,
    ) -> None:
        self._server, self._service, self._causes = server, service, causes
        self._secret = secret_from_env(server.api_key_env, needed=not is_loopback(server.base_url))
        headers = key_headers(self._secret)
        self._connection = Connection(
            server.base_url, headers, self._secret, server.timeout, read_statuses=_READ_STATUSES, max_bytes=max_bytes
        )
        self._calls = CallLimiter(server.concurrency)

    def post(
        self, path: str, content: Mapping[str, Any], read: Callable[[Any], ReadT], *, optional_params: bool = False
    ) -> ApiResponse[ReadT]:
        """The response to one request, as `read` understands its JSON; ResponseFormatError in `read` is a failed request.

        The key is masked if the server returns it. `optional_params` says that the request has parameters that it could do
        without, which is part of the error if the server rejects it.
        """
        return self._request("POST", path, json.dumps(content, allow_nan=False).encode(), read, optional_params=optional_params)

    def get(self, path: str, read: Callable[[Any], ReadT]) -> ApiResponse[ReadT]:
        """As `post`, for a request without a body."""
        return self._request("GET", path, None, read)

    def close(self) -> None:
        """Stops all calls; connections close after their last request."""
        self._calls.stop(self._connection.close)

    def _request(
        self, method: str, path: str, body: bytes | None, read: Callable[[Any], ReadT], *, optional_params: bool = False
    ) -> ApiResponse[ReadT]:
        seconds = DEADLINE_FACTOR * self._server.timeout
        outcome: ApiResponse[ReadT] | Exception
        try:
            outcome = self._calls.within(seconds, lambda: self._try(method, path, body, read, optional_params))
        except TimeoutError:
            outcome = self._failed(f"no complete response within {seconds:g} s", charged=True)
        except CallsStoppedError:
            outcome = ModelUnavailableError("calls to the model were cancelled")
        # Raised outside of the handler and without a traceback, so that no frame with headers or bodies can be reached.
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def _try(
        self, method: str, path: str, body: bytes | None, read: Callable[[Any], ReadT], optional_params: bool
    ) -> ApiResponse[ReadT] | Exception:
        start = time.perf_counter()
        try:
            response = self._connection.send(method, f"{self._server.base_url}{path}", body)
            seconds = time.perf_counter() - start
            if problem := self._problem(response, path, optional_params):
                return problem
            document = parse_response(response.body, self._secret)
            try:
                return ApiResponse(read(document.value), seconds, document.is_masked)
            except ResponseFormatError as error:
                return self._failed(f"{error}{_reported_reason(document.value)}", charged=True)
        except ConnectionLostError as error:
            return self._unavailable(str(error)) if error.is_untrusted else self._failed(str(error), charged=error.arrived)
        except ResponseFormatError as error:
            return self._failed(str(error), charged=True)

    def _problem(self, response: HttpResponse, path: str, optional_params: bool) -> Exception | None:
        """The error for a status other than success, else None."""
        server, status = self._server, response.status
        if status == HTTPStatus.OK:
            return None
        if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            key = f"the key in {server.api_key_env}" if self._secret else "a request without a key (see api_key_env)"
            return self._unavailable(f"the server rejected {key} (status {status}); check the key and its access to the model")
        if status == HTTPStatus.NOT_FOUND:
            where = f"no {self._service} at {server.base_url}{path}, or no model {server.model}"
            fix = f"check the model, and base_url (such as {default_address(server)})"
            return self._unavailable(f"the server has {where} (status 404){self._reason(response)}; {fix}")
        if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
            return self._unavailable(f"the server redirects (status {status}); set base_url to the final address")
        if HTTPStatus.BAD_REQUEST <= status < HTTPStatus.INTERNAL_SERVER_ERROR and status not in RETRYABLE_STATUSES:
            return self._failed(
                f"the server rejected the request (status {status}){self._reason(response)}{self._causes}",
                retryable=False,
                optional_params=optional_params and status in STATUSES_WITH_REASON,
                status=status,
            )
        wait = retry_after_seconds(response.retry_after)
        demand = f", and it demands a pause of {wait:g} s" if wait else ""
        return self._failed(f"status {status}{demand}{self._reason(response)}", wait=wait, status=status)

    def _reason(self, response: HttpResponse) -> str:
        """The server's reason for rejecting a request after a colon, "" if its body has none."""
        try:
            return _reported_reason(parse_response(response.body, self._secret).value)
        except ResponseFormatError:
            return ""

    def _failed(self, why: str, *, retryable: bool = True, **more: Any) -> ModelRequestError:
        return ModelRequestError(self._message(why), retryable=retryable, **more)

    def _unavailable(self, why: str) -> ModelUnavailableError:
        return ModelUnavailableError(self._message(why))

    def _message(self, why: str) -> str:
        """The error with keys masked before the text is cut, so that no part of one is left."""
        return escape_invisible(clip_text(self._secret.masked(f"{self._server.base_url}: {why}"), _MAX_MESSAGE))


def _reported_reason(document: Any) -> str:
    """What the server says about an error, after a colon; "" if it says nothing."""
    message = error_message(document)
    return f": {for_message(message)}" if message else ""


def error_message(document: Any) -> str:
    """The server's reason for rejecting a request, "" if there is none: in `error.message`, `error`, `message` or `detail`."""
    error = document.get("error", document) if isinstance(document, dict) else None
    message = (error.get("message") or error.get("detail")) if isinstance(error, dict) else error
    return replace_surrogates(message) if isinstance(message, str) else ""


def object_of(value: Any, what: str) -> dict[str, Any]:
    """The value, which must be a JSON object; ResponseFormatError if it is not."""
    if not isinstance(value, dict):
        raise ResponseFormatError(f"{what} is not an object")
    return value


def list_of(value: Any, what: str) -> list[Any]:
    """The value, which must be a JSON list; ResponseFormatError if it is not."""
    if not isinstance(value, list):
        raise ResponseFormatError(f"{what} is not a list")
    return value


def count_of(value: Any) -> int:
    """The number, 0 for anything that is not a positive whole number."""
    return value if type(value) is int and value > 0 else 0
