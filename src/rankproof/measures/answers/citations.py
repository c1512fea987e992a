"""CiteP and CiteR: whether an answer names as its sources what is relevant."""

from __future__ import annotations

from .base import AnswerMeasure, Case

_LEFT_OUT = " questions without a relevant document are left out."


class CitationPrecision(AnswerMeasure):
    """Cited and relevant, over cited."""

    name = "CiteP"
    title = "Citation precision"
    definition = f"Relevant documents among those that the answer cites, over all it cites, 0 where it cites none;{_LEFT_OUT}"
    source = "after Gao et al. 2023 (ALCE), with judgements in the place of entailment"

    def value(self, case: Case) -> float | None:
        if not case.relevant:
            return None
        cited = set(case.cited)
        return len(cited & case.relevant) / len(cited) if cited else 0.0


class CitationRecall(AnswerMeasure):
    """Cited and relevant, over relevant."""

    name = "CiteR"
    title = "Citation recall"
    definition = f"Relevant documents that the answer cites, over all relevant ones;{_LEFT_OUT}"
    source = "after Gao et al. 2023 (ALCE), with judgements in the place of entailment"

    def value(self, case: Case) -> float | None:
        return len(set(case.cited) & case.relevant) / len(case.relevant) if case.relevant else None


CiteP = CitationPrecision()
CiteR = CitationRecall()
