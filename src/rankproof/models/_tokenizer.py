"""A tokenizer.json, cutting at the length that is asked for and never padding, whatever the file says."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rankproof._extras import extra
from rankproof.errors import ExternalError, escape_invisible

_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Encoding:
    """The ids of one text or pair, the type of each (0 for the first text, 1 for the second), and whether the end was cut off."""

    ids: list[int]
    types: list[int]
    cut: bool


class TokenizerFile:
    """Text to ids, special tokens included."""

    def __init__(self, path: Path, *, max_tokens: int | None, lowers: bool = False) -> None:
        self._inner = _open_tokenizer(path)
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

    def unknown(self, texts: Sequence[str]) -> tuple[int, int]:
        """How many tokens of the texts stand for something that is not in the vocabulary, and how many there are."""
        name = getattr(self._inner.model, "unk_token", None)
        strange = None if name is None else self._inner.token_to_id(name)
        ids = [one for text in texts for one in self.bare(text)]
        return ids.count(strange) if strange is not None else 0, len(ids)

    def starts(self, text: str) -> list[int]:
        """The characters at which tokens begin, each once, rising; special tokens have none."""
        places = self._inner.encode(_SURROGATE.sub("\ufffd", text), add_special_tokens=False).offsets
        return sorted({start for start, _ in places})

    def of(self, text: str) -> Encoding:
        """A text's tokens."""
        return _to_encoding(self._inner.encode(self._ready(text)))

    def of_pair(self, first: str, second: str) -> Encoding:
        """A pair's tokens; of what is too long the longer text loses its end first."""
        return _to_encoding(self._inner.encode(self._ready(first), self._ready(second)))

    def _ready(self, text: str) -> str:
        """The text without halves of surrogate pairs, in lower case where the model wants that."""
        return replace_surrogates(text).lower() if self._lowers else replace_surrogates(text)


def replace_surrogates(text: str) -> str:
    """Half a surrogate pair, which no tokenizer takes, becomes the replacement character."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _open_tokenizer(path: Path) -> Any:
    with extra("retrieval"):
        from tokenizers import Tokenizer

    try:
        return Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises nothing more special
        raise ExternalError(escape_invisible(f"{path}: no tokenizer ({error}); get the model anew")) from None


def _to_encoding(encoding: Any) -> Encoding:
    return Encoding(encoding.ids, encoding.type_ids, bool(encoding.overflowing))
