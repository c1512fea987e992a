"""Reads a tokenizer.json; truncation is set by the caller, padding is off."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankproof._extras import extra
from rankproof.errors import ExternalError, escape_invisible

_SURROGATE = re.compile("[\ud800-\udfff]")
_UPPER_CASE = re.compile("[A-Z]")
_BYTE = re.compile("<0x[0-9A-F]{2}>")
"""A piece that stands for one byte."""


@dataclass(frozen=True, slots=True)
class Encoding:
    """The ids of a text or pair, their types (0 for the first text, 1 for the second), and whether it was truncated."""

    ids: list[int]
    types: list[int]
    cut: bool


class TokenizerFile:
    """Converts texts to token ids, special tokens included."""

    def __init__(self, path: Path, *, max_tokens: int | None, lowers: bool = False) -> None:
        self._inner = _open_tokenizer(path)
        self._inner.no_padding()
        self._inner.no_truncation()
        if max_tokens is not None:
            self._inner.enable_truncation(max_tokens)
        self.max_tokens, self._lowers = max_tokens, lowers or _has_lower_case_pieces(self._inner)

    @property
    def library_tokenizer(self) -> Any:
        """The tokenizer of the library tokenizers; it reads texts that are `ready`."""
        return self._inner

    def size(self) -> int:
        """The largest id plus 1."""
        return max(self._inner.get_vocab(with_added_tokens=True).values(), default=-1) + 1

    def bare(self, text: str) -> list[int]:
        """The ids of a text without special tokens."""
        return list(self._inner.encode(self.ready(text), add_special_tokens=False).ids)

    def unknown(self, texts: Sequence[str]) -> tuple[int, int]:
        """The numbers of unknown tokens and of all tokens in the texts."""
        name = getattr(self._inner.model, "unk_token", None)
        unknown_id = None if name is None else self._inner.token_to_id(name)
        ids = [id_ for text in texts for id_ in self.bare(text)]
        return ids.count(unknown_id) if unknown_id is not None else 0, len(ids)

    def starts(self, text: str) -> list[int]:
        """The sorted positions of the characters at which tokens start, each once, without special tokens."""
        offsets = self._inner.encode(_SURROGATE.sub("\ufffd", text), add_special_tokens=False).offsets
        return sorted({start for start, _ in offsets})

    def of(self, text: str) -> Encoding:
        """The tokens of a text."""
        return _to_encoding(self._inner.encode(self.ready(text)))

    def of_pair(self, first: str, second: str) -> Encoding:
        """The tokens of a pair; the longer text is truncated first."""
        return _to_encoding(self._inner.encode(self.ready(first), self.ready(second)))

    def of_many(self, texts: Sequence[str]) -> list[Encoding]:
        """The tokens of each text; the library uses all cores."""
        return [_to_encoding(encoding) for encoding in self._inner.encode_batch([self.ready(text) for text in texts])]

    def of_pairs(self, first: str, seconds: Sequence[str]) -> list[Encoding]:
        """The tokens of a text paired with each of the others, as `of_pair` gives them."""
        ready = self.ready(first)
        return [
            _to_encoding(encoding) for encoding in self._inner.encode_batch([(ready, self.ready(second)) for second in seconds])
        ]

    def ready(self, text: str) -> str:
        """The text without lone surrogates, in lower case if the model or its vocabulary needs it."""
        return replace_surrogates(text).lower() if self._lowers else replace_surrogates(text)


Ids = NDArray[np.int32]
_SPACE = "\u2581"
"""The character for a space in the pieces of SentencePiece."""
_WORD = re.compile(" +[^ ]*")
_MAX_KNOWN_WORDS, _MAX_KNOWN_LENGTH = 2**18, 64


class _KnownWords(dict[str, tuple[int, ...]]):
    """The ids of words with the spaces before them; a word is tokenised when it is looked up first."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self._model = model

    def __missing__(self, word: str) -> tuple[int, ...]:
        ids = tuple(token.id for token in self._model.tokenize(word.replace(" ", _SPACE)))
        if len(word) <= _MAX_KNOWN_LENGTH:
            if len(self) >= _MAX_KNOWN_WORDS:
                self.clear()
            self[word] = ids
        return ids


class WordTokenizerFile(TokenizerFile):
    """A BPE tokenizer of SentencePiece, whose pieces have spaces at the start only: equal words have equal ids in all texts."""

    def __init__(self, path: Path, *, lowers: bool) -> None:
        super().__init__(path, max_tokens=None, lowers=lowers)
        self._words = _KnownWords(self._inner.model)
        self._added = [token.content for token in self._inner.get_added_tokens_decoder().values()]
        self._path = path

    def bare(self, text: str) -> list[int]:
        """The ids of a text without special tokens; a text with the name of a special token is left to the library."""
        spaced = self.spaced(text)
        if spaced is None:
            return super().bare(text)
        return list(chain.from_iterable(map(self._words.__getitem__, _WORD.findall(spaced))))

    def spaced(self, text: str) -> str | None:
        """The text as words with spaces before them; None if it has the name of a special token."""
        ready = self.ready(text)
        if any(name in ready for name in self._added):
            return None
        return f" {ready.replace(_SPACE, ' ')}" if ready else ""

    def merge_tables(self) -> tuple[Ids, Ids, Ids]:
        """Characters and their ids, the ids of the 256 bytes, and pairs of ids with that of the merged piece, by rank."""
        model = json.loads(self._path.read_bytes())["model"]
        ids = model["vocab"]
        codes = [(" " if piece == _SPACE else piece, at) for piece, at in ids.items() if len(piece) == 1]
        pairs = (pair if isinstance(pair, list) else pair.split(" ") for pair in model["merges"])
        merges = [(ids[left], ids[right], ids[left + right]) for left, right in pairs]
        return (
            np.array([(ord(piece), at) for piece, at in codes], dtype=np.int32),
            np.array([ids[f"<0x{byte:02X}>"] for byte in range(256)], dtype=np.int32),
            np.array(merges, dtype=np.int32),
        )


def replace_surrogates(text: str) -> str:
    """The text with lone surrogates, which tokenizers do not accept, replaced by U+FFFD."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _has_lower_case_pieces(tokenizer: Any) -> bool:
    """Whether the tokenizer keeps the case of a text although none of its word pieces has an upper-case letter."""
    if tokenizer.normalizer is not None and "A" not in tokenizer.normalizer.normalize_str("A"):
        return False
    special = {token.content for token in tokenizer.get_added_tokens_decoder().values()}
    pieces = (piece for piece in tokenizer.get_vocab(with_added_tokens=False) if piece not in special)
    return not any(_UPPER_CASE.search(piece) and not _BYTE.fullmatch(piece) for piece in pieces)


def _open_tokenizer(path: Path) -> Any:
    with extra("retrieval"):
        from tokenizers import Tokenizer

    try:
        return Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises a plain Exception
        raise ExternalError(escape_invisible(f"{path}: not a tokenizer ({error}); download the model again")) from None


def _to_encoding(encoding: Any) -> Encoding:
    return Encoding(encoding.ids, encoding.type_ids, bool(encoding.overflowing))
