"""The shelf of the measures of answers, which are loaded when one is taken: rankings are evaluated without them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .answers import AnswerMeasure

_NAMES = ("EM", "F1", "Contains", "ROUGE-L", "Similarity", "CiteP", "CiteR")


class AnswerShelf(Mapping[str, "AnswerMeasure"]):
    """The measures of answers by name, in the order of the page of measures."""

    def __getitem__(self, name: str) -> AnswerMeasure:
        if name not in _NAMES:
            raise KeyError(name)
        return _measures()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(_NAMES)

    def __len__(self) -> int:
        return len(_NAMES)


@cache
def _measures() -> dict[str, AnswerMeasure]:
    from .answers import EM, ROUGE_L, AnswerF1, CiteP, CiteR, Contains, Similarity

    return {measure.name: measure for measure in (EM, AnswerF1, Contains, ROUGE_L, Similarity, CiteP, CiteR)}
