"""Asking the hub for a file: with time limits, and with the token for the hub's own host alone."""

from __future__ import annotations

import http.client
import os
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO, Self
from urllib.parse import urlsplit

from ..errors import UsageError, WorldError, visible
from .deadline import within

_BLOCK = 1 << 20
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_REFUSED = {401, 403}
_CARRIED = ("X-Repo-Commit", "X-Linked-Etag")


@dataclass(frozen=True, eq=False, slots=True)
class Answer:
    """An open response; headers of answers that led here by a redirect count too."""

    url: str
    body: http.client.HTTPResponse
    carried: dict[str, str]

    @property
    def length(self) -> int | None:
        """Bytes of the body, where they are told."""
        told = self.body.headers.get("Content-Length", "")
        return int(told) if told.isdecimal() else None

    def header(self, name: str) -> str:
        """A header, empty where there is none."""
        return self.carried.get(name) or self.body.headers.get(name) or ""

    def blocks(self) -> Iterator[bytes]:
        """The body; one that ends early is an error."""
        done = 0
        try:
            while block := self.body.read(_BLOCK):
                done += len(block)
                yield block
        except (http.client.HTTPException, TimeoutError, ConnectionError) as error:
            raise _broken(self.url, f"after {done} bytes: {_reason(error)}") from None
        finally:
            self.body.close()
        if self.length not in (None, done):
            raise _broken(self.url, f"{done} of {self.length} bytes came")


@dataclass(frozen=True, slots=True)
class HubClient:
    """The hub at an address; `patience` is how many seconds the first answer may take, `timeout` any pause after it."""

    endpoint: str = "https://huggingface.co"
    token: str = field(default="", repr=False)
    patience: float = 4.0
    timeout: float = 10.0

    @classmethod
    def of_environment(cls) -> Self:
        """As HF_ENDPOINT and HF_TOKEN say."""
        endpoint = os.environ.get("HF_ENDPOINT", "").rstrip("/") or "https://huggingface.co"
        parts = urlsplit(endpoint)
        if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
            raise UsageError("HF_ENDPOINT is no plain address", fix="give one such as https://huggingface.co, or none")
        return cls(endpoint, os.environ.get("HF_TOKEN", "").strip())

    def ask(self, path: str) -> Answer | None:
        """The file's answer, or None where there is no such file."""
        url = f"{self.endpoint}/{path}"
        request = urllib.request.Request(url, headers={"User-Agent": "rankproof", "Accept-Encoding": "identity"})
        if self.token and _is_safe(url):
            request.add_unredirected_header("Authorization", f"Bearer {self.token}")
        redirects = _Redirects()
        try:  # looking up a host's name knows no time limit of its own
            body = within(self.patience, lambda: urllib.request.build_opener(redirects).open(request, timeout=self.timeout))
        except urllib.error.HTTPError as error:
            error.close()
            if error.code == http.HTTPStatus.NOT_FOUND:
                return None
            raise _refused(url, error.code) from None
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise _broken(url, _reason(error)) from None
        return Answer(url, body, redirects.carried)


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects, never from HTTPS to HTTP, and takes the token along only on the same host."""

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
        self.carried |= {name: headers[name] for name in _CARRIED if headers.get(name)}
        here, there = urlsplit(request.full_url), urlsplit(target)
        if here.scheme == "https" and there.scheme != "https":
            raise ValueError("the hub leads to an address without HTTPS")
        following = super().redirect_request(request, body, code, reason, headers, target)
        token = request.get_header("Authorization")
        if following is not None and token and (here.scheme, here.netloc) == (there.scheme, there.netloc):
            following.add_unredirected_header("Authorization", token)
        return following


def _is_safe(url: str) -> bool:
    parts = urlsplit(url)
    return parts.scheme == "https" or parts.hostname in _LOOPBACK


def _refused(url: str, code: int) -> WorldError:
    if code in _REFUSED:
        fix = "check the name, or set HF_TOKEN to a token that may read it"
        return WorldError(visible(f"{url}: the hub refuses it ({code}); {fix}"))
    return _broken(url, f"status {code}")


def _reason(error: BaseException) -> str:
    inner = getattr(error, "reason", None)
    return str(inner if inner is not None else error) or type(error).__name__


def _broken(url: str, reason: str) -> WorldError:
    return WorldError(
        visible(f"{url}: cannot be had ({reason}); check the network, or copy the model's folder here and name that")
    )
