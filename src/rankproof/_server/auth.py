"""Access control: only requests to the server's own address, with its token or its session cookie."""

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
_LOGIN_HINT = "open the address that `rankproof serve` printed at its start"
_ALLOWED_FETCH_SITES = ("same-origin", "none")


class Auth:
    """The token and session of one server; the cookie name has the port, because browsers share cookies between ports."""

    def __init__(self, port: int) -> None:
        self._token, self._session = secrets.token_urlsafe(_KEY_BYTES), secrets.token_urlsafe(_KEY_BYTES)
        self._cookie = f"rankproof-{port}"
        self._hosts = tuple(name if port == _DEFAULT_HTTP_PORT else f"{name}:{port}" for name in _HOST_NAMES)

    @property
    def url(self) -> str:
        """The address with the token."""
        return f"http://{self._hosts[0]}/?token={self._token}"

    def check_host(self, headers: Message) -> str:
        """The Host header; any other name is rejected, as in DNS rebinding attacks."""
        found = headers.get_all("Host", [])
        if len(found) != 1 or found[0] not in self._hosts:
            raise HttpError(421, "this server accepts only requests to its own address")
        return str(found[0])

    def exchange_token(self, target: str) -> PageResponse | None:
        """A redirect that exchanges the token in the address for a cookie; None if there is no token."""
        path, _, query = target.partition("?")
        given = parse_qs(query, keep_blank_values=True).get("token")
        if given is None or path != "/":
            return None
        if len(given) != 1 or not _equal_secrets(given[0], self._token):
            raise HttpError(403, _LOGIN_HINT)
        cookie = f"{self._cookie}={self._session}; Path=/; HttpOnly; SameSite=Strict"
        return PageResponse(303, "text/plain", b"", headers={"Location": "/", "Set-Cookie": cookie})

    def check_cookie(self, headers: Message) -> None:
        """Rejects requests without the session cookie, and requests from pages of other sites."""
        given = [value for line in headers.get_all("Cookie", []) for name, value in _parse_cookies(line) if name == self._cookie]
        if not any(_equal_secrets(value, self._session) for value in given):
            raise HttpError(403, _LOGIN_HINT)
        if headers.get("Sec-Fetch-Site", _ALLOWED_FETCH_SITES[0]) not in _ALLOWED_FETCH_SITES:
            raise HttpError(403, _LOGIN_HINT)

    def check_origin(self, headers: Message, host: str) -> None:
        """Rejects changes that do not come from a page of this server."""
        if headers.get_all("Origin", []) != [f"http://{host}"]:
            raise HttpError(403, "only pages of this server can make changes")


def security_headers(policy: str) -> Mapping[str, str]:
    """The security headers of every response."""
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
