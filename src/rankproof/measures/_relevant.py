"""Relevant documents found, and the parts of measures that are sums over documents."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from rankproof._align.hits import Hits, JudgedQueries
from rankproof._data.arrays import FloatArray, IntArray, read_only

_Owner = TypeVar("_Owner")
_Rest = ParamSpec("_Rest")
_Value = TypeVar("_Value")


_CACHES: list[WeakKeyDictionary[Any, Any]] = []


def forget(owner: Hits) -> None:
    """Frees what was computed from these hits."""
    for cache in _CACHES:
        cache.pop(owner, None)


def cached_on(function: Callable[Concatenate[_Owner, _Rest], _Value]) -> Callable[Concatenate[_Owner, _Rest], _Value]:
    """The function with a cache: one value for each first argument, kept as long as that lives, and each of the others."""
    # Weak, as hits and judgements are large, and compared by identity: several measures of one evaluation share what is computed.
    cache: WeakKeyDictionary[_Owner, dict[object, _Value]] = WeakKeyDictionary()
    _CACHES.append(cache)

    @wraps(function)
    def cached(owner: _Owner, /, *args: _Rest.args, **named: _Rest.kwargs) -> _Value:
        known = cache.setdefault(owner, {})
        key = (args, tuple(named.items()))
        if key not in known:
            known[key] = function(owner, *args, **named)
        return known[key]

    return cached


class RelevantFound(NamedTuple):
    """The relevant documents that a run found, by query and rank.

    `at` are their indexes among the hits, `query_index` their queries, `nth` their numbers within the query from 1, and `total`
    the number of relevant documents of each query.
    """

    at: IntArray
    query_index: IntArray
    ranks: IntArray
    nth: IntArray
    total: IntArray

    def count_within(self, depth: int) -> IntArray:
        """How many of each query are within the first `depth` ranks."""
        return np.bincount(self.query_index[self.ranks <= depth], minlength=len(self.total))

    def at_within(self, depth: int) -> IntArray:
        """The indexes among the hits of those within the first `depth` ranks."""
        return self.at[self.ranks <= depth]

    def sum_by_query(self, terms: FloatArray) -> FloatArray:
        """Each query's sum of terms, one for each document found."""
        return sum_by_query(self.query_index, terms, len(self.total))


def sum_by_query(query_index: IntArray, terms: FloatArray, queries: int) -> FloatArray:
    """Each query's sum of its terms, added in their order."""
    return np.asarray(np.bincount(query_index, terms, queries), np.float64)


@cached_on
def relevant_found(hits: Hits, rel: int) -> RelevantFound:
    """The documents of grade rel or more in the run."""
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
    """The number of relevant documents of each query."""
    return read_only(judged.relevant(rel))


def running_sums(terms: FloatArray, counts: IntArray) -> FloatArray:
    """For each term, the sum of its query's terms up to it, added in their order; `counts` are the terms of each query.

    All queries advance together, one term a step, longest first, so that no sum depends on another query.
    """
    sums = terms.astype(np.float64)
    longest = np.argsort(-counts, kind="stable")
    at = (np.cumsum(counts) - counts)[longest]
    lengths = counts[longest]
    for step in range(1, int(lengths[0]) if len(lengths) else 0):
        at = at[: np.searchsorted(-lengths, -step)] + 1
        sums[at] += sums[at - 1]
    return sums


def ratio(numerator: IntArray | FloatArray, denominator: IntArray | FloatArray) -> FloatArray:
    """Numerator divided by denominator, 0 where the denominator is 0."""
    return np.divide(numerator, denominator, out=np.zeros(len(denominator)), where=denominator != 0)


class NonrelevantAbove(NamedTuple):
    """For each relevant document found: how many documents above it are judged non-relevant, and how many are in the qrels."""

    nonrelevant: IntArray
    pooled: IntArray


@cached_on
def nonrelevant_above(hits: Hits, rel: int) -> NonrelevantAbove:
    """Counts above each document of grade rel or more; a grade below 0 is in the pool but not judged."""
    nonrelevant = (hits.grades >= 0) & (hits.grades < rel)
    so_far = np.concatenate(([0], np.cumsum(nonrelevant)))
    relevant = np.flatnonzero(hits.grades >= rel)
    starts = hits.offsets[:-1][hits.query_index[relevant]]
    return NonrelevantAbove(read_only(so_far[relevant] - so_far[starts]), read_only(relevant - starts))


class SumParts(NamedTuple):
    """The hits that count, by their indexes in `hits`, in the order in which they are added.

    A term is gain x discount. A query's value is scale x its sum of terms / its denominator, 0 where the denominator is 0.
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


class Ideal(NamedTuple):
    """The ideal ranking: for each entry its query, its rank, and its index `at` among the judged grades."""

    judged: JudgedQueries
    query_index: IntArray
    ranks: IntArray
    at: IntArray
    gain: FloatArray
    terms: FloatArray

    def sums(self) -> FloatArray:
        """Each query's sum of terms."""
        return sum_by_query(self.query_index, self.terms, len(self.judged.queries))


def equal_parts(hits: Hits, at: IntArray, denominator: FloatArray | IntArray, gain: float = 1.0) -> SumParts:
    """Parts of documents that each add the same, whatever their rank."""
    ones = np.ones(len(at))
    gains = ones if gain == 1 else gain * ones
    return SumParts(hits, at, gain=gains, discount=ones, terms=gains, denominator=denominator)
