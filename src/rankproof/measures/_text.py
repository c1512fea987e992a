"""Measures whose value is a text, which only `eval` shows: relstring and runid of trec_eval."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, NamedTuple

import numpy as np

from rankproof._align.hits import Hits
from rankproof._data.arrays import FloatArray
from rankproof._registry import Option
from rankproof.measures._base import Advice, Measure


class TextResult(NamedTuple):
    """The text of each query, and the text of the whole run; empty where the measure has none."""

    per_query: Mapping[str, str]
    summary: str


class StringMeasure(Measure):
    """A measure whose value is a text: it has no number, so it is never averaged or compared."""

    family = "judgements"
    kind = "text"
    range = (math.nan, math.nan)
    higher_is_better: ClassVar[bool | None] = None

    @abstractmethod
    def texts(self, hits: Hits) -> TextResult:
        """The texts of a run."""

    def values(self, hits: Hits) -> FloatArray:
        return np.full(len(hits.queries), math.nan)


@dataclass(frozen=True, kw_only=True, repr=False)
class RelevanceString(StringMeasure):
    """The grades of the first documents as a string."""

    length: Annotated[int, Option("number of documents", least=1)] = 10
    name = "relstring"
    title = "Grades of the first documents"
    definition = (
        "One character for each of the first documents: its grade, > above 9, - if it is not in the qrels, and . if its grade is"
        " below 0."
    )
    source = "trec_eval relstring"
    parity = "trec_eval"
    advice = Advice("checking", "you look at single queries.", "you need a number.")
    suffix: ClassVar[str | None] = "length"

    def texts(self, hits: Hits) -> TextResult:
        rows = [["-"] * min(self.length, shown) for shown in hits.retrieved.tolist()]
        top = np.flatnonzero(hits.ranks <= self.length)
        for query, rank, grade in zip(
            *(column[top].tolist() for column in (hits.query_index, hits.ranks, hits.grades)), strict=True
        ):
            rows[query][rank - 1] = "." if grade < 0 else ">" if grade > 9 else str(grade)
        return TextResult({query: "".join(row) for query, row in zip(hits.queries, rows, strict=True)}, "")


relstring = RelevanceString()


class RunId(StringMeasure):
    """The tag of the run."""

    name = "runid"
    title = "Tag of the run"
    definition = "The last column of the last row of the run; the name of the system for runs without tags."
    source = "trec_eval runid"
    parity = "trec_eval"
    advice = Advice("checking", "a script reads the output of trec_eval and expects the tag.", "you need a number.")

    def texts(self, hits: Hits) -> TextResult:
        words = hits.alignment_counts.tags[-1].split() if hits.alignment_counts.tags else []
        return TextResult({}, words[0] if words else "")


runid = RunId()
