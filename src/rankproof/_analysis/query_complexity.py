"""The complexity of a query by the constraints counted in its text: a heuristic for English."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Literal, NamedTuple

MODERATE, COMPLEX = 3, 5
COMPLEXITY_SEGMENTS = (
    f"simple (under {MODERATE} constraints)",
    f"moderate ({MODERATE}-{COMPLEX - 1} constraints)",
    f"complex ({COMPLEX} or more constraints)",
)

MarkerKind = Literal["joining word", "comparison", "negation", "number", "quoted phrase", "filter", "comma"]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


JOINING_WORDS = _words(
    "about across after against along although and around at because before behind below beside besides between beyond but by"
    " during for from if in inside into like near on onto or outside per plus since than that though through throughout"
    " under unless until upon via when where whereas which while who whom whose with within"
)
"""Prepositions, conjunctions and relative words that add a condition; `of` and `to` rarely do."""
COMPARISONS = _words("above compared exactly fewer least less max maximum min minimum more most only over same similar versus vs")
NEGATIONS = _words("cannot except excluding instead neither never no nor not without")

_QUOTES = re.compile(r'"([^"]*)"')
_TOKEN = re.compile(r"[^\s,;]+(?:[,;](?=\S)[^\s,;]+)*|[,;]")
_FILTER = re.compile(r"[^\W\d][\w.-]*[:=](?!/)[^\s:=].*")
_ENGLISH = _words("a an and are can do does for how i is it my of the to what which with")
_LONG_ENOUGH = 5


class Marker(NamedTuple):
    """A sign of a constraint: the token and its kind."""

    text: str
    kind: MarkerKind


def constraint_markers(text: str) -> list[tuple[Marker, ...]]:
    """The markers of each constraint after the topic; markers next to each other are one constraint."""
    plain = _plain(text)
    quoted = [(Marker(found.group(), "quoted phrase"),) for found in _QUOTES.finditer(plain) if found[1].strip()]
    marked = [_marker(token) for token in _TOKEN.findall(plain.replace('"', " "))]
    runs = [[each for each in run if each is not None] for _, run in groupby(marked, key=lambda each: each is not None)]
    kept = [tuple(run) for at, run in enumerate(runs) if run and (0 < at < len(runs) - 1 or _stands_alone(run))]
    return quoted + kept


def _stands_alone(run: Sequence[Marker]) -> bool:
    """Whether the first or last words of a query are a constraint: joining words and commas alone have nothing to join there."""
    return any(marker.kind not in ("joining word", "comma") for marker in run)


def count_constraints(text: str) -> int | None:
    """The topic and the constraints after it, 0 for a text without words; None if most letters are not Latin."""
    plain = _plain(text)
    letters = [char for char in plain if char.isalpha()]
    latin = sum(unicodedata.name(char, "").startswith("LATIN ") for char in letters)
    if 2 * latin < len(letters):
        return None
    return 1 + len(constraint_markers(text)) if any(char.isalnum() for char in plain) else 0


def complexity_of(text: str) -> str | None:
    """The class of the query: simple, moderate or complex; None if its constraints cannot be counted."""
    count = count_constraints(text)
    if count is None:
        return None
    return COMPLEXITY_SEGMENTS[(count >= MODERATE) + (count >= COMPLEX)]


def seems_english(texts: Iterable[str]) -> bool:
    """Whether at least half of the longer queries contain a frequent English word; True without longer queries."""
    words = [set(_plain(text).split()) for text in texts]
    longer = [each for each in words if len(each) >= _LONG_ENOUGH]
    return 2 * sum(bool(each & _ENGLISH) for each in longer) >= len(longer)


def _plain(text: str) -> str:
    """The text in one form of Unicode and in lower case, with one kind of quotes and apostrophes and single spaces."""
    same = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    same = same.translate({ord("’"): "'", ord("“"): '"', ord("”"): '"', ord("„"): '"', ord("«"): '"', ord("»"): '"'})
    return " ".join(same.split())


def _marker(token: str) -> Marker | None:
    if token in (",", ";"):
        return Marker(token, "comma")
    word = token.strip("()[]{}?!.'*")
    if _FILTER.fullmatch(word):
        return Marker(token, "filter")
    if any(char.isdigit() for char in word):
        return Marker(token, "number")
    if word in NEGATIONS or word.endswith(("n't", "-free")) or re.match(r"(?:non)?-[^\W\d_]", word):
        return Marker(token, "negation")
    if word in COMPARISONS:
        return Marker(token, "comparison")
    return Marker(token, "joining word") if word.removesuffix(":") in JOINING_WORDS else None
