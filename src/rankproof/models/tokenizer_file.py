"""A tokenizer.json, cutting at the length that is asked for and never padding, whatever the file says."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import WorldError, visible

_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Tokens:
    """The ids of one text or pair, the type of each (0 for the first text, 1 for the second), and whether the end was cut off."""

    ids: list[int]
    types: list[int]
    cut: bool


class TokenizerFile:
    """Text to ids, special tokens included."""

    def __init__(self, path: Path, *, max_tokens: int | None, lowers: bool = False) -> None:
        self._inner = _opened(path)
        self._inner.no_padding()
        self._inner.no_truncation()
        if max_tokens is not None:
            self._inner.enable_truncation(max_tokens)
        self._lowers = lowers

    def size(self) -> int:
        """One more than the largest id."""
        return max(self._inner.get_vocab(with_added_tokens=True).values(), default=-1) + 1

    def bare(self, text: str) -> list[int]:
        """The ids of a text without special tokens."""
        return list(self._inner.encode(self._ready(text), add_special_tokens=False).ids)

    def starts(self, text: str) -> list[int]:
        """The characters at which tokens begin, each once, rising; special tokens have none."""
        places = self._inner.encode(_SURROGATE.sub("\ufffd", text), add_special_tokens=False).offsets
        return sorted({start for start, _ in places})

    def of(self, text: str) -> Tokens:
        """A text's tokens."""
        return _tokens(self._inner.encode(self._ready(text)))

    def of_pair(self, first: str, second: str) -> Tokens:
        """A pair's tokens; of what is too long the longer text loses its end first."""
        return _tokens(self._inner.encode(self._ready(first), self._ready(second)))

    def _ready(self, text: str) -> str:
        """Half a surrogate pair, which no tokenizer takes, becomes the replacement character."""
        whole = text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return whole.lower() if self._lowers else whole


def _opened(path: Path) -> Any:
    from tokenizers import Tokenizer

    try:
        return Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises nothing more special
        raise WorldError(visible(f"{path}: no tokenizer ({error}); get the model anew")) from None


def _tokens(encoding: Any) -> Tokens:
    return Tokens(encoding.ids, encoding.type_ids, bool(encoding.overflowing))
