"""F1 of the words that an answer and a reference share, over sets or over bags of words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, fields
from typing import Any, Literal

from ...data.scripts import spaced
from .base import TextMeasure, is_silent
from .normalised import lowered, normalised

Tokens = Literal["bag", "set"]
StopWords = Literal["none", "english"]
_PUNCTUATION = re.compile(r"[^\w\s]")
STOP_WORDS: dict[StopWords, frozenset[str]] = {
    "none": frozenset(),
    # Lucene's default English list.
    "english": frozenset(
        {
            *("a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is", "it", "no", "not"),
            *("of", "on", "or", "such", "that", "the", "their", "then", "there", "these", "they", "this", "to", "was"),
            *("will", "with"),
        }
    ),
}


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


def token_set_f1(answer: str, reference: str, *, stop_words: Collection[str] = ()) -> float:
    """F1(tokens='set'): 2 |common| / (|answer| + |reference|) over sets of words, 0 where either set is empty."""
    return shared_words(answer, reference, stop_words=stop_words).f1


def token_bag_f1(answer: str, reference: str, *, stop_words: Collection[str] = ()) -> float:
    """F1(tokens='bag'): the same over words as often as they stand there; 1 where both are empty, 0 where one is."""
    said, wanted = (word_bag(text, stop_words) for text in (answer, reference))
    both = said.total() + wanted.total()
    return 2 * (said & wanted).total() / both if both else float(is_silent(answer) == is_silent(reference))


def _words(text: str, stop_words: Collection[str]) -> frozenset[str]:
    """Words in lower case without punctuation; articles stay unless they are among the stop words."""
    return frozenset(_PUNCTUATION.sub("", spaced(lowered(text))).split()).difference(stop_words)


def word_bag(text: str, stop_words: Collection[str] = ()) -> Counter[str]:
    """What F1(tokens='bag') looks at: the normalised words, as often as they stand there."""
    return Counter(word for word in normalised(text).split() if word not in stop_words)


@dataclass(frozen=True, kw_only=True, repr=False)
class WordF1(TextMeasure):
    """Shared words, over the words of both; which words is always written."""

    tokens: Tokens = "bag"
    stop_words: StopWords = "none"
    name = "F1"
    title = "F1 of an answer's words"
    definition = (
        "2 shared / (words of the answer + words of the reference), the best over references. 'bag': words normalised as for EM,"
        " counted as often as they stand there; empty against empty is 1. 'set': distinct words in lower case without"
        " punctuation, articles kept; empty scores 0. stop_words='english' leaves out Lucene's list."
        " In scripts without blanks every character is a word."
    )
    source = "'bag': Rajpurkar et al. 2016 (SQuAD)"

    def score(self, answer: str, reference: str) -> float:
        f1 = token_set_f1 if self.tokens == "set" else token_bag_f1
        return f1(answer, reference, stop_words=STOP_WORDS[self.stop_words])

    def _changed(self) -> dict[str, Any]:
        first, *_ = fields(self)
        return {first.name: self.tokens, **super()._changed()}


AnswerF1 = WordF1()
