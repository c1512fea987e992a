"""Overlapping n-grams of characters and of bytes, which need no words and so no language.

They are cut from the words of a text in lower case, joined by single blanks and with a blank at both ends, and so run across the
borders of words and mark them. McNamee and Mayfield (Information Retrieval 7, 2004) find n = 4 a good choice for European
languages. Where a language writes no blanks a run of text is one long word, whose n-grams are those of the text. A text that is
shorter than n is one n-gram.
"""

from __future__ import annotations

from dataclasses import dataclass

from .words import words

BLANK = "␣"


def marked(text: str) -> str:
    """The words of a text between single blanks; empty where it has none."""
    found = words(text)
    return f" {' '.join(found)} " if found else ""


@dataclass(frozen=True, slots=True)
class CharacterGrams:
    """Every run of so many characters."""

    size: int

    def of(self, text: str) -> list[str]:
        """The n-grams of a text, in its order."""
        return _grams(marked(text), self.size)

    def shown(self, token: str) -> str:
        """The characters, blanks made visible."""
        return token.replace(" ", BLANK)


@dataclass(frozen=True, slots=True)
class ByteGrams:
    """Every run of so many bytes of UTF-8; a token has one character, U+0000 to U+00FF, for each byte."""

    size: int

    def of(self, text: str) -> list[str]:
        """The n-grams of a text, in its order; words hold no half of a surrogate pair, so all of it can be encoded."""
        return _grams(marked(text).encode().decode("latin-1"), self.size)

    def shown(self, token: str) -> str:
        """The characters that are whole, blanks made visible, any other byte as an escape."""
        return shown_bytes(token.encode("latin-1"))


def shown_bytes(token: bytes) -> str:
    """Bytes as the text that they are, blanks made visible, and as escapes where they are none."""
    return token.decode("utf-8", "backslashreplace").replace(" ", BLANK)


def _grams(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(max(1, len(text) - size + 1))] if text else []
