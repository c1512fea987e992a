"""Answers as SQuAD compares them: lower case, without ASCII punctuation and English articles, blanks as one."""

from __future__ import annotations

import re
import string

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(a|an|the)\b", re.UNICODE)


def normalised(text: str) -> str:
    """The text as SQuAD's official script compares it (Rajpurkar et al. 2016)."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())
