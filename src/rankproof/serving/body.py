"""What a browser sends: a small JSON object, or nothing that is looked at."""

from __future__ import annotations

from email.message import Message
from io import BufferedIOBase
from typing import Any

from ..errors import InputError
from ..formats import strict_json
from .reply import RefusedError

LARGEST = 16 * 1024
_DRAINED = 1024 * 1024
_DIGITS = 12


def read_object(headers: Message, stream: BufferedIOBase) -> dict[str, Any]:
    """The JSON object in the body of a request; its size and kind are looked at before it is read."""
    length = _length(headers, stream)
    if headers.get_content_type() != "application/json" or "Content-Type" not in headers:
        stream.read(length)
        raise RefusedError(415, "the body must be application/json")
    return _object(stream.read(length), length)


def _length(headers: Message, stream: BufferedIOBase) -> int:
    given = headers.get_all("Content-Length", [])
    if "Transfer-Encoding" in headers or len(given) != 1:
        raise RefusedError(411, "the body needs one Content-Length")
    if not (given[0].isascii() and given[0].isdigit() and len(given[0]) <= _DIGITS):
        raise RefusedError(400, "Content-Length is no number of bytes")
    length = int(given[0])
    if length > LARGEST:
        # A browser that is still sending would not see the answer.
        stream.read(min(length, _DRAINED))
        raise RefusedError(413, f"the body is larger than {LARGEST} bytes")
    return length


def _object(content: bytes, length: int) -> dict[str, Any]:
    if len(content) < length:
        raise RefusedError(400, "the body ends early")
    try:
        found = strict_json.parse(content.decode(), source="body")
    except (UnicodeDecodeError, InputError):
        raise RefusedError(400, "the body is no JSON") from None
    if not isinstance(found, dict):
        raise RefusedError(400, "the body is no JSON object")
    return found
