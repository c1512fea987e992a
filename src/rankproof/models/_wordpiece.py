"""WordPiece tokens in C, for tokenizers of the BERT kind; the library tokenizers is 10 to 30 times slower on a core."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankproof._data.arrays import BoolArray
from rankproof.models._tokenizer import TokenizerFile

CODE_POINTS = 0x3000
"""Code points below it are read in C; the first ideograph is above it."""
_OTHER, _DROPPED, _SPACE, _ALONE, _PART = range(5)
_MAX_CHARS, _MAX_PIECE_BYTES = 256, 1023
_NO_LIMIT = 2**31 - 1


class WordPieces:
    """The tables of one tokenizer."""

    def __init__(self, vocabulary: object, limit: int) -> None:
        self._vocabulary, self._limit = vocabulary, limit

    def tokens(self, texts: Sequence[str]) -> tuple[NDArray[np.int32], NDArray[np.int32], BoolArray]:
        """The ids of all texts, their number in each, -1 for a text that it cannot read, and which texts were truncated."""
        from rankproof._native import wordpiece

        ids, lengths, cut = wordpiece.tokenize(self._vocabulary, tuple(texts), self._limit)
        return np.frombuffer(ids, dtype=np.int32), np.frombuffer(lengths, dtype=np.int32), np.frombuffer(cut, dtype=np.bool_)


def word_pieces(tokenizer: TokenizerFile) -> WordPieces | None:
    """The tables of the tokenizer; None if it is of another kind, or the extension is not built."""
    library = tokenizer.library_tokenizer
    spec = json.loads(library.to_str())
    if find_spec("rankproof._native.wordpiece") is None or not _is_of_bert(spec):
        return None
    kinds, mapped = _code_point_tables(library)
    special = [token["content"] for token in spec["added_tokens"]]
    if not all(ord(token[0]) < CODE_POINTS and kinds[ord(token[0])] == _ALONE for token in special):
        return None
    return WordPieces(_prepared(spec, library, kinds, mapped, special), tokenizer.max_tokens or _NO_LIMIT)


def _is_of_bert(spec: dict[str, Any]) -> bool:
    """Whether it is WordPiece after the normalizer and pre-tokenizer of BERT, with special tokens that are found as they are."""
    kinds = [(spec.get(part) or {}).get("type") for part in ("normalizer", "pre_tokenizer", "model")]
    changes = ("normalized", "single_word", "lstrip", "rstrip")
    plain = all(token["content"] and "\0" not in token["content"] for token in spec["added_tokens"])
    fixed = not any(token[change] for token in spec["added_tokens"] for change in changes)
    model = spec["model"]
    known = model.get("unk_token") in model.get("vocab", ()) and model.get("max_input_chars_per_word", 0) <= _MAX_CHARS
    return kinds == ["BertNormalizer", "BertPreTokenizer", "WordPiece"] and plain and fixed and known


def _code_point_tables(library: Any) -> tuple[list[int], list[str]]:
    """What each code point becomes between two letters: its kind and its text."""
    found = [_code_point(library, chr(point)) for point in range(CODE_POINTS)]
    return [kind for kind, _ in found], [text for _, text in found]


def _code_point(library: Any, character: str) -> tuple[int, str]:
    parts = [part for part, _ in library.pre_tokenizer.pre_tokenize_str(library.normalizer.normalize_str(f"a{character}a"))]
    if parts == ["aa"]:
        return _DROPPED, ""
    if parts == ["a", "a"]:
        return _SPACE, ""
    if len(parts) == 3 and parts[0] == parts[2] == "a":
        return _ALONE, parts[1]
    if len(parts) == 1 and parts[0].startswith("a") and parts[0].endswith("a"):
        return _PART, parts[0][1:-1]
    return _OTHER, ""


def _prepared(spec: dict[str, Any], library: Any, kinds: list[int], mapped: list[str], special: list[str]) -> object:
    from rankproof._native import wordpiece

    model = spec["model"]
    prefix, vocabulary = model["continuing_subword_prefix"], model["vocab"]
    # A word that starts with the prefix itself is split by the pre-tokenizer, so such a piece only continues words.
    pieces = {piece: piece.removeprefix(prefix).encode() for piece in vocabulary}
    used = [piece for piece, text in pieces.items() if 0 < len(text) <= _MAX_PIECE_BYTES]
    affixes, before = _affixes(library)
    return wordpiece.prepare(
        bytes(kinds),
        _bounds([text.encode() for text in mapped]),
        "".join(mapped).encode(),
        b"".join(pieces[piece] for piece in used),
        _bounds([pieces[piece] for piece in used]),
        np.array([vocabulary[piece] for piece in used], dtype=np.int32).tobytes(),
        bytes(piece.startswith(prefix) for piece in used),
        b"".join(token.encode() + b"\0" for token in special),
        np.array(affixes, dtype=np.int32).tobytes(),
        before,
        vocabulary[model["unk_token"]],
        model["max_input_chars_per_word"],
    )


def _affixes(library: Any) -> tuple[list[int], int]:
    """The special tokens around a text, and how many are before it."""
    example = library.encode("a")
    marks = example.special_tokens_mask
    return [token for token, special in zip(example.ids, marks, strict=True) if special], marks.index(0)


def _bounds(texts: Sequence[bytes]) -> bytes:
    return np.cumsum([0, *map(len, texts)]).astype(np.int32).tobytes()
