"""Measures of an answer's text against a reference."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

_PUNCTUATION = re.compile(r"[^\w\s]")


def token_set_f1(answer: str, reference: str, *, stop_words: Collection[str] = ()) -> float:
    """F1(tokens='set'): 2 |common| / (|answer| + |reference|) over sets of words, 0 where either set is empty."""
    return shared_words(answer, reference, stop_words=stop_words).f1


@dataclass(frozen=True, slots=True)
class SharedWords:
    """The words of an answer and of a reference."""

    answer: frozenset[str]
    reference: frozenset[str]

    @property
    def shared(self) -> frozenset[str]:
        """The words that both have."""
        return self.answer & self.reference

    @property
    def f1(self) -> float:
        """Twice the shared words over the words of both, 0 where either has none."""
        both = len(self.answer) + len(self.reference)
        return 2 * len(self.shared) / both if self.answer and self.reference else 0.0


def shared_words(answer: str, reference: str, *, stop_words: Collection[str] = ()) -> SharedWords:
    """What F1(tokens='set') looks at."""
    return SharedWords(_words(answer, stop_words), _words(reference, stop_words))


def _words(text: str, stop_words: Collection[str]) -> frozenset[str]:
    """Words in lower case without punctuation; articles stay unless they are among the stop words."""
    return frozenset(_PUNCTUATION.sub("", text.lower()).split()).difference(stop_words)
