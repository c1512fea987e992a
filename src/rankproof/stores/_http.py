"""The server of a vector store behind HTTP: address, keys, retries, errors and the values in its replies."""

from __future__ import annotations

import base64
import json
import os
import re
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from http import HTTPStatus
from typing import Any, ClassVar

from rankproof._data.identity import library_version
from rankproof._data.text import clip_text
from rankproof._data.validation import check_options
from rankproof._io.http import (
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
from rankproof._io.retry import RequestError, RetryPolicy
from rankproof._io.secrets import Secret, checked_variable_name, proxy_passwords
from rankproof.errors import ExternalError, UsageError, escape_invisible, for_message
from rankproof.stores._base import Store, address_digest
from rankproof.stores._collection import ExactOrHnsw, ServerCollection

_READ_STATUSES = frozenset({HTTPStatus.CREATED, HTTPStatus.BAD_REQUEST, *range(HTTPStatus.NOT_FOUND, 600)})
"""Statuses whose body has a result or a reason. A rejected login may echo the key."""
_SUCCESS = (HTTPStatus.OK, HTTPStatus.CREATED)
_BUSY = (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE)
"""Statuses of a request that was not carried out and may succeed later."""
_RETRIES = RetryPolicy(max_requests=4, first_pause=0.75, max_wait=30.0)
"""A store is the user's own server: pauses of 5 s in all bridge a full queue, and a longer outage is for the user to see."""
_MAX_BYTES, _MAX_REASON, _MIN_MASKED = 64 << 20, 400, 4
_KEY = re.compile(r"[!-~]{1,4096}")


KEY_SETTINGS = ("api_key_env", "login_env")
"""The settings that name an environment variable with a key."""


class ServerStore(Store):
    """The settings of a store on a server; one that may also be embedded is so without a url."""

    url: str
    index: ExactOrHnsw
    m: int
    ef_construction: int
    may_be_embedded: ClassVar[bool] = False

    def __post_init__(self) -> None:
        keys = {name: getattr(self, name) for name in KEY_SETTINGS if hasattr(self, name)}
        # First: a key that was written as the name of a variable must be in no message.
        address = checked_address(self.url, **keys) if self.url or not self.may_be_embedded else ""
        check_options(self)
        if not address:
            check_embedded(**keys, database=getattr(self, "database", ""))
        if all(keys.values()) and len(keys) > 1:
            raise UsageError(f"both {' and '.join(keys)} are given", fix="give one of them")
        object.__setattr__(self, "url", address)

    @property
    def needs_folder(self) -> bool:
        """Whether the engine is embedded, which needs a folder for its files."""
        return not self.url

    def revision(self) -> str:
        """The version of the HTTP library, and a digest of the server's address."""
        return ", ".join((library_version("httpx"), *address_digest(self.url)))

    def facts(self, library: str, **graph: Any) -> dict[str, Any]:
        """Version, place and settings of the index; `graph` are further settings of an HNSW index."""
        place = {"store": type(self).__name__.lower(), "library": library, "server": "given" if self.url else "embedded"}
        settings = {} if self.exact else {"m": self.m, "ef_construction": self.ef_construction, **graph}
        return {**place, "exact": self.exact, "index": self.index, **settings}


def checked_address(url: str, **variables: str) -> str:
    """The address of a server, checked; a key is not sent to another machine over plain http.

    `variables` are the settings that name an environment variable with a key.
    """
    for setting, variable in variables.items():
        # First: the value may be the key itself, which no message may show.
        checked_variable_name(variable, setting, "SEARCH_KEY")
    address = checked_base_url(url, name="url", example="https://HOST:PORT")
    if any(variables.values()) and is_unencrypted(address):
        what = "url is a plain http address on another machine, so the key could be read on the network"
        raise UsageError(what, fix="use https, or leave out the key if the server needs none")
    return address


def check_embedded(**settings: str) -> None:
    """Raises an error if a setting of a server is given to an embedded engine, which would not use it."""
    if setting := next((name for name, value in settings.items() if value), None):
        raise UsageError(f"{setting} is given without a url, so it would not be used", fix=f"set url, or leave out {setting}")


def key_in(variable: str, setting: str, url: str) -> str:
    """The key in the environment variable; "" if none is named, or if it is not set and the server is on this machine."""
    key = os.environ.get(variable, "") if variable else ""
    if variable and not key and not is_loopback(url):
        raise UsageError(f"the environment variable {variable} ({setting}) is not set", fix="set it to the key")
    if key and not _KEY.fullmatch(key):
        what = f"the environment variable {variable} ({setting}) contains characters that a key cannot have"
        raise UsageError(what, fix="set it to the key only")
    if key and setting == "login_env" and ":" not in key:
        raise UsageError(f"the environment variable {variable} (login_env) has no colon", fix="set it to user:password")
    return key


def basic_login(login: str) -> str:
    """The header of user:password."""
    return f"Basic {base64.b64encode(login.encode()).decode()}"


class StoreRequestError(RequestError):
    """A request to a store failed: why, and what to do. A check of a reply raises it too."""

    def __init__(
        self, why: str, fix: str = "see the server's log", *, retryable: bool = False, wait: float | None = None
    ) -> None:
        super().__init__(" ".join(why.split()), retryable=retryable, wait=wait)
        self.fix = fix


def busy_error(why: str, *, wait: float | None = None) -> StoreRequestError:
    """A request that was not carried out because the server was too busy."""
    return StoreRequestError(why, "wait until the server is less busy", retryable=True, wait=wait)


class StoreServer:
    """The connection to the server of a store; every failure is an ExternalError without the key."""

    def __init__(self, engine: str, url: str, headers: Mapping[str, str], key: str, timeout: float) -> None:
        keys = (key, key.partition(":")[2])
        self._secret = Secret(*keys, others=proxy_passwords(), min_length=_MIN_MASKED)
        # A short key may be an ordinary word of a reply, such as that of a mark.
        self._secret_in_replies = Secret(*keys, others=proxy_passwords())
        self._engine, self.url = engine, url
        self._connection = Connection(url, headers, self._secret, timeout, read_statuses=_READ_STATUSES, max_bytes=_MAX_BYTES)

    def call(
        self,
        doing: str,
        method: str,
        path: str,
        body: Any = None,
        *,
        check: Callable[[Any], None] = lambda document: None,
        is_optional: bool = False,
        is_repeatable: bool = True,
    ) -> Any:
        """The JSON document of the reply; None if `is_optional` and the server has nothing at that path.

        `check` raises a StoreRequestError on a document that is no success. A request that is not repeatable is not sent
        again once it may have arrived.
        """
        content = body if isinstance(body, bytes | None) else json.dumps(body, allow_nan=False).encode()

        def attempt() -> Any:
            response = self._sent(method, path, content, is_repeatable)
            if is_optional and response.status == HTTPStatus.NOT_FOUND:
                return None
            document = self._document(response)
            check(document)
            return document

        try:
            return _RETRIES.send(attempt)[0]
        except StoreRequestError as failure:
            message = self._message(doing, failure)
        # Raised outside of the handler, so that no traceback leads to a reason that is not masked.
        raise ExternalError(message)

    def close(self) -> None:
        """Closes the connection."""
        self._connection.close()

    def _sent(self, method: str, path: str, content: bytes | None, is_repeatable: bool) -> HttpResponse:
        try:
            return self._connection.send(method, f"{self.url}{path}", content)
        except ConnectionLostError as error:
            may_retry = not error.is_untrusted and (is_repeatable or not error.arrived)
            fix = "check that the server is running, the address and the network"
            raise StoreRequestError(str(error), fix, retryable=may_retry) from None

    def _document(self, response: HttpResponse) -> Any:
        """The JSON of a success."""
        if response.status not in _SUCCESS:
            raise self._rejection(response)
        try:
            return parse_response(response.body, self._secret_in_replies).value
        except ResponseFormatError as error:
            raise StoreRequestError(f"the reply is not of this engine: {error}", "check the address") from None

    def _rejection(self, response: HttpResponse) -> StoreRequestError:
        status = response.status
        if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            if self._secret:
                why = f"the server rejected the key (status {status})"
                return StoreRequestError(why, "check the environment variable with the key")
            fix = "name the environment variable with the key in the settings of the store, and set it"
            return StoreRequestError(f"the server rejected a request without a key (status {status})", fix)
        if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
            return StoreRequestError(f"the server redirects (status {status})", "set url to the final address")
        try:
            reason = error_reason(parse_response(response.body, self._secret).value)
        except ResponseFormatError:
            reason = ""
        why = f"status {status}{f': {reason}' if reason else ''}"
        if status in _BUSY:
            return busy_error(why, wait=retry_after_seconds(response.retry_after))
        return StoreRequestError(why, "check the settings, and see the server's log")

    def _message(self, doing: str, failure: StoreRequestError) -> str:
        """The error; keys are masked before the text is cut, so that no part of one is left."""
        why = escape_invisible(clip_text(self._secret.masked(replace_surrogates(str(failure))), _MAX_REASON))
        return f"{self.url}: {self._engine} failed while {doing} ({why}); {failure.fix}, then run again"


_REASONS = ("error", "reason", "message", "status", "root_cause")


def error_reason(document: Any) -> str:
    """The first text among the usual places of a reason; "" if there is none."""
    if isinstance(document, str):
        return for_message(document)
    if isinstance(document, list):
        return next(filter(None, map(error_reason, document)), "")
    if isinstance(document, dict):
        return next(filter(None, (error_reason(document.get(name)) for name in _REASONS)), "")
    return ""


def part_of(document: Any, *path: str | int) -> Any:
    """The value at a path of keys and places; an error if the reply has none."""
    try:
        for step in path:
            document = document[step]
    except (LookupError, TypeError):
        where = ".".join(map(str, path))
        raise ExternalError(f"the reply of the server has no {where}; check its address and version") from None
    return document


def text_at(document: Any, *path: str | int) -> str:
    """A text in a reply, "" if there is none."""
    with suppress(LookupError, TypeError):
        for step in path:
            document = document[step]
        return document if isinstance(document, str) else ""
    return ""


def count_at(document: Any, *path: str | int) -> int:
    """A whole number in a reply."""
    count = part_of(document, *path)
    if type(count) is not int or count < 0:
        raise ExternalError(f"the reply of the server has no number at {'.'.join(map(str, path))}; check its version")
    return count


def rows_at(document: Any, *path: str | int) -> list[dict[str, Any]]:
    """A list of objects in a reply."""
    rows = part_of(document, *path)
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ExternalError(f"the reply of the server has no rows at {'.'.join(map(str, path))}; check its version")
    return rows


def version_numbers(version: str) -> tuple[int, ...]:
    """The first two numbers of a version, none for text that is no version."""
    match = re.match(r"v?(\d{1,6})\.(\d{1,6})", version, re.ASCII)
    return tuple(map(int, match.groups())) if match else ()


POLL_SECONDS = 0.1


def wait_until(ready: Callable[[], bool], seconds: float, what: str) -> None:
    """Asks until it is ready; an error after that time."""
    end = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > end:
            raise ExternalError(f"{what} is not ready after {seconds:g} s; set index_timeout higher, or see the server's log")
        time.sleep(POLL_SECONDS)


class HttpCollection(ServerCollection):
    """A collection on a server behind HTTP."""

    _server: StoreServer

    def _disconnect(self) -> None:
        self._server.close()
