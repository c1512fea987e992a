"""Tokenizers of trained encoders: bytes, characters, BPE and WordPiece."""

from __future__ import annotations

import json
import os
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from rankproof._extras import extra
from rankproof.errors import ExternalError, UsageError, closest_name, escape_invisible, for_message
from rankproof.models._tokenizer import replace_surrogates

Ids = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class ByteTokenizer:
    """The UTF-8 bytes of a text, each plus 1, because 0 is padding."""

    kind: str = "bytes"

    @property
    def vocabulary(self) -> int:
        """256 bytes and padding."""
        return 257

    def ids(self, texts: Sequence[str]) -> list[Ids]:
        """The ids of each text."""
        return [np.frombuffer(replace_surrogates(text).encode(), dtype=np.uint8).astype(np.int32) + np.int32(1) for text in texts]

    def unknown(self, texts: Sequence[str]) -> tuple[int, int]:
        """0 unknown tokens, and the number of all tokens."""
        return 0, sum(len(replace_surrogates(text).encode()) for text in texts)

    def files(self) -> Mapping[str, bytes]:
        """None: the tokenizer has no files."""
        return {}


@dataclass(frozen=True, slots=True)
class CharacterTokenizer:
    """The code points of a text without normalisation, each plus 1, because 0 is padding."""

    kind: str = "characters"

    @property
    def vocabulary(self) -> int:
        """All code points and padding; the network hashes them."""
        return sys.maxunicode + 2

    def ids(self, texts: Sequence[str]) -> list[Ids]:
        """The ids of each text."""
        return [
            np.frombuffer(replace_surrogates(text).encode("utf-32-le"), dtype="<i4").astype(np.int32) + np.int32(1)
            for text in texts
        ]

    def unknown(self, texts: Sequence[str]) -> tuple[int, int]:
        """0 unknown tokens, and the number of all tokens."""
        return 0, sum(len(replace_surrogates(text)) for text in texts)

    def files(self) -> Mapping[str, bytes]:
        """None: the tokenizer has no files."""
        return {}


TokenizerFamily = Literal["bytes", "bytes-4", "characters", "bpe", "wordpiece"]
MIN_VOCABULARY, MAX_VOCABULARY = 300, 100_000


class _FamilyTraits(NamedTuple):
    """Whether the name has a vocabulary size, how many tokens the network joins, and whether it hashes them."""

    sized: bool = False
    stride: int = 1
    hashed: bool = False


_FAMILY_TRAITS: dict[TokenizerFamily, _FamilyTraits] = {
    "bytes": _FamilyTraits(),
    "bytes-4": _FamilyTraits(stride=4),
    "characters": _FamilyTraits(stride=4, hashed=True),
    "bpe": _FamilyTraits(sized=True),
    "wordpiece": _FamilyTraits(sized=True),
}
TOKENIZER_KINDS = tuple(f"{family}-N" if traits.sized else family for family, traits in _FAMILY_TRAITS.items())
_NAME = re.compile(r"(.+)-([1-9][0-9]{0,8})", re.ASCII)


@dataclass(frozen=True, slots=True)
class TokenizerKind:
    """A parsed name; `size` is the vocabulary size, 0 for a tokenizer without training."""

    family: TokenizerFamily
    size: int = 0

    @property
    def stride(self) -> int:
        """How many tokens the network joins into one after its first layer."""
        return _FAMILY_TRAITS[self.family].stride

    @property
    def hashed(self) -> bool:
        """Whether token embeddings are joined from hash tables."""
        return _FAMILY_TRAITS[self.family].hashed


def parse_tokenizer_kind(kind: str) -> TokenizerKind:
    """The parsed name; an unknown name is an error."""
    match = _NAME.fullmatch(kind) if isinstance(kind, str) else None
    for family, traits in _FAMILY_TRAITS.items():
        if kind == family and not traits.sized:
            return TokenizerKind(family)
        if match is not None and match[1] == family and traits.sized:
            return TokenizerKind(family, _parse_vocabulary_size(kind, int(match[2])))
    guess = closest_name(str(kind), [name.replace("-N", "-8000") for name in TOKENIZER_KINDS])
    also = f"did you mean {guess}? known" if guess else "known"
    raise UsageError(f"no tokenizer is called {for_message(str(kind))}", fix=f"{also}: {', '.join(TOKENIZER_KINDS)}")


def _parse_vocabulary_size(kind: str, size: int) -> int:
    if not MIN_VOCABULARY <= size <= MAX_VOCABULARY:
        raise UsageError(f"{kind} would have {size} tokens", fix=f"choose from {MIN_VOCABULARY} to {MAX_VOCABULARY:,}")
    return size


TOKENIZER_FILE = "tokenizer.json"
PADDING_TOKEN, UNKNOWN_TOKEN = "[PAD]", "[UNK]"
_MODELS = {"bpe": "BPE", "wordpiece": "WordPiece"}


@dataclass(frozen=True, slots=True)
class SubwordTokenizer:
    """A tokenizer.json without special tokens; `content` is the file."""

    kind: str
    content: bytes = field(repr=False)
    _inner: Any = field(repr=False, compare=False)

    @property
    def vocabulary(self) -> int:
        """The number of tokens with padding; smaller than in the name if the training texts are few."""
        return int(self._inner.get_vocab_size())

    def ids(self, texts: Sequence[str]) -> list[Ids]:
        """The ids of each text; one text at a time, because the library's threads do not survive a fork."""
        return [
            np.asarray(self._inner.encode(replace_surrogates(text), add_special_tokens=False).ids, dtype=np.int32)
            for text in texts
        ]

    def unknown(self, texts: Sequence[str]) -> tuple[int, int]:
        """The numbers of [UNK] tokens, 0 for byte-level BPE, and of all tokens."""
        unknown_id, ids_of_texts = self._inner.token_to_id(UNKNOWN_TOKEN), self.ids(texts)
        unknown = 0 if unknown_id is None else sum(int((ids == unknown_id).sum()) for ids in ids_of_texts)
        return unknown, sum(map(len, ids_of_texts))

    def files(self) -> Mapping[str, bytes]:
        """The tokenizer.json."""
        return {TOKENIZER_FILE: self.content}


def open_subword_tokenizer(kind: str, files: Mapping[str, bytes]) -> SubwordTokenizer:
    """The tokenizer of a saved file; another kind is an error."""
    with extra("retrieval"):
        from tokenizers import Tokenizer

    if TOKENIZER_FILE not in files:
        raise ExternalError(f"{TOKENIZER_FILE}: file not found; get the checkpoint again")
    try:
        document = json.loads(files[TOKENIZER_FILE])
        inner = Tokenizer.from_str(files[TOKENIZER_FILE].decode())
        model, added = str(document["model"]["type"]), document["added_tokens"]
    except Exception as error:  # the library raises a plain Exception
        raise ExternalError(
            escape_invisible(f"{TOKENIZER_FILE}: not a tokenizer ({for_message(str(error))}); get the checkpoint again")
        ) from None
    named = parse_tokenizer_kind(kind)
    if model != _MODELS[named.family]:
        raise ExternalError(
            escape_invisible(
                f"{TOKENIZER_FILE}: a {for_message(model)} tokenizer, but {kind} is expected; get the checkpoint again"
            )
        )
    if added or not _has_contiguous_ids(inner, named):
        raise ExternalError(
            f"{TOKENIZER_FILE}: its ids are not those of {kind}, with {PADDING_TOKEN} at 0; get the checkpoint again"
        )
    inner.no_padding()
    inner.no_truncation()
    return SubwordTokenizer(kind, files[TOKENIZER_FILE], inner)


def _has_contiguous_ids(inner: Any, named: TokenizerKind) -> bool:
    """Whether the ids are 0, 1, 2 and so on, within the vocabulary size, with the tokens that every text needs."""
    with extra("retrieval"):
        from tokenizers.pre_tokenizers import ByteLevel

    rows = inner.get_vocab(with_added_tokens=True)
    needed = ByteLevel.alphabet() if named.family == "bpe" else [UNKNOWN_TOKEN]
    in_order = sorted(rows.values()) == list(range(len(rows))) and len(rows) <= named.size
    return in_order and rows.get(PADDING_TOKEN) == 0 and all(token in rows for token in needed)


class Tokenizer(Protocol):
    """Converts texts to ids; 0 is padding. A frozen value."""

    @property
    def kind(self) -> str:
        """The name, as on the command line."""
        ...

    @property
    def vocabulary(self) -> int:
        """The number of ids, padding included."""
        ...

    def ids(self, texts: Sequence[str]) -> list[Ids]:
        """The ids of each text, none for an empty text."""
        ...

    def unknown(self, texts: Sequence[str]) -> tuple[int, int]:
        """The numbers of unknown tokens and of all tokens."""
        ...

    def files(self) -> Mapping[str, bytes]:
        """The files to save, by name."""
        ...


def train_tokenizer(kind: str, texts: Iterable[str]) -> Tokenizer:
    """The tokenizer of this name, trained on the texts if it needs training."""
    if parse_tokenizer_kind(kind).size:
        return train_subword_tokenizer(kind, list(texts))
    return _fixed_tokenizer(kind)


def tokenizer_files(kind: str) -> tuple[str, ...]:
    """The names of the files of a tokenizer of this name."""
    return (TOKENIZER_FILE,) if parse_tokenizer_kind(kind).size else ()


def open_trained_tokenizer(kind: str, files: Mapping[str, bytes]) -> Tokenizer:
    """The tokenizer of this name, from its files."""
    return open_subword_tokenizer(kind, files) if parse_tokenizer_kind(kind).size else _fixed_tokenizer(kind)


def _fixed_tokenizer(kind: str) -> Tokenizer:
    return CharacterTokenizer(kind) if parse_tokenizer_kind(kind).family == "characters" else ByteTokenizer(kind)


_PARALLELISM_VARIABLE = "TOKENIZERS_PARALLELISM"
_CONTINUATION_PREFIX = "##"
_LETTERS_SHARE = 4
_WORDS = r" ?[\p{L}\p{M}]+| ?\p{N}+| ?[^\s\p{L}\p{M}\p{N}]+|\s+(?!\S)|\s+"


def train_subword_tokenizer(kind: str, texts: Sequence[str]) -> SubwordTokenizer:
    """A tokenizer with the vocabulary size in its name, or less if the texts give fewer tokens."""
    named = parse_tokenizer_kind(kind)
    train = {"bpe": _train_bpe, "wordpiece": _train_wordpiece}[named.family]
    with _without_library_threads():
        document = json.loads(train([replace_surrogates(text) for text in texts], named.size).to_str())
    # An added token would match in any text, and [PAD] in a document is not padding.
    content = json.dumps({**document, "added_tokens": []}, ensure_ascii=False, indent=1)
    return open_subword_tokenizer(kind, {TOKENIZER_FILE: content.encode()})


def _train_bpe(texts: Sequence[str], size: int) -> Any:
    """Byte-level BPE: no token is unknown; a space precedes the first word, and combining marks stay with their letters.

    The library's default, the split of GPT-2, separates letters from vowel signs and so splits every Hindi word.
    """
    with extra("retrieval"):
        from tokenizers import Regex, Tokenizer, pre_tokenizers
        from tokenizers.models import BPE
        from tokenizers.normalizers import Prepend
        from tokenizers.trainers import BpeTrainer

    inner = Tokenizer(BPE())
    inner.normalizer = Prepend(" ")
    words = pre_tokenizers.Split(Regex(_WORDS), "isolated")
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    inner.pre_tokenizer = pre_tokenizers.Sequence([words, byte_level])
    alphabet = sorted(byte_level.alphabet())
    trainer = BpeTrainer(vocab_size=size, special_tokens=[PADDING_TOKEN], initial_alphabet=alphabet, show_progress=False)
    inner.train_from_iterator(texts, trainer)
    return inner


def _train_wordpiece(texts: Sequence[str], size: int) -> Any:
    """WordPiece as in BERT, with accents: lower case, split at spaces and punctuation; a word with an unknown letter is [UNK]."""
    with extra("retrieval"):
        from tokenizers import Tokenizer
        from tokenizers.models import WordPiece
        from tokenizers.trainers import WordPieceTrainer

    inner = _bert_like(Tokenizer(WordPiece(unk_token=UNKNOWN_TOKEN)))
    letters, continuing = _letters(inner, texts, size // _LETTERS_SHARE)
    trainer = WordPieceTrainer(
        vocab_size=size,
        special_tokens=[PADDING_TOKEN, UNKNOWN_TOKEN, *(f"{_CONTINUATION_PREFIX}{letter}" for letter in continuing)],
        initial_alphabet=letters,
        limit_alphabet=len(letters),
        continuing_subword_prefix=_CONTINUATION_PREFIX,
        show_progress=False,
    )
    inner.train_from_iterator(texts, trainer)
    return _bert_like(Tokenizer(WordPiece(inner.get_vocab(), unk_token=UNKNOWN_TOKEN)))


def _bert_like(inner: Any) -> Any:
    with extra("retrieval"):
        from tokenizers.normalizers import BertNormalizer
        from tokenizers.pre_tokenizers import BertPreTokenizer

    inner.normalizer = BertNormalizer(lowercase=True, strip_accents=False)
    inner.pre_tokenizer = BertPreTokenizer()
    return inner


def _letters(inner: Any, texts: Sequence[str], most: int) -> tuple[list[str], list[str]]:
    """The most frequent letters by code point, and those of them that occur inside words."""
    words: Counter[str] = Counter()
    for text in texts:
        words.update(word for word, _ in inner.pre_tokenizer.pre_tokenize_str(inner.normalizer.normalize_str(text)))
    counts: Counter[str] = Counter()
    for word, times in words.items():
        for letter in word:
            counts[letter] += times
    frequent = sorted(sorted(counts, key=lambda letter: (-counts[letter], letter))[:most])
    inside = set().union(*(word[1:] for word in words))
    return frequent, [letter for letter in frequent if letter in inside]


@contextmanager
def _without_library_threads() -> Iterator[None]:
    """Turns the library's threads off: after they ran, some versions warn at every fork of the process."""
    before = os.environ.get(_PARALLELISM_VARIABLE)
    os.environ[_PARALLELISM_VARIABLE] = "false"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_PARALLELISM_VARIABLE]
        else:
            os.environ[_PARALLELISM_VARIABLE] = before
