"""Stop words by language, from `stop_words.toml`, which names their source."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Literal

StopWords = Literal[
    "none",
    "danish",
    "dutch",
    "english",
    "french",
    "german",
    "italian",
    "korean",
    "norwegian",
    "portuguese",
    "russian",
    "spanish",
    "swedish",
    "turkish",
]
"""The lists for words between spaces."""


@cache
def listed_stop_words() -> Mapping[str, str]:
    """The stop words of every language, between blanks; each is a word as the analyzer of BM25 splits a text."""
    # Late, as measures of rankings need none of them.
    import tomllib
    from importlib.resources import files

    return tomllib.loads(files(__package__).joinpath("stop_words.toml").read_text(encoding="utf-8"))


@cache
def stop_words_of(language: StopWords) -> frozenset[str]:
    """The stop words of a language; the English ones are Lucene's."""
    return frozenset() if language == "none" else frozenset(listed_stop_words()[language].split())
