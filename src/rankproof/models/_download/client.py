"""HTTP client of the model hub."""

from __future__ import annotations

import http.client
import os
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import IO, Any, Self
from urllib.parse import urlsplit

from rankproof.errors import ExternalError, UsageError, escape_invisible


def call_with_timeout(seconds: float, call: Callable[[], Any]) -> Any:
    """The result of the call, or TimeoutError; a longer call ends on its own daemon thread."""
    outcome: list[Any] = []

    def run() -> None:
        try:
            outcome.extend((call(), None))
        except BaseException as error:
            outcome.extend((None, error))

    waiting = threading.Thread(target=run, daemon=True)
    waiting.start()
    waiting.join(seconds)
    if not outcome:
        raise TimeoutError(f"no response within {seconds:g} s")
    if outcome[1] is not None:
        raise outcome[1]
    return outcome[0]


_BLOCK_BYTES = 1 << 20
_LOOPBACK_HOSTS = ("127.0.0.1", "localhost", "::1")
_ACCESS_DENIED = {401, 403}
_REDIRECT_HEADERS = ("X-Repo-Commit", "X-Linked-Etag")


@dataclass(frozen=True, eq=False, slots=True)
class HubResponse:
    """An open response, with the headers of the redirects that led to it."""

    url: str
    body: http.client.HTTPResponse
    carried: dict[str, str]

    @property
    def length(self) -> int | None:
        """The bytes of the body, None if unknown."""
        length = self.body.headers.get("Content-Length", "")
        return int(length) if length.isdecimal() else None

    def header(self, name: str) -> str:
        """A header, "" if there is none."""
        return self.carried.get(name) or self.body.headers.get(name) or ""

    def blocks(self) -> Iterator[bytes]:
        """The body in blocks; a truncated body is an error."""
        done = 0
        try:
            while block := self.body.read(_BLOCK_BYTES):
                done += len(block)
                yield block
        except (http.client.HTTPException, TimeoutError, ConnectionError) as error:
            raise _download_error(self.url, f"after {done} bytes: {_error_reason(error)}") from None
        finally:
            self.body.close()
        if self.length not in (None, done):
            raise _download_error(self.url, f"{done} of {self.length} bytes arrived")


@dataclass(frozen=True, slots=True)
class HubClient:
    """A client of the hub; timeouts are in seconds, `timeout` for each pause after the first response."""

    endpoint: str = "https://huggingface.co"
    token: str = field(default="", repr=False)
    first_response_timeout: float = 4.0
    timeout: float = 10.0

    @classmethod
    def of_environment(cls) -> Self:
        """The client with HF_ENDPOINT and HF_TOKEN of the environment."""
        endpoint = os.environ.get("HF_ENDPOINT", "").rstrip("/") or "https://huggingface.co"
        parts = urlsplit(endpoint)
        if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
            raise UsageError(
                "HF_ENDPOINT is not a plain address", fix="set it to an address such as https://huggingface.co, or unset it"
            )
        return cls(endpoint, os.environ.get("HF_TOKEN", "").strip())

    def request(self, path: str) -> HubResponse | None:
        """The response with the file, None if the file does not exist."""
        url = f"{self.endpoint}/{path}"
        request = urllib.request.Request(url, headers={"User-Agent": "rankproof", "Accept-Encoding": "identity"})
        if self.token and _is_https_or_loopback(url):
            request.add_unredirected_header("Authorization", f"Bearer {self.token}")
        redirects = _Redirects()
        try:  # the lookup of a host name has no timeout of its own
            body = call_with_timeout(
                self.first_response_timeout, lambda: urllib.request.build_opener(redirects).open(request, timeout=self.timeout)
            )
        except urllib.error.HTTPError as error:
            error.close()
            if error.code == http.HTTPStatus.NOT_FOUND:
                return None
            raise _access_error(url, error.code) from None
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise _download_error(url, _error_reason(error)) from None
        return HubResponse(url, body, redirects.carried)


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects, never from HTTPS to HTTP; the token is sent to the same host only."""

    def __init__(self) -> None:
        self.carried: dict[str, str] = {}

    def redirect_request(
        self,
        request: urllib.request.Request,
        body: IO[bytes],
        code: int,
        reason: str,
        headers: http.client.HTTPMessage,
        target: str,
    ) -> urllib.request.Request | None:
        self.carried |= {name: headers[name] for name in _REDIRECT_HEADERS if headers.get(name)}
        here, there = urlsplit(request.full_url), urlsplit(target)
        if here.scheme == "https" and there.scheme != "https":
            raise ValueError("the hub redirects to an address without HTTPS")
        following = super().redirect_request(request, body, code, reason, headers, target)
        token = request.get_header("Authorization")
        if following is not None and token and (here.scheme, here.netloc) == (there.scheme, there.netloc):
            following.add_unredirected_header("Authorization", token)
        return following


def _is_https_or_loopback(url: str) -> bool:
    parts = urlsplit(url)
    return parts.scheme == "https" or parts.hostname in _LOOPBACK_HOSTS


def _access_error(url: str, code: int) -> ExternalError:
    if code in _ACCESS_DENIED:
        fix = "check the name, or set HF_TOKEN to a token with read access"
        return ExternalError(escape_invisible(f"{url}: the hub denies access ({code}); {fix}"))
    return _download_error(url, f"status {code}")


def _error_reason(error: BaseException) -> str:
    inner = getattr(error, "reason", None)
    return str(inner if inner is not None else error) or type(error).__name__


def _download_error(url: str, reason: str) -> ExternalError:
    return ExternalError(
        escape_invisible(
            f"{url}: download failed ({reason}); check the network, or copy the model's folder here and give its path"
        )
    )
