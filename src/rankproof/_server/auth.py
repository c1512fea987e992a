"""Who may come in: requests to our own address, with the token of this start or the cookie that it was exchanged for."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Mapping
from email.message import Message
from urllib.parse import parse_qs

from rankproof._server.responses import HttpError, PageResponse

LOOPBACK = "127.0.0.1"
_HOST_NAMES = (LOOPBACK, "localhost")
_DEFAULT_HTTP_PORT = 80
_KEY_BYTES = 32
_LOGIN_HINT = "this needs the address that `rankproof serve` printed when it started: open that one"
_ALLOWED_FETCH_SITES = ("same-origin", "none")


class Auth:
    """The keys of one start; the port is part of the cookie's name, for browsers give a host's cookies to all its ports."""

    def __init__(self, port: int) -> None:
        self._token, self._session = secrets.token_urlsafe(_KEY_BYTES), secrets.token_urlsafe(_KEY_BYTES)
        self._cookie = f"rankproof-{port}"
        self._hosts = tuple(name if port == _DEFAULT_HTTP_PORT else f"{name}:{port}" for name in _HOST_NAMES)

    @property
    def url(self) -> str:
        """What the person who started it opens."""
        return f"http://{self._hosts[0]}/?token={self._token}"

    def check_host(self, headers: Message) -> str:
        """The name that we were asked by; a foreign name that leads here is an attack on the browser."""
        found = headers.get_all("Host", [])
        if len(found) != 1 or found[0] not in self._hosts:
            raise HttpError(421, "this server answers to its own address only")
        return str(found[0])

    def exchange_token(self, target: str) -> PageResponse | None:
        """A cookie for the token in the address, and a way on without it; None where the address has none."""
        path, _, query = target.partition("?")
        given = parse_qs(query, keep_blank_values=True).get("token")
        if given is None or path != "/":
            return None
        if len(given) != 1 or not _equal_secrets(given[0], self._token):
            raise HttpError(403, _LOGIN_HINT)
        cookie = f"{self._cookie}={self._session}; Path=/; HttpOnly; SameSite=Strict"
        return PageResponse(303, "text/plain", b"", headers={"Location": "/", "Set-Cookie": cookie})

    def check_cookie(self, headers: Message) -> None:
        """Refuses whoever did not come in by the token, and pages of others that ask in a browser's name."""
        given = [value for line in headers.get_all("Cookie", []) for name, value in _parse_cookies(line) if name == self._cookie]
        if not any(_equal_secrets(value, self._session) for value in given):
            raise HttpError(403, _LOGIN_HINT)
        if headers.get("Sec-Fetch-Site", _ALLOWED_FETCH_SITES[0]) not in _ALLOWED_FETCH_SITES:
            raise HttpError(403, _LOGIN_HINT)

    def check_origin(self, headers: Message, host: str) -> None:
        """Refuses a change that no page of ours asks for."""
        if headers.get_all("Origin", []) != [f"http://{host}"]:
            raise HttpError(403, "only a page of this server may change something")


def security_headers(policy: str) -> Mapping[str, str]:
    """What every reply tells the browser not to do."""
    return {
        "Content-Security-Policy": f"{policy}; frame-ancestors 'none'",
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
        "Referrer-Policy": "no-referrer",
        "Cache-Control": "no-store",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Cross-Origin-Opener-Policy": "same-origin",
    }


def _equal_secrets(given: str, key: str) -> bool:
    return hmac.compare_digest(given.encode(errors="replace"), key.encode())


def _parse_cookies(line: str) -> list[tuple[str, str]]:
    parts = (part.strip().partition("=") for part in line.split(";"))
    return [(name, value) for name, _, value in parts]
