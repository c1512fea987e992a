"""Redirects of the hub; a module of its own, because urllib.request takes long to import and names of models do not need it."""

from __future__ import annotations

import http.client
import urllib.request
from typing import IO
from urllib.parse import urlsplit

_HEADERS = ("X-Repo-Commit", "X-Linked-Etag")


class Redirects(urllib.request.HTTPRedirectHandler):
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
        self.carried |= {name: headers[name] for name in _HEADERS if headers.get(name)}
        here, there = urlsplit(request.full_url), urlsplit(target)
        if here.scheme == "https" and there.scheme != "https":
            raise ValueError("the hub redirects to an address without HTTPS")
        following = super().redirect_request(request, body, code, reason, headers, target)
        token = request.get_header("Authorization")
        if following is not None and token and (here.scheme, here.netloc) == (there.scheme, there.netloc):
            following.add_unredirected_header("Authorization", token)
        return following
