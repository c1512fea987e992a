"""Training of byte-level BPE and of WordPiece; the same texts give the same bytes, whatever the threads.

The library numbers the letters that continue a word in the order of a hash table, and breaks ties between pairs by number, so two
trainings of a WordPiece differ. Here every letter has its number before the training starts.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ..._extras import extra
from ..tokenizer_file import whole_characters
from .kinds import kind_named
from .subword_tokenizer import FILE, PADDING, UNKNOWN, SubwordTokenizer, opened_subwords

_PARALLEL = "TOKENIZERS_PARALLELISM"
_CONTINUES = "##"
_LETTERS_SHARE = 4
_WORDS = r" ?[\p{L}\p{M}]+| ?\p{N}+| ?[^\s\p{L}\p{M}\p{N}]+|\s+(?!\S)|\s+"


def trained_subwords(kind: str, texts: Sequence[str]) -> SubwordTokenizer:
    """A tokenizer of as many tokens as the name says, or fewer where the texts give no more."""
    named = kind_named(kind)
    train = {"bpe": _bpe, "wordpiece": _wordpiece}[named.family]
    with _alone():
        told = json.loads(train([whole_characters(text) for text in texts], named.size).to_str())
    # An added token is found in any text that spells it, and [PAD] in a document is no padding.
    content = json.dumps({**told, "added_tokens": []}, ensure_ascii=False, indent=1)
    return opened_subwords(kind, {FILE: content.encode()})


def _bpe(texts: Sequence[str], size: int) -> Any:
    """All 256 bytes are tokens, so nothing is unknown; a blank is put before the first word, and marks stay with their letters.

    GPT-2's split, the library's own, parts a letter from the vowel signs that follow it, and so cuts every word of Hindi.
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
    trainer = BpeTrainer(vocab_size=size, special_tokens=[PADDING], initial_alphabet=alphabet, show_progress=False)
    inner.train_from_iterator(texts, trainer)
    return inner


def _wordpiece(texts: Sequence[str], size: int) -> Any:
    """As BERT's, accents kept: lower case, cut at blanks and marks; a word with a letter that is no token is [UNK] whole."""
    with extra("retrieval"):
        from tokenizers import Tokenizer
        from tokenizers.models import WordPiece
        from tokenizers.trainers import WordPieceTrainer

    inner = _bert_like(Tokenizer(WordPiece(unk_token=UNKNOWN)))
    letters, continuing = _letters(inner, texts, size // _LETTERS_SHARE)
    trainer = WordPieceTrainer(
        vocab_size=size,
        special_tokens=[PADDING, UNKNOWN, *(f"{_CONTINUES}{letter}" for letter in continuing)],
        initial_alphabet=letters,
        limit_alphabet=len(letters),
        continuing_subword_prefix=_CONTINUES,
        show_progress=False,
    )
    inner.train_from_iterator(texts, trainer)
    return _bert_like(Tokenizer(WordPiece(inner.get_vocab(), unk_token=UNKNOWN)))


def _bert_like(inner: Any) -> Any:
    with extra("retrieval"):
        from tokenizers.normalizers import BertNormalizer
        from tokenizers.pre_tokenizers import BertPreTokenizer

    inner.normalizer = BertNormalizer(lowercase=True, strip_accents=False)
    inner.pre_tokenizer = BertPreTokenizer()
    return inner


def _letters(inner: Any, texts: Sequence[str], most: int) -> tuple[list[str], list[str]]:
    """The most frequent letters in order of their code points, and those of them that are found inside of words."""
    words: Counter[str] = Counter()
    for text in texts:
        words.update(word for word, _ in inner.pre_tokenizer.pre_tokenize_str(inner.normalizer.normalize_str(text)))
    counts: Counter[str] = Counter()
    for word, times in words.items():
        for letter in word:
            counts[letter] += times
    kept = sorted(sorted(counts, key=lambda letter: (-counts[letter], letter))[:most])
    inside = set().union(*(word[1:] for word in words))
    return kept, [letter for letter in kept if letter in inside]


@contextmanager
def _alone() -> Iterator[None]:
    """Without the library's own threads: once they have run, some of its versions warn of every fork of the process."""
    before = os.environ.get(_PARALLEL)
    os.environ[_PARALLEL] = "false"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_PARALLEL]
        else:
            os.environ[_PARALLEL] = before
