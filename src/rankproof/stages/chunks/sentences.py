"""Where sentences begin, by rules: full stops of many scripts, but not those of abbreviations, initials and decimals.

A text in a script without such marks, Thai for instance, is one sentence to its end or the next blank line.
"""

from __future__ import annotations

import re
from itertools import pairwise

_CLOSING = "\"'”’»›)]}」』）】》〉"
_OPENING = "\"'“‘«‹„‚([{¿¡「『（【《〈"
_MARKS = re.escape(".!?…।॥؟۔։።፧។៕။")
_WIDE = "。！？｡"
_CLOSED = f"[{re.escape(_CLOSING)}]*+"
# Each way begins where a run of its characters begins, and takes the run whole: the time is that of reading the text once.
_END = re.compile(
    rf"(?:(?<![{_WIDE}])[{_WIDE}]++{_CLOSED}\s*+"
    rf"|(?<![{_MARKS}])(?P<mark>[{_MARKS}]++){_CLOSED}\s++"
    r"|(?<!\s)[^\S\n]*+\n[^\S\n]*+\n\s*+)(?=\S)"
)
_BLANK_LINE = re.compile(r"\n[^\S\n]*+\n")
_LAST_WORD = re.compile(r"(?:[^\W\d_]\.)*[^\W\d_]+\Z")
_LONGEST_SHORT_FORM = 8
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
    """The place of each sentence's first character that is not blank; none where all is blank."""
    first = len(text) - len(text.lstrip())
    starts = [first] if first < len(text) else []
    return starts + [found.end() for found in _END.finditer(text, first) if _ends(text, found)]


def sentences(text: str) -> list[str]:
    """The sentences without the blanks around them."""
    return [text[start:end].strip() for start, end in pairwise([*sentence_starts(text), len(text)])]


def _ends(text: str, found: re.Match[str]) -> bool:
    """Whether a sentence ends there: a mark that goes on in lower case, or is part of a short form, ends none."""
    if found["mark"] is None or _BLANK_LINE.search(found[0]):
        return True
    follows = text[found.end() : found.end() + 2].lstrip(_OPENING)[:1]
    if follows.islower():
        return False
    before = text[max(found.start() - _LONGEST_SHORT_FORM, 0) : found.start()]
    return found["mark"] != "." or not _is_short_form(before, follows)


def _is_short_form(before: str, follows: str) -> bool:
    """Whether it ends in an abbreviation that a name or number follows, or in initials: U.S, J. but not I."""
    word = _LAST_WORD.search(before)
    if word is None:
        return False
    letters = word[0].split(".")
    initials = word[0].isupper() and all(len(letter) == 1 for letter in letters) and letters != ["I"]
    return initials or word[0].lower() in (_BEFORE_NUMBERS if follows.isdigit() else _BEFORE_NAMES)
