"""Similarity: how near the answer is to a reference in an encoder's space."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from ...errors import UsageError
from .base import AnswerMeasure, Case, Encode


@dataclass(frozen=True, kw_only=True, repr=False)
class AnswerSimilarity(AnswerMeasure):
    """The cosine by a named encoder, which is always written."""

    model: str = "minilm"
    name = "Similarity"
    title = "Similarity by an encoder"
    definition = (
        "The cosine of the answer's and the reference's vectors by the encoder of that name, the best over references;"
        " empty scores 0."
    )
    source = "cosine of sentence vectors, as in Reimers and Gurevych 2019"
    range = (-1.0, 1.0)

    def value(self, case: Case) -> NoReturn:
        raise UsageError(f"{self} needs an encoder", fix="pass encode, a function of a model's name and texts")

    def of_answers(self, cases: Sequence[Case], encode: Encode | None = None) -> list[float | None]:
        if encode is None:
            raise UsageError(f"{self} needs an encoder", fix="pass encode, a function of a model's name and texts")
        texts = [text for case in cases for text in (case.text, *case.references)]
        rows = iter(encode(self.model, texts)) if texts else iter(())
        found: list[float | None] = []
        for case in cases:
            answer = next(rows)
            nearest = max(float(answer @ next(rows)) for _ in case.references)
            empty = case.missing or not case.text.strip()
            found.append(0.0 if empty else min(max(nearest, -1.0), 1.0))
        return found

    def _changed(self) -> dict[str, Any]:
        return {"model": self.model}


Similarity = AnswerSimilarity()
