"""The evidence behind an answer: the relevant documents that all searches for it found together."""

from __future__ import annotations

from collections.abc import Sequence

from rankproof.measures._answers import AnswerCase, AnswerMeasure, Encode
from rankproof.measures._base import Advice


class EvidenceRecall(AnswerMeasure):
    """Relevant documents that were found for an answer, divided by all relevant documents."""

    name = "Evidence"
    title = "Evidence of all searches"
    formula = "relevant documents that the searches for the answer returned together / relevant documents"
    definition = (
        "The searches of an agent for one answer count together; of an answer without logged searches, its contexts do."
        " Questions without a relevant document are left out."
    )
    source = "recall of the union of several rankings"
    advice = Advice(
        "answering",
        "an agent searches as often as it likes: it says what a search tool finds, whatever the agent writes.",
        "calls cost much: it does not count them.",
    )
    with_reference = False

    def value(self, case: AnswerCase) -> float | None:
        if not case.relevant or case.searched is None:
            return None
        return len(case.relevant & case.searched) / len(case.relevant)

    def answer_values(self, cases: Sequence[AnswerCase], encode: Encode | None = None) -> list[float | None]:
        # What was found counts also if no answer was written from it.
        values = zip(map(self.value, cases), cases, strict=True)
        return [0.0 if value is None and case.relevant and case.state == "missing" else value for value, case in values]


Evidence = EvidenceRecall()
