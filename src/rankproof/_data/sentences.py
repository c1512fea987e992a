"""Splits texts into sentences."""

from __future__ import annotations

import re
from itertools import pairwise

Span = tuple[int, int]
"""Start and end of a part of a text, in characters; the end is excluded."""

_CLOSING = "\"'”’»›)]}」』）】》〉"
_OPENING = "\"'“‘«‹„‚([{¿¡「『（【《〈"
_MARKS = re.escape(".!?…।॥؟۔։።፧។៕။")
_FULLWIDTH_MARKS = "。！？｡"
_CLOSING_MARKS = f"[{re.escape(_CLOSING)}]*+"
# Each alternative starts at a run of its characters and consumes the whole run, so the time is linear in the text.
_END = re.compile(
    rf"(?:(?<![{_FULLWIDTH_MARKS}])[{_FULLWIDTH_MARKS}]++{_CLOSING_MARKS}\s*+"
    rf"|(?<![{_MARKS}])(?P<mark>[{_MARKS}]++){_CLOSING_MARKS}\s++"
    r"|(?<!\s)[^\S\n]*+\n[^\S\n]*+\n\s*+)(?=\S)"
)
_BLANK_LINE = re.compile(r"\n[^\S\n]*+\n")
_LAST_WORD = re.compile(r"(?:[^\W\d_]\.)*[^\W\d_]+\Z")
_MAX_ABBREVIATION = 8
_BEFORE_NAMES = {
    *("mr", "mrs", "ms", "dr", "prof", "st", "rev", "hon", "gen", "col", "maj", "capt", "cmdr", "lt", "sgt", "gov", "sen", "rep"),
    *("pres", "messrs", "mme", "mlle", "mt", "ft", "vs", "viz", "cf", "al", "e.g", "i.e", "hr", "fr", "z.b", "d.h", "vgl", "bzw"),
    *("p.ej", "sra", "dra"),
}
_BEFORE_NUMBERS = {
    *("no", "nos", "nr", "vol", "vols", "fig", "figs", "eq", "eqs", "sec", "ch", "p", "pp", "ca", "approx", "bd"),
    *("jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep", "sept", "oct", "nov", "dec"),
}


def sentence_starts(text: str) -> list[int]:
    """The position of the first non-blank character of each sentence; none in a blank text."""
    first = len(text) - len(text.lstrip())
    starts = [first] if first < len(text) else []
    return starts + [found.end() for found in _END.finditer(text, first) if _is_sentence_end(text, found)]


def sentence_spans(text: str) -> list[Span]:
    """The sentences of a text, without the blanks around them."""
    starts = sentence_starts(text)
    return [(start, start + len(text[start:end].rstrip())) for start, end in pairwise([*starts, len(text)])]


def sentences(text: str) -> list[str]:
    """The sentences of a text, stripped."""
    return [text[start:end] for start, end in sentence_spans(text)]


def _is_sentence_end(text: str, found: re.Match[str]) -> bool:
    """Whether a sentence ends there: not before lower case, and not after an abbreviation."""
    if found["mark"] is None or _BLANK_LINE.search(found[0]):
        return True
    follows = text[found.end() : found.end() + 2].lstrip(_OPENING)[:1]
    if follows.islower():
        return False
    before = text[max(found.start() - _MAX_ABBREVIATION, 0) : found.start()]
    return found["mark"] != "." or not _is_abbreviation(before, follows)


def _is_abbreviation(before: str, follows: str) -> bool:
    """Whether the text ends in an abbreviation before a name or number, or in initials: U.S, J, but not I."""
    word = _LAST_WORD.search(before)
    if word is None:
        return False
    letters = word[0].split(".")
    initials = word[0].isupper() and all(len(letter) == 1 for letter in letters) and letters != ["I"]
    return initials or word[0].lower() in (_BEFORE_NUMBERS if follows.isdigit() else _BEFORE_NAMES)
