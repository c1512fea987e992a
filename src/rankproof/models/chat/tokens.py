"""How many tokens a text has, where nobody has counted them."""

from __future__ import annotations

CHARACTERS_A_TOKEN = 4
"""Of English text in the common tokenizers; other languages and code take more tokens."""


def tokens_of(text: str) -> int:
    """Roughly."""
    return -(-len(text) // CHARACTERS_A_TOKEN)


def most_tokens_of(text: str) -> int:
    """At most: no token of the common tokenizers is less than a byte of UTF-8."""
    return len(text.encode("utf-8", "surrogatepass"))
