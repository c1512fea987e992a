"""The words that `judge='overlap'` compares, and the score of one claim by them."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache

from rankproof._data.claims import without_marks
from rankproof._data.text import unspaced_pattern, without_punctuation
from rankproof.measures._answers import STOP_WORDS, composed_lowercase

OVERLAP = "overlap"
"""The judge that compares words."""
USEFUL_SHARE = 0.5
"""A context is useful if it has this share of the words of a reference sentence."""
NUGGET_SHARE = 0.75
"""An answer states a nugget if it has this share of its words."""
GRADE_SHARES = (0.25, 0.5, 0.75)
"""The least shares of the question's words for the grades 1, 2 and 3, as in `rankproof judge --by keywords`."""
_CACHED_TEXTS = 4096
_SEPARATOR = "\x1e"
"""A control character that is white space, so that it is no part of a word."""

Words = frozenset[str]


@lru_cache(maxsize=_CACHED_TEXTS)
def content_words(text: str) -> Words:
    """The distinct words of a text without English stop words; in scripts without spaces, every two adjacent characters.

    Elsewhere these are the words of F1(tokens='set',stop_words='english'). Marks of citations are not words.
    """
    plain = composed_lowercase(without_marks(text))
    pairs: set[str] = set()
    if not plain.isascii():
        runs = _unspaced_runs().findall(plain)
        pairs = {run[at : at + 2] for run in runs for at in range(max(1, len(run) - 1))}
        plain = _unspaced_runs().sub(" ", plain)
    return frozenset(pairs.union(without_punctuation(plain).split()).difference(STOP_WORDS["english"]))


def words_of_parts(parts: Sequence[str]) -> list[Words]:
    """The content words of each part of a text; much faster than part by part."""
    plain = composed_lowercase(without_marks(_SEPARATOR.join(parts)))
    cleaned = without_punctuation(plain).split(_SEPARATOR)
    if len(cleaned) != len(parts) or not (plain.isascii() or unspaced_pattern().search(plain) is None):
        return list(map(content_words, parts))
    return [frozenset(part.split()).difference(STOP_WORDS["english"]) for part in cleaned]


@cache
def _unspaced_runs() -> re.Pattern[str]:
    return re.compile(f"(?:{unspaced_pattern().pattern})+")


def all_words(texts: Iterable[str]) -> Words:
    """The content words of all texts."""
    return frozenset().union(*map(content_words, texts))


def word_share(words: Words, found: Words) -> float | None:
    """The share of the words that are found; None where there are no words."""
    return len(words & found) / len(words) if words else None


def word_cosine(one: Words, other: Words) -> float | None:
    """The cosine of two sets of words; None where one is empty."""
    return len(one & other) / (len(one) * len(other)) ** 0.5 if one and other else None


def grade_share(question: Words, context: Words) -> float | None:
    """The grade of a context by the share of the question's words that it has, divided by 3; None without words."""
    share = word_share(question, context)
    return None if share is None else bisect_right(GRADE_SHARES, share) / len(GRADE_SHARES)
