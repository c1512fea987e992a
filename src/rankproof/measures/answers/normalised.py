"""Answers as SQuAD compares them: lower case, without punctuation and English articles, blanks as one.

Two things are ours: accents are composed first (NFC), and in scripts without blanks every character is a word, without their own
punctuation.
"""

from __future__ import annotations

import re
import string
import unicodedata

from ...data.scripts import spaced

_BLOCKS = ((0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x3000, 0x30FF), (0xFE30, 0xFE4F), (0xFF00, 0xFFEF))
"""Where the punctuation of scripts without blanks stands."""
_FOREIGN = "".join(
    chr(code) for first, last in _BLOCKS for code in range(first, last + 1) if unicodedata.category(chr(code)).startswith("P")
)
_PUNCTUATION = str.maketrans(dict.fromkeys(string.punctuation, "") | dict.fromkeys(_FOREIGN, " "))
_ARTICLES = re.compile(r"\b(a|an|the)\b", re.UNICODE)


def lowered(text: str) -> str:
    """The text composed and in lower case, so that it does not matter how an accent is stored."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).lower())


def normalised(text: str) -> str:
    """The text as SQuAD's official script compares it (Rajpurkar et al. 2016), apart from what the module says."""
    return " ".join(spaced(_ARTICLES.sub(" ", lowered(text).translate(_PUNCTUATION))).split())
