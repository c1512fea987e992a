"""Measures of an answer's text against a reference."""

from __future__ import annotations

import re
from collections.abc import Collection

_PUNCTUATION = re.compile(r"[^\w\s]")


def token_set_f1(answer: str, reference: str, *, stop_words: Collection[str] = ()) -> float:
    """F1(tokens='set'): 2 |common| / (|answer| + |reference|) over sets of words, 0 where either set is empty."""
    ours, theirs = _words(answer, stop_words), _words(reference, stop_words)
    return 2 * len(ours & theirs) / (len(ours) + len(theirs)) if ours and theirs else 0.0


def _words(text: str, stop_words: Collection[str]) -> set[str]:
    """Words in lower case without punctuation; articles stay unless they are among the stop words."""
    return set(_PUNCTUATION.sub("", text.lower()).split()).difference(stop_words)
