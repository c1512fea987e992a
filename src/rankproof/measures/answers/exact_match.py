"""EM: whether the answer is a reference."""

from __future__ import annotations

from .base import TextMeasure
from .normalised import normalised


class ExactMatch(TextMeasure):
    """1 where answer and reference are the same once they are normalised."""

    name = "EM"
    title = "Exact match"
    definition = (
        "1 if the answer equals a reference in lower case, without punctuation, articles and extra blanks, else 0;"
        " 1 for abstaining where there is no answer."
    )
    source = "Rajpurkar et al. 2016 and 2018 (SQuAD)"

    def score(self, answer: str, reference: str) -> float:
        return float(normalised(answer) == normalised(reference))


EM = ExactMatch()
