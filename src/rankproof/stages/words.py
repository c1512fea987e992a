"""Texts cut into terms: words in lower case, stop words left out, the rest stemmed.

A word is a run of letters, digits, underscores and the marks that belong to them, so one letter alone is a word; what is not
ASCII is first brought to Unicode's form NFKC. Stop words are left out before stemming.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from .._extras import extra
from ..errors import UsageError, shown

STOP_LISTS = {
    "chinese": "CHINESE",
    "danish": "DANISH",
    "dutch": "DUTCH",
    "english": "EN",
    "french": "FRENCH",
    "german": "GERMAN",
    "italian": "ITALIAN",
    "korean": "KOREAN",
    "norwegian": "NORWEGIAN",
    "portuguese": "PORTUGUESE",
    "russian": "RUSSIAN",
    "spanish": "SPANISH",
    "swedish": "SWEDISH",
    "turkish": "TURKISH",
}
STEMMERS = (
    *("arabic", "armenian", "basque", "catalan", "danish", "dutch", "english", "finnish", "french", "german", "greek", "hindi"),
    *("hungarian", "indonesian", "irish", "italian", "lithuanian", "nepali", "norwegian", "porter", "portuguese", "romanian"),
    *("russian", "serbian", "spanish", "swedish", "tamil", "turkish", "yiddish"),
)
_ASCII_WORD = re.compile(r"\w+", re.ASCII)


def words(text: str) -> list[str]:
    """The words of a text, in lower case."""
    if text.isascii():
        return _ASCII_WORD.findall(text.lower())
    from unicodedata import normalize

    return _any_word().findall(normalize("NFKC", text).lower())


class Terms(dict[str, str]):
    """From a word to its term, which is empty for a stop word; each distinct word is stemmed once."""

    def __init__(self, language: str, *, stemming: bool, stop_words: bool | tuple[str, ...]) -> None:
        super().__init__(dict.fromkeys(_stop_words(language, stop_words), ""))
        self._stemmer = _stemmer(language) if stemming else None

    def __missing__(self, word: str) -> str:
        term = word if self._stemmer is None else self._stemmer.stemWord(word) or word
        self[word] = term
        return term

    def of(self, text: str) -> list[str]:
        """The terms of a text, in its order, as often as they stand there."""
        return [term for word in words(text) if (term := self[word])]

    def shown(self, token: str) -> str:
        """The term itself."""
        return token


def refuse_language(language: str, *, stemming: bool, stop_words: bool | tuple[str, ...]) -> None:
    """A language must have what is asked for of it."""
    if stemming and language not in STEMMERS:
        fix = f"choose one of {', '.join(STEMMERS)}, or turn stemming off"
        raise UsageError(f"there is no stemmer for {shown(language)}", fix=fix)
    if stop_words is True and language not in STOP_LISTS:
        fix = f"choose one of {', '.join(STOP_LISTS)}, give your own words as stop_words, or turn them off"
        raise UsageError(f"there is no list of stop words for {shown(language)}", fix=fix)


def _stop_words(language: str, chosen: bool | tuple[str, ...]) -> list[str]:
    own = chosen if isinstance(chosen, tuple) else ()
    if chosen is True:
        with extra("retrieval"):
            import bm25s.stopwords

        own = tuple(getattr(bm25s.stopwords, f"STOPWORDS_{STOP_LISTS[language]}"))
    return [word for one in own for word in words(one)]


def _stemmer(language: str) -> Any:
    with extra("retrieval"):
        import Stemmer

    return Stemmer.Stemmer(language, 0)


@lru_cache(maxsize=1)
def _any_word() -> re.Pattern[str]:
    """As Unicode has it: a letter's marks belong to the word, which Python's own pattern leaves out."""
    from unicodedata import category

    marks = "".join(chr(code) for code in (*range(0x300, 0x20000), *range(0xE0100, 0xE01F0)) if category(chr(code))[0] == "M")
    return re.compile(rf"\w[\w{marks}]*")
