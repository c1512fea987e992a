"""The pieces of a byte-level byte-pair encoding, learnt from the documents that are searched.

Pieces lie within words (Sennrich and others, ACL 2016), so each distinct word is cut once.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache

from ..models.trial.subword_tokenizer import FILE
from ..models.trial.tokenizer import Tokenizer, trained_tokenizer
from .grams import shown_bytes
from .words import words


def trained_pieces(kind: str, texts: Sequence[str]) -> Pieces:
    """The encoding that the words of the texts give; the same texts give the same one."""
    return Pieces(trained_tokenizer(kind, [" ".join(words(text)) for text in texts]))


class Pieces(dict[str, list[str]]):
    """From a word to its pieces, as the encoding's own file writes them: a character for each byte, `Ġ` for the blank before."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        super().__init__()
        self._tokenizer = tokenizer
        vocabulary = json.loads(tokenizer.files()[FILE])["model"]["vocab"]
        self._names = sorted(vocabulary, key=vocabulary.__getitem__)

    def __missing__(self, word: str) -> list[str]:
        pieces = [self._names[at] for at in self._tokenizer.ids([word])[0].tolist()]
        self[word] = pieces
        return pieces

    def of(self, text: str) -> list[str]:
        """The pieces of a text's words, in its order."""
        return [piece for word in words(text) for piece in self[word]]

    def shown(self, token: str) -> str:
        """The characters that are whole, the blank before a word made visible, any other byte as an escape."""
        return shown_bytes(bytes(map(_bytes_of_letters().__getitem__, token)))


@lru_cache(maxsize=1)
def _bytes_of_letters() -> dict[str, int]:
    """GPT-2's letters for bytes: those that can be seen stand for themselves, the others follow from U+0100 on."""
    seen = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    unseen = [byte for byte in range(0x100) if byte not in set(seen)]
    return {**{chr(byte): byte for byte in seen}, **{chr(0x100 + at): byte for at, byte in enumerate(unseen)}}
