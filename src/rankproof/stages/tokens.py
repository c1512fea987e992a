"""What BM25 counts: words, n-grams of characters or of bytes, or the pieces of a byte-pair encoding.

Every kind reads the same characters, the words of a text in lower case, so that only the cut differs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Protocol

from ..data import checks
from ..errors import UsageError, shown
from ..models.trial.kinds import FEWEST, MOST
from .grams import ByteGrams, CharacterGrams

WORDS = "words"
LONGEST = 8
_GRAM = re.compile(rf"(characters|bytes)-([1-{LONGEST}])", re.ASCII)
_PIECES = re.compile(r"bpe-([1-9][0-9]{0,6})", re.ASCII)
_GRAMS: dict[str, type[CharacterGrams] | type[ByteGrams]] = {"characters": CharacterGrams, "bytes": ByteGrams}
_FIX = f"choose words, characters-N or bytes-N with N from 1 to {LONGEST}, or bpe-N with N from {FEWEST} to {MOST:,}"


class Tokens(Protocol):
    """How a text is cut; the same for documents and queries."""

    def of(self, text: str) -> list[str]:
        """The tokens of a text, in its order, as often as they stand there."""

    def shown(self, token: str) -> str:
        """A token for people: blanks are made visible, and bytes that are no text are escapes."""


def refuse_tokens(name: Any, *, language: str, stop_words: bool | tuple[str, ...]) -> None:
    """The name must be known; a language or a list of stop words beside tokens other than words would do nothing."""
    checks.text("tokens", name)
    pieces = _PIECES.fullmatch(name)
    if name != WORDS and not _GRAM.fullmatch(name) and not (pieces and FEWEST <= int(pieces[1]) <= MOST):
        raise UsageError(f"tokens is {shown(name)}", fix=_FIX)
    for setting, given in (("language", language != "english"), ("stop_words", isinstance(stop_words, tuple))):
        if given and name != WORDS:
            raise UsageError(
                f"{setting} counts for words alone, and tokens is {name}", fix=f'leave it out, or choose tokens = "{WORDS}"'
            )


def tokens_named(name: str, texts: Sequence[str]) -> Tokens:
    """The tokens of a kind other than words; pieces are learnt from the texts."""
    if gram := _GRAM.fullmatch(name):
        return _GRAMS[gram[1]](int(gram[2]))
    from .pieces import trained_pieces

    return trained_pieces(name, texts)


def libraries(name: str) -> tuple[str, ...]:
    """The packages that the tokens follow from."""
    return ("PyStemmer",) if name == WORDS else ("tokenizers",) if _PIECES.fullmatch(name) else ()
