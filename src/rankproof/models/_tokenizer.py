"""Reads a tokenizer.json; truncation is set by the caller, padding is off."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankproof._data.arrays import BoolArray, IntArray
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
_SPACE_MARK = "\u2581"
"""The character for a space in the pieces of SentencePiece."""
_WORD = re.compile(" +[^ ]*")
_MAX_KNOWN_WORDS, _MAX_KNOWN_LENGTH = 2**18, 64


class _KnownWords(dict[str, tuple[int, ...]]):
    """The ids of words with the spaces before them; a word is tokenised when it is looked up first."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self._model = model

    def __missing__(self, word: str) -> tuple[int, ...]:
        ids = tuple(token.id for token in self._model.tokenize(word.replace(" ", _SPACE_MARK)))
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
        return f" {ready.replace(_SPACE_MARK, ' ')}" if ready else ""

    def merge_tables(self) -> tuple[Ids, Ids, Ids]:
        """Characters and their ids, the ids of the 256 bytes, and pairs of ids with that of the merged piece, by rank."""
        model = json.loads(self._path.read_bytes())["model"]
        ids = model["vocab"]
        codes = [(" " if piece == _SPACE_MARK else piece, at) for piece, at in ids.items() if len(piece) == 1]
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


TEXTS_PER_CALL = 131_072
"""Texts that are tokenized, sorted by length and sent to the GPU together."""
_TEXTS_PER_TASK = 2_048


@dataclass(frozen=True, eq=False, slots=True)
class TokenBatch:
    """The ids of many texts or pairs: those of text i are ids[offsets[i] : offsets[i + 1]], and `cut` says if it was truncated.

    `types` are the token types of pairs, parallel to `ids`; empty for texts.
    """

    ids: Ids
    types: Ids
    offsets: IntArray
    cut: BoolArray

    @property
    def lengths(self) -> IntArray:
        """The number of tokens of each text."""
        return np.diff(self.offsets)

    @classmethod
    def joined(cls, parts: Sequence[TokenBatch]) -> TokenBatch:
        """The texts of all parts in order."""
        return cls(
            np.concatenate([_NO_TYPES, *(part.ids for part in parts)]),
            np.concatenate([_NO_TYPES, *(part.types for part in parts)]),
            _offsets(np.concatenate([_NO_TYPES, *(part.lengths for part in parts)])),
            np.concatenate([np.zeros(0, dtype=np.bool_), *(part.cut for part in parts)]),
        )


class BatchTokenizer:
    """Tokenizes lists of texts on several threads; the same ids as the tokenizer gives for one text."""

    def __init__(self, tokenizer: TokenizerFile, *, threads: int) -> None:
        self._tokenizer, self._pieces = tokenizer, word_pieces(tokenizer)
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="tokenize")

    def texts(self, texts: Sequence[str]) -> TokenBatch:
        """The tokens of all texts."""
        return _result(self._start(texts))

    def ahead(self, texts: Sequence[str]) -> Iterator[TokenBatch]:
        """Batches of TEXTS_PER_CALL texts; the next batch is tokenized while the caller works on the present one."""
        parts = [texts[start : start + TEXTS_PER_CALL] for start in range(0, len(texts), TEXTS_PER_CALL)]
        waiting = [self._start(part) for part in parts[:1]]
        for part in parts[1:]:
            waiting.append(self._start(part))
            yield _result(waiting.pop(0))
        if waiting:
            yield _result(waiting.pop(0))

    def pairs(self, first: str, seconds: Sequence[str]) -> TokenBatch:
        """The tokens of a text paired with each of the others."""
        return _to_batch(self._tokenizer.of_pairs(first, seconds), typed=True)

    def _start(self, texts: Sequence[str]) -> list[Future[TokenBatch]]:
        starts = range(0, len(texts), _TEXTS_PER_TASK)
        return [self._pool.submit(self._part, texts[start : start + _TEXTS_PER_TASK]) for start in starts]

    def _part(self, texts: Sequence[str]) -> TokenBatch:
        if self._pieces is None:
            return _to_batch(self._tokenizer.of_many(texts), typed=False)
        ids, lengths, cut = self._pieces.tokens([self._tokenizer.ready(text) for text in texts])
        left = np.flatnonzero(lengths < 0)
        if not len(left):
            return TokenBatch(ids, _NO_TYPES, _offsets(lengths), cut)
        others = _to_batch(self._tokenizer.of_many([texts[at] for at in left.tolist()]), typed=False)
        return _merged(ids, lengths, cut, left, others)


_NO_TYPES: Ids = np.zeros(0, dtype=np.int32)


def _offsets(lengths: NDArray[np.integer[Any]]) -> IntArray:
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(lengths, dtype=np.int64)])


def _merged(ids: Ids, lengths: Ids, cut: BoolArray, left: IntArray, others: TokenBatch) -> TokenBatch:
    """The texts with those at `left`, which have no tokens yet, filled in."""
    missing = lengths < 0
    whole, is_cut = lengths.copy(), cut.copy()
    whole[left], is_cut[left] = others.lengths, others.cut
    filled_in = np.repeat(missing, whole)
    all_ids = np.zeros(len(filled_in), dtype=np.int32)
    all_ids[~filled_in], all_ids[filled_in] = ids, others.ids
    return TokenBatch(all_ids, _NO_TYPES, _offsets(whole), is_cut)


def _result(tasks: Sequence[Future[TokenBatch]]) -> TokenBatch:
    return TokenBatch.joined([task.result() for task in tasks])


def _to_batch(encodings: Sequence[Encoding], *, typed: bool) -> TokenBatch:
    offsets = _offsets(np.array([len(encoding.ids) for encoding in encodings], dtype=np.int64))
    ids, types = np.zeros(offsets[-1], dtype=np.int32), np.zeros(offsets[-1] if typed else 0, dtype=np.int32)
    for start, tokens in zip(offsets.tolist(), encodings, strict=False):
        ids[start : start + len(tokens.ids)] = tokens.ids
        if typed:
            types[start : start + len(tokens.ids)] = tokens.types
    return TokenBatch(ids, types, offsets, np.array([encoding.cut for encoding in encodings], dtype=np.bool_))


CODE_POINTS = 0x3000
"""Code points below it are read in C; the first ideograph is above it."""
_OTHER, _DROPPED, _SPACE, _ALONE, _PART = range(5)
_MAX_CHARS, _MAX_PIECE_BYTES = 256, 1023
_NO_LIMIT = 2**31 - 1


class WordPieces:
    """The tables of one tokenizer."""

    def __init__(self, vocabulary: object, limit: int) -> None:
        self._vocabulary, self._limit = vocabulary, limit

    def tokens(self, texts: Sequence[str]) -> tuple[Ids, Ids, BoolArray]:
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
    pairs = [_code_point(library, chr(point)) for point in range(CODE_POINTS)]
    return [kind for kind, _ in pairs], [text for _, text in pairs]


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
