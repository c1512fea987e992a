"""ROUGE-L: the longest run of words, gaps allowed, that answer and reference share in order."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...data.scripts import spaced
from .base import TextMeasure
from .normalised import lowered

_WORD = re.compile(r"[^\W_]+")


def longest_common(one: Sequence[str], other: Sequence[str]) -> int:
    """The length of the longest common subsequence, by bits (Hyyrö 2004): a 0 stands for each word that was matched."""
    places: dict[str, int] = {}
    for at, word in enumerate(one):
        places[word] = places.get(word, 0) | 1 << at
    every = (1 << len(one)) - 1
    row = every
    for word in other:
        met = row & places.get(word, 0)
        row = (row + met | row - met) & every
    return len(one) - row.bit_count()


def rouge_words(text: str) -> list[str]:
    """What ROUGE-L looks at: words in lower case, articles too."""
    return _WORD.findall(spaced(lowered(text)))


class RougeL(TextMeasure):
    """The F-measure of the longest common subsequence."""

    name = "ROUGE-L"
    title = "ROUGE-L"
    definition = (
        "2 lcs / (words of the answer + words of the reference), with lcs the longest common subsequence of their words in lower"
        " case, without stemming; empty scores 0. In scripts without blanks every character is a word."
    )
    source = "Lin 2004; on ASCII text as rouge-score's rougeL fmeasure with use_stemmer=False"

    def score(self, answer: str, reference: str) -> float:
        said, wanted = (rouge_words(text) for text in (answer, reference))
        return 2 * longest_common(said, wanted) / (len(said) + len(wanted)) if said and wanted else 0.0


ROUGE_L = RougeL()
