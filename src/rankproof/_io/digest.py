"""A digest in the last line of a JSON object, by which a change of the file is noticed; it is no signature."""

from __future__ import annotations

import hashlib
import re

_END = b"\n}\n"
_DIGEST = re.compile(rb',\n "digest": "([0-9a-f]{64})"\n}\n\Z')
_LENGTH = len(',\n "digest": ""\n}\n') + 64


def with_digest(content: bytes) -> bytes:
    """The JSON object, indented by one space, with a last key: the sha256 of the content without it."""
    assert content.endswith(_END)
    return content.removesuffix(_END) + f',\n "digest": "{hashlib.sha256(content).hexdigest()}"'.encode() + _END


def has_own_digest(content: bytes) -> bool:
    """Whether the content is what `with_digest` gave."""
    body, last = content[:-_LENGTH], content[-_LENGTH:]
    digest = _DIGEST.fullmatch(last)
    return digest is not None and hashlib.sha256(body + _END).hexdigest().encode() == digest[1]
