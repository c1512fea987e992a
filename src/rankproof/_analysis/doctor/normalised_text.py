"""Texts and ids in a form that forgets what readers do not see."""

from __future__ import annotations

import re
import unicodedata

_WORD = re.compile(r"\w+")
_ZEROS = re.compile(r"(?<![0-9])0+(?=[0-9])")


def normalised_text(text: str) -> str:
    """Equal for texts that differ by case, blanks and Unicode form only."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def words_of(text: str) -> list[str]:
    """The words, in lower case, without punctuation."""
    return _WORD.findall(normalised_text(text))


def normalised_id(name: str) -> str:
    """Equal for ids that differ by case, blanks and Unicode form only."""
    return "".join(unicodedata.normalize("NFKC", name).casefold().split())


def normalised_id_or_number(name: str) -> str:
    """Also equal where a number's leading zeros are all that differs."""
    return _ZEROS.sub("", normalised_id(name))
