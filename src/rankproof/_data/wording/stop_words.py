"""Stop words by language, from `stop_words.toml`, which names their source."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache


@cache
def listed_stop_words() -> Mapping[str, str]:
    """The stop words of every language, between blanks; each is a word as the analyzer of BM25 splits a text."""
    # Late, as measures of rankings need none of them.
    import tomllib
    from importlib.resources import files

    return tomllib.loads(files(__package__).joinpath("stop_words.toml").read_text(encoding="utf-8"))


@cache
def stop_words_of(language: str) -> frozenset[str]:
    """The stop words of a language, or of "none"; the English ones are Lucene's."""
    return frozenset() if language == "none" else frozenset(listed_stop_words()[language].split())
