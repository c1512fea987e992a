"""Measures that depend on which documents are judged: bpref, the judged and unjudged rates, and any measure with judged_only."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cache
from typing import Annotated, Any

import numpy as np

from rankproof._align.hits import Hits, JudgedQueries
from rankproof._data.arrays import FloatArray, IntArray, read_only
from rankproof._registry import Option
from rankproof.measures._average_precision import GeometricMeasure
from rankproof.measures._base import Advice, BinaryMeasure, CutoffMeasure, Measure, RandomRanking, SummedMeasure
from rankproof.measures._relevant import SumParts, cached_on, equal_parts, nonrelevant_above, relevant_found


@cached_on
def _preference_limits(judged: JudgedQueries, rel: int) -> IntArray:
    """The number of judged non-relevant documents, at most the number of relevant ones and at least 1."""
    others = judged.count((judged.grades >= 0) & (judged.grades < rel))
    return read_only(np.maximum(np.minimum(others, judged.relevant(rel)), 1))


class BinaryPreference(SummedMeasure, BinaryMeasure):
    """The share of pairs of a relevant and a judged non-relevant document that are ranked in this order."""

    name = "bpref"
    title = "Binary preference"
    family = "judgements"
    formula = "1/R Σ(relevant d) (1 - min(n(d), R) / min(N, R))"
    definition = (
        "Mean over the R relevant documents of 1 - min(n, R) / min(N, R): n of the N judged non-relevant documents are above it."
        " A relevant document that is not retrieved adds 0; unjudged documents are ignored."
    )
    source = "Buckley and Voorhees 2004; trec_eval bpref"
    parity = "trec_eval"
    advice = Advice(
        "ordering",
        "many documents are unjudged: it only looks at judged documents. The usual alternative is nDCG or AP"
        " without the unjudged documents (--judged-only).",
        "nearly all top documents are judged (use nDCG or AP), or none is judged non-relevant (bpref then equals recall).",
    )

    def parts(self, hits: Hits) -> SumParts:
        relevant = relevant_found(hits, self.least)
        above = np.minimum(nonrelevant_above(hits, self.least).nonrelevant, relevant.total[relevant.query_index])
        kept = 1.0 - above / _preference_limits(hits.judged, self.least)[relevant.query_index]
        return SumParts(hits, relevant.at, np.ones(len(kept)), kept, kept, relevant.total)


bpref = BinaryPreference()


class GeometricMeanPreference(GeometricMeasure):
    """The geometric mean of binary preference."""

    name = "GMbpref"
    title = "Geometric mean binary preference"
    family = "judgements"
    formula = "exp(mean(ln(max(bpref, 0.00001))))"
    definition = "The geometric mean of bpref over queries, with a floor of 0.00001: exp(mean(ln(max(bpref, 0.00001))))."
    source = "trec_eval gm_bpref"
    parity = "trec_eval"
    aliases = ("gm_bpref",)
    advice = Advice(
        "ordering",
        "many documents are unjudged and the worst queries matter most.",
        "many queries retrieve nothing relevant: the value then depends mostly on the floor of 0.00001."
        " rankproof compare leaves it out, because it compares arithmetic means only.",
    )

    def values(self, hits: Hits) -> FloatArray:
        return BinaryPreference(rel=self.rel).values(hits)


GMbpref = GeometricMeanPreference()


def judged_within(hits: Hits, depth: int) -> IntArray:
    """The number of judged documents (grade 0 or more) among each query's first `depth`."""
    return np.bincount(hits.query_index[_judged_mask(hits, depth)], minlength=len(hits.queries))


def _judged_mask(hits: Hits, depth: int) -> IntArray:
    return np.flatnonzero((hits.ranks <= depth) & (hits.grades >= 0))


class JudgedRate(SummedMeasure, CutoffMeasure):
    """Judged documents in the top k, divided by the documents in the top k."""

    name = "Judged"
    title = "Judged rate"
    family = "judgements"
    formula = "1/min(k, ret) Σ(i ≤ k) judged(i)"
    definition = "Judged documents in the top k, divided by min(k, retrieved); a grade below 0 counts as unjudged."
    source = "ir_measures Judged"
    advice = Advice(
        "checking",
        "you want to know whether a value can be trusted: if Judged is far below 1, many retrieved documents are unjudged.",
        "you compare systems: it does not measure quality.",
    )
    kind = "count"
    additive = True

    def parts(self, hits: Hits) -> SumParts:
        return equal_parts(hits, _judged_mask(hits, self.depth), np.minimum(hits.retrieved, self.depth))


Judged = JudgedRate()


class UnjudgedRate(CutoffMeasure):
    """Unjudged documents in the top k, divided by k."""

    name = "Unjudged"
    title = "Unjudged rate"
    family = "judgements"
    formula = "1/k Σ(i ≤ k) unjudged(i)"
    definition = (
        "Unjudged documents in the top k, divided by k even if fewer than k were retrieved; a grade below 0 counts as unjudged."
    )
    source = "trec_eval unj"
    parity = "trec_eval"
    aliases = ("unj",)
    advice = Advice(
        "checking",
        "you count unjudged documents as trec_eval does, divided by k.",
        "rankings are shorter than k: Judged@k divides by the number of retrieved documents.",
    )
    kind = "count"
    higher_is_better = False
    needs = "Unjudged@10"

    def values(self, hits: Hits) -> FloatArray:
        seen = np.minimum(hits.retrieved, self.depth)
        return np.asarray((seen - judged_within(hits, self.depth)) / float(self.depth))


Unjudged = UnjudgedRate()


def with_judged_only(measure: Measure, judged_only: object) -> Measure:
    """The measure of rankings without unjudged documents, or of whole rankings."""
    chosen = _variant(_plain(type(measure)))
    parameters = {field.name: getattr(measure, field.name) for field in fields(measure) if field.name != "judged_only"}
    made = chosen(**parameters, judged_only=judged_only)  # type: ignore[call-arg]
    return made if getattr(made, "judged_only", False) else _plain(type(measure))(**parameters)


@cached_on
def _judged_hits(hits: Hits) -> Hits:
    """The hits of the ranking without unjudged documents; the same hits if it has none."""
    return hits if len(hits.ranks) == hits.retrieved.sum() and (hits.grades >= 0).all() else hits.judged_only()


def _plain(kind: type[Measure]) -> type[Measure]:
    """The class of the measure of whole rankings."""
    return getattr(kind, "whole", kind)


# One class for each measure, so that equal measures stay equal: dataclasses compare classes by identity.
@cache
def _variant(kind: type[Measure]) -> type[Measure]:
    """The class of a measure with the parameter judged_only."""

    def values(self: Measure, hits: Hits) -> FloatArray:
        return kind.values(self, _judged_hits(hits))

    def parts(self: Measure, hits: Hits) -> SumParts | None:
        judged = _judged_hits(hits)
        own_parts = kind.parts(self, judged)
        if own_parts is None or judged is hits:
            return own_parts
        return own_parts._replace(hits=hits, at=np.flatnonzero(hits.grades >= 0)[own_parts.at])

    def chance(self: Measure, ranking: RandomRanking) -> None:
        return None

    # The class is made at run time, so that pickle cannot find it by its name.
    def reduce(self: Measure) -> tuple[Any, ...]:
        parameters = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "judged_only"}
        return with_judged_only, (kind(**parameters), True)

    members: dict[str, Any] = {
        "__module__": kind.__module__,
        "__doc__": kind.__doc__,
        "__annotations__": {"judged_only": Annotated[bool, Option("remove unjudged documents from the rankings")]},
        "__reduce__": reduce,
        "whole": kind,
        "additive": False,
        "parity": None,
        "values": values,
        "parts": parts,
        "chance": chance,
    }
    return dataclass(frozen=True, repr=False)(type(kind.__name__, (kind,), members))
