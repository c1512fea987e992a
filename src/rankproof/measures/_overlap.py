"""The words that `judge='overlap'` compares, and the score of one claim by them."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache

from rankproof._data.claims import Claim, checkable_claims
from rankproof._data.text import combining_marks, has_markup, unspaced_pattern, without_markup
from rankproof._data.wording.remarks import is_heading, without_opening
from rankproof._data.wording.stop_words import stop_words_of
from rankproof.measures._answers import composed_lowercase

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

    Words end at every character that is no letter and no digit, and markup is no part of them. 3.5, 1,000 and U.S. are one word,
    don't is dont, and Norway's is Norway.
    """
    return _lowercase_words(composed_lowercase(without_markup(text)))


def words_of_parts(parts: Sequence[str]) -> list[Words]:
    """The content words of each part of a text; faster than part by part."""
    text = _SEPARATOR.join(parts)
    plain = composed_lowercase(text)
    cleaned = plain.split(_SEPARATOR)
    if has_markup(text) or len(cleaned) != len(parts):
        return list(map(content_words, parts))
    return list(map(_lowercase_words, cleaned))


def _lowercase_words(text: str) -> Words:
    if text.isascii():
        words = set(_ASCII_TOKEN.findall(text))
    else:
        runs = _unspaced_runs().findall(text)
        pairs = {run[at : at + 2] for run in runs for at in range(max(1, len(run) - 1))}
        plain = _INVISIBLE.sub("", _unspaced_runs().sub(" ", text) if runs else text)
        words = pairs.union(_unicode_token().findall(plain.replace("’", "'")))
    if not "".join(words).isalnum():
        joined = [token for token in words if not token.isalnum()]
        words.difference_update(joined)
        words.update(word for token in joined for word in _token_words(token))
    return frozenset(words.difference(stop_words_of("english")))


_ASCII_TOKEN = re.compile(r"[a-z0-9]+(?:[.,'][a-z0-9]+)*")
_JOINT = re.compile("[.,']")
_INVISIBLE = re.compile("[\u00ad\u200b-\u200d\u2060\ufeff]")
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_DECIMAL = re.compile(r"\d+(?:\.\d+|,\d{1,2})")
_NOT_ENDING = "n't"
_ENDINGS = {"s", "re", "ve", "ll", "d", "m"}


@cache
def _unicode_token() -> re.Pattern[str]:
    word = rf"[^\W_](?:[^\W_]|[{combining_marks()}])*"
    return re.compile(f"{word}(?:[.,']{word})*")


@lru_cache(maxsize=_CACHED_TEXTS)
def _token_words(token: str) -> tuple[str, ...]:
    """The words of letters and digits with points, commas or apostrophes between them."""
    if _THOUSANDS.fullmatch(token):
        return (token.replace(",", ""),)
    if _DECIMAL.fullmatch(token):
        return (token.replace(",", "."),)
    if token.endswith(_NOT_ENDING):
        return (*_token_words(token[: -len(_NOT_ENDING)])[:-1], re.split(_JOINT, token[: -len(_NOT_ENDING)])[-1] + "nt")
    letters = token.split(".")
    if len(letters) > 1 and all(len(letter) == 1 and letter.isalpha() for letter in letters):
        return ("".join(letters),)
    for mark in ("'", ",", "."):
        first, joint, rest = token.partition(mark)
        if joint:
            return _token_words(first) if mark == "'" and rest in _ENDINGS else (*_token_words(first), *_token_words(rest))
    return (token,)


@cache
def _unspaced_runs() -> re.Pattern[str]:
    return re.compile(f"(?:{unspaced_pattern().pattern})+")


def claim_words(claim: Claim) -> Words:
    """The content words of a claim without its opening; none of a bare "Yes."."""
    return content_words(without_opening(claim.text))


def claim_share(claim: Claim, known: Words) -> float | None:
    """The share of a claim's words that are found; None where it has none.

    A list item is compared alone and together with its lead-in, unless that is a heading; the lower share counts.
    """
    words = claim_words(claim)
    share = word_share(words, known)
    if share is None or not claim.lead_in or is_heading(claim.lead_in, True, False):
        return share
    both = word_share(words | content_words(without_opening(claim.lead_in)), known)
    return share if both is None else min(share, both)


def stated_words(text: str) -> Words:
    """The content words of the sentences of a text that state something."""
    return frozenset().union(*(content_words(claim.text) for claim in checkable_claims(text)))


def all_words(texts: Iterable[str]) -> Words:
    """The content words of all texts."""
    return frozenset().union(*map(content_words, texts))


def word_share(words: Words, known: Words) -> float | None:
    """The share of the words that are found; None where there are no words."""
    return len(words & known) / len(words) if words else None


def word_cosine(first: Words, second: Words) -> float | None:
    """The cosine of two sets of words; None where one is empty."""
    return len(first & second) / (len(first) * len(second)) ** 0.5 if first and second else None


def grade_share(question: Words, context: Words) -> float | None:
    """The grade of a context by the share of the question's words that it has, divided by 3; None without words."""
    share = word_share(question, context)
    return None if share is None else bisect_right(GRADE_SHARES, share) / len(GRADE_SHARES)
