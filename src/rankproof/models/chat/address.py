"""Addresses of chat servers: plain ones only, because keys hide in the rest."""

from __future__ import annotations

import re
from ipaddress import ip_address
from urllib.parse import urlsplit

from ...errors import UsageError

_PLAIN = re.compile(r"https?://(?:[\w.-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?(?:/[\w.~%/:+,=-]*)?", re.ASCII)
_MOST_PORT = 65535


def plain_address(base_url: object) -> str:
    """The address without a slash at its end; one that could hold a secret is refused, and not shown."""
    text = base_url.rstrip("/") if isinstance(base_url, str) else ""
    if not _PLAIN.fullmatch(text) or (urlsplit(text).netloc.rpartition(":")[2].isdecimal() and _port(text) > _MOST_PORT):
        what = "base_url is no plain http or https address"
        raise UsageError(what, fix="write it like https://HOST/v1, without a user, a password, a question mark or a fragment")
    return text


def is_loopback(address: str) -> bool:
    """Whether the server is on this machine for certain."""
    host = urlsplit(address).hostname or ""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def is_open(address: str) -> bool:
    """Whether what is sent there can be read on the way."""
    return address.startswith("http:") and not is_loopback(address)


def _port(address: str) -> int:
    return int(urlsplit(address).netloc.rpartition(":")[2])
