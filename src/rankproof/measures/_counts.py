"""What describes a run and its judgements: counts of queries and documents, and the texts of trec_eval."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from rankproof._align.hits import Hits
from rankproof._data.arrays import FloatArray
from rankproof._registry import Option
from rankproof.measures._base import Advice, BinaryMeasure, FamilyName, Measure, SummedMeasure
from rankproof.measures._relevant import SumParts, equal_parts, relevant_counts, relevant_found


class CountMeasure(Measure):
    """A count, whose summary is the sum over queries."""

    family: ClassVar[FamilyName | None] = "judgements"
    range = (0.0, math.inf)
    kind = "count"
    summary = "sum"
    higher_is_better: ClassVar[bool | None] = None

    def summarise(self, values: FloatArray, weights: FloatArray | None = None) -> float:
        return math.fsum(values.tolist())


class NumberOfQueries(CountMeasure):
    """1 for each evaluated query."""

    name = "NumQ"
    title = "Number of queries"
    definition = "The number of evaluated queries (1 for each query)."
    source = "trec_eval num_q"
    parity = "trec_eval"
    aliases = ("num_q",)
    advice = Advice(
        "checking", "you compare two tables: their means must be over the same number of queries.", "you want to measure quality."
    )

    def values(self, hits: Hits) -> FloatArray:
        return np.ones(len(hits.queries))


NumQ = NumberOfQueries()


class NumberRelevant(CountMeasure, BinaryMeasure):
    """The number of relevant documents in the qrels, including queries missing from the run."""

    name = "NumRel"
    title = "Number of relevant documents"
    definition = "The number of relevant documents in the qrels, including queries missing from the run."
    source = "trec_eval num_rel"
    parity = "trec_eval"
    aliases = ("num_rel",)
    advice = Advice("checking", "you check that the judgements are the ones you expect.", "you want to measure quality.")

    def values(self, hits: Hits) -> FloatArray:
        return relevant_counts(hits.judged, self.least).astype(np.float64)


NumRel = NumberRelevant()


class NumberRelevantRetrieved(SummedMeasure, CountMeasure, BinaryMeasure):
    """The number of retrieved documents that are relevant."""

    name = "NumRelRet"
    title = "Number of relevant retrieved documents"
    definition = "The number of retrieved documents that are relevant."
    source = "trec_eval num_rel_ret"
    parity = "trec_eval"
    aliases = ("num_rel_ret",)
    advice = Advice(
        "checking",
        "you want recall as a count.",
        "a few queries have most of the relevant documents: they then dominate the sum.",
    )
    higher_is_better = True
    additive = True

    def parts(self, hits: Hits) -> SumParts:
        return equal_parts(hits, relevant_found(hits, self.least).at, np.ones(len(hits.queries)))


NumRelRet = NumberRelevantRetrieved()


class NumberNonrelevantRetrieved(CountMeasure, BinaryMeasure):
    """The number of retrieved documents that are judged and not relevant."""

    name = "NumNonrelRet"
    title = "Number of judged non-relevant retrieved documents"
    definition = "The number of retrieved documents with a grade from 0 to below rel."
    source = "trec_eval num_nonrel_judged_ret"
    parity = "trec_eval"
    aliases = ("num_nonrel_judged_ret",)
    advice = Advice(
        "checking",
        "you want to know how many of the retrieved documents are known to be wrong.",
        "you compare systems of different depth: the longer ranking retrieves more of everything.",
    )

    def values(self, hits: Hits) -> FloatArray:
        chosen = (hits.grades >= 0) & (hits.grades < self.least)
        return np.bincount(hits.query_index[chosen], minlength=len(hits.queries)).astype(np.float64)


NumNonrelRet = NumberNonrelevantRetrieved()


class NumberRetrieved(CountMeasure):
    """The number of documents retrieved; with a rel it is NumRelRet."""

    name = "NumRet"
    title = "Number of retrieved documents"
    definition = "The number of documents retrieved."
    source = "trec_eval num_ret"
    parity = "trec_eval"
    aliases = ("num_ret",)
    advice = Advice("checking", "a system may have returned fewer documents than requested.", "you want to measure quality.")

    def values(self, hits: Hits) -> FloatArray:
        return hits.retrieved.astype(np.float64)

    def __call__(self, **parameters: Any) -> Measure:
        return NumRelRet(**parameters) if parameters else self


NumRet = NumberRetrieved()


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
