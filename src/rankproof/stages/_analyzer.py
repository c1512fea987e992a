"""Splits texts into the tokens that BM25 indexes: words, n-grams or BPE tokens."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Protocol

from rankproof._data import validation
from rankproof._data.text import combining_marks
from rankproof._data.wording.stop_words import listed_stop_words
from rankproof._extras import extra
from rankproof.errors import UsageError, for_message
from rankproof.models._trained.tokenizers import (
    MAX_VOCABULARY,
    MIN_VOCABULARY,
    TOKENIZER_FILE,
    Tokenizer,
    open_trained_tokenizer,
    train_tokenizer,
)

STOP_LISTS = (
    *("chinese", "danish", "dutch", "english", "french", "german", "italian", "korean", "norwegian", "portuguese", "russian"),
    *("spanish", "swedish", "turkish"),
)
STEMMERS = (
    *("arabic", "armenian", "basque", "catalan", "danish", "dutch", "english", "finnish", "french", "german", "greek", "hindi"),
    *("hungarian", "indonesian", "irish", "italian", "lithuanian", "nepali", "norwegian", "porter", "portuguese", "romanian"),
    *("russian", "serbian", "spanish", "swedish", "tamil", "turkish", "yiddish"),
)
_ASCII_WORD = re.compile(r"\w+", re.ASCII)


def split_words(text: str) -> list[str]:
    """The words of a text, in lower case."""
    if text.isascii():
        return _ASCII_WORD.findall(text.lower())
    from unicodedata import normalize

    return _unicode_word().findall(normalize("NFKC", text).lower())


_MOST_WORDS = 1 << 18
"""The words of a large collection would take hundreds of megabytes; rare ones hardly come again."""


class WordAnalyzer(dict[str, str]):
    """Maps a word to its term, "" for a stop word; the terms of many words are kept."""

    splits_at_blanks: ClassVar = True

    def __init__(self, language: str, *, stemming: bool, stop_words: bool | tuple[str, ...]) -> None:
        super().__init__()
        self._stop_words = frozenset(_stop_words(language, stop_words))
        self._stem: Callable[[str], str] = _stemmer(language).stemWord if stemming else str

    def __missing__(self, word: str) -> str:
        if len(self) >= _MOST_WORDS:
            self.clear()
        term = self[word] = self._term(word)
        return term

    def _term(self, word: str) -> str:
        return "" if word in self._stop_words else self._stem(word) or word

    def tokenize(self, text: str) -> list[str]:
        """The terms of a text, in order, with repetitions."""
        return [term for word in split_words(text) if (term := self[word])]

    def tokenize_once(self, text: str) -> list[str]:
        """The same, without keeping words."""
        return [term for word in split_words(text) if (term := self._term(word))]

    def display(self, token: str) -> str:
        """The term itself."""
        return token


def check_language(language: str, *, stemming: bool, stop_words: bool | tuple[str, ...]) -> None:
    """Raises an error for a language without the requested stemmer or stop words."""
    if stemming and language not in STEMMERS:
        fix = f"choose one of {', '.join(STEMMERS)}, or turn stemming off"
        raise UsageError(f"no stemmer for {for_message(language)}", fix=fix)
    if stop_words is True and language not in STOP_LISTS:
        fix = f"choose one of {', '.join(STOP_LISTS)}, give your own words as stop_words, or turn them off"
        raise UsageError(f"no stop word list for {for_message(language)}", fix=fix)


def _stop_words(language: str, chosen: bool | tuple[str, ...]) -> list[str]:
    if isinstance(chosen, bool):
        return listed_stop_words()[language].split() if chosen else []
    return [word for entry in chosen for word in split_words(entry)]


def _stemmer(language: str) -> Any:
    with extra("retrieval"):
        import Stemmer

    return Stemmer.Stemmer(language, 0)


@lru_cache(maxsize=1)
def _unicode_word() -> re.Pattern[str]:
    """A Unicode word: combining marks belong to it, unlike in Python's \\w."""
    return re.compile(rf"\w[\w{combining_marks()}]*")


VISIBLE_BLANK = "␣"


def words_with_blanks(text: str) -> str:
    """The words of a text between single spaces; "" if it has none."""
    words = split_words(text)
    return f" {' '.join(words)} " if words else ""


@dataclass(frozen=True, slots=True)
class CharNgrams:
    """All n-grams of characters."""

    size: int
    splits_at_blanks: ClassVar = False

    def tokenize(self, text: str) -> list[str]:
        """The n-grams of a text, in order."""
        return _ngrams(words_with_blanks(text), self.size)

    tokenize_once = tokenize

    def display(self, token: str) -> str:
        """The characters, with visible spaces."""
        return token.replace(" ", VISIBLE_BLANK)


@dataclass(frozen=True, slots=True)
class ByteNgrams:
    """All n-grams of UTF-8 bytes; a token has one character, U+0000 to U+00FF, for each byte."""

    size: int
    splits_at_blanks: ClassVar = False

    def tokenize(self, text: str) -> list[str]:
        """The n-grams of a text, in order; words contain no lone surrogates, so every text can be encoded."""
        return _ngrams(words_with_blanks(text).encode().decode("latin-1"), self.size)

    tokenize_once = tokenize

    def display(self, token: str) -> str:
        """The complete characters, with visible spaces, and other bytes as escapes."""
        return display_bytes(token.encode("latin-1"))


def display_bytes(token: bytes) -> str:
    """Bytes as text with visible spaces; bytes that are not UTF-8 are escaped."""
    return token.decode("utf-8", "backslashreplace").replace(" ", VISIBLE_BLANK)


def _ngrams(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(max(1, len(text) - size + 1))] if text else []


WORD_ANALYZER = "words"
MAX_NGRAM = 8
_NGRAM_NAME = re.compile(rf"(characters|bytes)-([1-{MAX_NGRAM}])", re.ASCII)
_BPE_NAME = re.compile(r"bpe-([1-9][0-9]{0,6})", re.ASCII)
_NGRAM_CLASSES: dict[str, type[CharNgrams] | type[ByteNgrams]] = {"characters": CharNgrams, "bytes": ByteNgrams}
_FIX = (
    f"choose words, characters-N or bytes-N with N from 1 to {MAX_NGRAM}, "
    f"or bpe-N with N from {MIN_VOCABULARY} to {MAX_VOCABULARY:,}"
)


class Analyzer(Protocol):
    """Splits documents and queries into tokens.

    `splits_at_blanks` says that the tokens of a text are those of its parts between blanks, one part after the other.
    """

    @property
    def splits_at_blanks(self) -> bool: ...

    def tokenize(self, text: str) -> list[str]:
        """The tokens of a text, in order, with repetitions."""

    def tokenize_once(self, text: str) -> list[str]:
        """The same, of a text that is not asked for again: nothing is kept."""

    def display(self, token: str) -> str:
        """A token as shown to users: spaces are visible, bytes that are not UTF-8 are escaped."""


def check_analyzer(name: Any, *, language: str, stop_words: bool | tuple[str, ...]) -> None:
    """Raises an error for an unknown name, and for a language or stop words with tokens other than words."""
    validation.checked_text("tokens", name)
    bpe = _BPE_NAME.fullmatch(name)
    if (
        name != WORD_ANALYZER
        and not _NGRAM_NAME.fullmatch(name)
        and not (bpe and MIN_VOCABULARY <= int(bpe[1]) <= MAX_VOCABULARY)
    ):
        raise UsageError(f"tokens is {for_message(name)}", fix=_FIX)
    for setting, is_changed in (("language", language != "english"), ("stop_words", isinstance(stop_words, tuple))):
        if is_changed and name != WORD_ANALYZER:
            raise UsageError(
                f"{setting} applies to words only, but tokens is {name}",
                fix=f'leave it out, or choose tokens = "{WORD_ANALYZER}"',
            )


def analyzer_by_name(name: str, bpe: bytes) -> Analyzer:
    """The analyzer of tokens other than words; `bpe` is the tokenizer.json of BPE tokens."""
    if gram := _NGRAM_NAME.fullmatch(name):
        return _NGRAM_CLASSES[gram[1]](int(gram[2]))
    return BpeAnalyzer(open_trained_tokenizer(name, {TOKENIZER_FILE: bpe}))


def is_learned(name: str) -> bool:
    """Whether the tokens are learned from the documents."""
    return _BPE_NAME.fullmatch(name) is not None


def analyzer_libraries(name: str) -> tuple[str, ...]:
    """The packages that the tokens depend on."""
    return ("PyStemmer",) if name == WORD_ANALYZER else ("tokenizers",) if is_learned(name) else ()


def train_bpe(kind: str, texts: Iterable[str]) -> Tokenizer:
    """A BPE learned from the words of the texts; the same texts give the same BPE."""
    return train_tokenizer(kind, (" ".join(split_words(text)) for text in texts))


class BpeAnalyzer(dict[str, list[str]]):
    """Maps a word to its BPE tokens as in tokenizer.json: one character for each byte, `Ġ` for the space before a word."""

    splits_at_blanks: ClassVar = True

    def __init__(self, tokenizer: Tokenizer) -> None:
        super().__init__()
        self._tokenizer = tokenizer
        vocabulary = json.loads(tokenizer.files()[TOKENIZER_FILE])["model"]["vocab"]
        self._names = sorted(vocabulary, key=vocabulary.__getitem__)

    def __missing__(self, word: str) -> list[str]:
        tokens = self[word] = self._pieces(word)
        return tokens

    def _pieces(self, word: str) -> list[str]:
        return [self._names[at] for at in self._tokenizer.ids([word])[0].tolist()]

    def tokenize(self, text: str) -> list[str]:
        """The BPE tokens of a text, in order."""
        return [token for word in split_words(text) for token in self[word]]

    def tokenize_once(self, text: str) -> list[str]:
        """The same, without keeping words."""
        return [token for word in split_words(text) for token in self._pieces(word)]

    def display(self, token: str) -> str:
        """The complete characters, with a visible space before a word, and other bytes as escapes."""
        return display_bytes(bytes(map(_bytes_of_letters().__getitem__, token)))


@lru_cache(maxsize=1)
def _bytes_of_letters() -> dict[str, int]:
    """GPT-2's characters for bytes: printable bytes stand for themselves, the others follow from U+0100."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(0x100) if byte not in set(printable)]
    return {**{chr(byte): byte for byte in printable}, **{chr(0x100 + at): byte for at, byte in enumerate(others)}}
