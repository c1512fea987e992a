"""Contains: whether a reference stands in the answer."""

from __future__ import annotations

from .base import TextMeasure
from .normalised import normalised


class ReferenceContained(TextMeasure):
    """1 where the words of a reference stand in the answer, next to each other and in their order."""

    name = "Contains"
    title = "Reference contained"
    definition = (
        "1 if a reference, normalised as for EM, stands in the answer as whole words, else 0"
        " (characters in scripts without blanks);"
        " 1 for abstaining where there is no answer."
    )
    source = "common in open-domain question answering, as in Asai et al. 2023 (match)"

    def score(self, answer: str, reference: str) -> float:
        said, wanted = normalised(answer), normalised(reference)
        return float(f" {wanted} " in f" {said} ") if wanted else float(not said)


Contains = ReferenceContained()
