"""Relevant documents found, parts of a sum, per-Hits cache."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from rankproof._align.hits import Hits, JudgedQueries
from rankproof._data.arrays import FloatArray, IntArray, read_only

_Owner = TypeVar("_Owner")
_Rest = ParamSpec("_Rest")
_Value = TypeVar("_Value")


def cached_on(function: Callable[Concatenate[_Owner, _Rest], _Value]) -> Callable[Concatenate[_Owner, _Rest], _Value]:
    """The function, remembering its value for each first argument and each of the (hashable) others."""
    kept: WeakKeyDictionary[_Owner, dict[object, _Value]] = WeakKeyDictionary()

    @wraps(function)
    def remembered(owner: _Owner, /, *args: _Rest.args, **named: _Rest.kwargs) -> _Value:
        known = kept.setdefault(owner, {})
        key = (args, tuple(named.items()))
        if key not in known:
            known[key] = function(owner, *args, **named)
        return known[key]

    return remembered


@dataclass(frozen=True, eq=False, slots=True)
class RelevantFound:
    """Relevant documents by query and rank: places among the hits, owners, ranks, and which of its query each is (from 1)."""

    at: IntArray
    query_index: IntArray
    ranks: IntArray
    nth: IntArray
    total: IntArray

    def count_within(self, depth: int) -> IntArray:
        """How many of each query stand at the first `depth` ranks."""
        return np.bincount(self.query_index[self.ranks <= depth], minlength=len(self.total))

    def places_within(self, depth: int) -> IntArray:
        """The places, among the hits, of those at the first `depth` ranks."""
        return self.at[self.ranks <= depth]

    def sum_by_query(self, terms: FloatArray) -> FloatArray:
        """Each query's sum of terms, one a found document."""
        return sum_by_query(self.query_index, terms, len(self.total))


def sum_by_query(query_index: IntArray, terms: FloatArray, queries: int) -> FloatArray:
    """Each query's sum of its terms, added in their order."""
    return np.bincount(query_index, terms, queries).astype(np.float64, copy=False)


@cached_on
def relevant_found(hits: Hits, rel: int) -> RelevantFound:
    """The documents of grade rel or more that the run found."""
    relevant = np.flatnonzero(hits.grades >= rel)
    owners = hits.query_index[relevant]
    counts = np.bincount(owners, minlength=len(hits.queries))
    starts = np.cumsum(counts) - counts
    nth = np.arange(1, len(owners) + 1) - starts[owners]
    return RelevantFound(
        read_only(relevant), read_only(owners), read_only(hits.ranks[relevant]), read_only(nth), relevant_counts(hits.judged, rel)
    )


@cached_on
def relevant_counts(judged: JudgedQueries, rel: int) -> IntArray:
    """How many relevant documents each query has."""
    return read_only(judged.relevant(rel))


def ratio(part: IntArray | FloatArray, denominator: IntArray | FloatArray) -> FloatArray:
    """Part over whole, 0 where the whole is 0."""
    return np.divide(part, denominator, out=np.zeros(len(denominator)), where=denominator != 0)


@dataclass(frozen=True, eq=False, slots=True)
class NonrelevantAbove:
    """For each relevant document found: how many above it are judged not relevant, and how many are in the pool at all."""

    nonrelevant: IntArray
    pooled: IntArray


@cached_on
def nonrelevant_above(hits: Hits, rel: int) -> NonrelevantAbove:
    """Counts above each document of grade rel or more; a grade below 0 is in the pool but not judged."""
    refused = (hits.grades >= 0) & (hits.grades < rel)
    so_far = np.concatenate(([0], np.cumsum(refused)))
    relevant = np.flatnonzero(hits.grades >= rel)
    starts = hits.offsets[:-1][hits.query_index[relevant]]
    return NonrelevantAbove(read_only(so_far[relevant] - so_far[starts]), read_only(relevant - starts))


@dataclass(frozen=True, eq=False, slots=True)
class SumParts:
    """The hits that count, by their places in `hits`, in the order in which they are added.

    A term is what is added: the gain, lessened by the discount (a factor). A query's value is scale x its sum of terms / its
    whole, 0 where the whole is 0.
    """

    hits: Hits
    at: IntArray
    gain: FloatArray
    discount: FloatArray
    terms: FloatArray
    denominator: FloatArray | IntArray
    scale: float = 1.0

    def values(self) -> FloatArray:
        """The measure's value for each query."""
        sums = sum_by_query(self.hits.query_index[self.at], self.terms, len(self.hits.queries))
        return np.asarray(self.scale * ratio(sums, self.denominator))


@dataclass(frozen=True, eq=False, slots=True)
class Ideal:
    """The best list that the judgements allow: whose each entry is, its rank, and where it stands among the judged grades."""

    judged: JudgedQueries
    query_index: IntArray
    ranks: IntArray
    at: IntArray
    gain: FloatArray
    terms: FloatArray

    def sums(self) -> FloatArray:
        """The sum of each query's terms."""
        return sum_by_query(self.query_index, self.terms, len(self.judged.queries))


def equal_parts(hits: Hits, at: IntArray, denominator: FloatArray | IntArray, worth: float = 1.0) -> SumParts:
    """Parts of documents that each add the same, at whatever rank."""
    ones = np.ones(len(at))
    each = ones if worth == 1 else worth * ones
    return SumParts(hits, at, gain=each, discount=ones, terms=each, denominator=denominator)
