"""What the length of a chunk is counted in: words, sentences, or the tokens of a model."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Literal, get_args

from ...models.wordllama_model import token_starts, tokenizer_revision
from .sentences import sentence_starts

Unit = Literal["words", "sentences", "tokens"]
TokenizerName = Literal["wordllama"]
UNITS: tuple[Unit, ...] = get_args(Unit)
_WORD = re.compile(r"\S+")


def unit_starts(text: str, unit: Unit, tokenizer: TokenizerName) -> list[int]:
    """The place of each unit's first character; none in a text that is all blank.

    A word is what stands between blanks. Tokens that stand for one character together count as one.
    """
    if not text.strip():
        return []
    return _tokenizer(tokenizer)(text) if unit == "tokens" else _STARTS[unit](text)


def unit_revision(unit: Unit, tokenizer: TokenizerName) -> str:
    """What decides the cuts beyond rankproof itself."""
    return TOKENIZERS[tokenizer][1]() if unit == "tokens" else ""


def _tokenizer(name: TokenizerName) -> Callable[[str], list[int]]:
    return TOKENIZERS[name][0]


def _word_starts(text: str) -> list[int]:
    return [found.start() for found in _WORD.finditer(text)]


_STARTS: Mapping[str, Callable[[str], list[int]]] = {"words": _word_starts, "sentences": sentence_starts}
TOKENIZERS: Mapping[TokenizerName, tuple[Callable[[str], list[int]], Callable[[], str]]] = {
    "wordllama": (token_starts, tokenizer_revision)
}
