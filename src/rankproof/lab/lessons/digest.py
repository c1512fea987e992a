"""A query's text as a short digest, so that a checkpoint can name what it was taught without repeating it."""

from __future__ import annotations

from hashlib import sha256

_DIGITS = 16


def text_digest(text: str) -> str:
    """The first 16 hexadecimal digits of the sha256 of the text in lower case, its white space made single blanks."""
    return sha256(" ".join(text.lower().split()).encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
