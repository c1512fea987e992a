"""Subtopics that documents cover: those that a run finds, and the ideal ranking of a diversity task."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rankproof._align.hits import Hits, JudgedQueries
from rankproof._align.judged_documents import JudgedDocuments, SubtopicGrades
from rankproof._data.arrays import FloatArray, IntArray, list_numbers, list_places, read_only, repeat_each
from rankproof.errors import InputError
from rankproof.measures._relevant import cached_on


class RelevantSubtopics(NamedTuple):
    """The relevant pairs of a document and a subtopic: those of document i are starts[i] to starts[i + 1].

    `totals` are the relevant documents of each subtopic, `counts` the subtopics of each query with a relevant document.
    """

    starts: IntArray
    subtopics: IntArray
    totals: IntArray
    counts: IntArray


@cached_on
def relevant_subtopics(judged: JudgedQueries, rel: int) -> RelevantSubtopics:
    """The pairs of grade rel or more."""
    documents, table = _judged_for_subtopics(judged)
    kept = table.grades >= rel
    starts = np.searchsorted(table.documents[kept], np.arange(len(documents.ids) + 1))
    totals = np.bincount(table.subtopics[kept], minlength=len(table.names))
    covered = np.concatenate(([0], np.cumsum(totals > 0)))
    return RelevantSubtopics(starts, table.subtopics[kept], totals, read_only(np.diff(covered[table.offsets])))


def _judged_for_subtopics(judged: JudgedQueries) -> tuple[JudgedDocuments, SubtopicGrades]:
    documents = judged.documents
    if documents is None or documents.subtopics is None:
        fix = "use TREC qrels whose second column has two or more subtopics, a column subtopic, or Qrels.from_subtopics in Python"
        raise InputError("the judgements have no subtopics, which measures of diversity need", fix=fix, source=judged.source)
    return documents, documents.subtopics


class SubtopicsFound(NamedTuple):
    """The relevant pairs of a hit and a subtopic, by query and rank: the hit, the subtopic, and how often it was found so far."""

    at: IntArray
    subtopics: IntArray
    nth: IntArray


@cached_on
def subtopics_found(hits: Hits, rel: int) -> SubtopicsFound:
    """The pairs of grade rel or more in the run."""
    relevant = relevant_subtopics(hits.judged, rel)
    documents, _ = _judged_for_subtopics(hits.judged)
    assert hits.codes is not None, "hits of judgements with documents have codes"
    document_index = documents.offsets[hits.query_index] + hits.codes
    sizes = relevant.starts[document_index + 1] - relevant.starts[document_index]
    at = list_numbers(sizes)
    rows = list_places(sizes) + relevant.starts[document_index][at]
    subtopics = relevant.subtopics[rows]
    order = np.argsort(subtopics, kind="stable")
    begins = np.flatnonzero(np.diff(subtopics[order], prepend=-1))
    nth = np.empty_like(at)
    nth[order] = 1 + list_places(np.diff(begins, append=len(order)))
    return SubtopicsFound(read_only(at), read_only(subtopics), read_only(nth))


_USUAL_DEPTH = 20
# Subtopics of a query that fit the bits of an int64.
_MASK_BITS = 62
# 46 bits of a gain and 16 bits of a number of subtopics: their sum fits an int64.
_GAIN_BITS, _MOST_SUBTOPICS = 46, 1 << 16


def ideal_gains(judged: JudgedQueries, rel: int, alpha: float, depth: int) -> FloatArray:
    """For each query and rank up to `depth`, the gain of the ideal ranking: the sum of (1 - alpha)^n over subtopics.

    The ranking is greedy: at each rank the document with the largest gain, of those with the same gain the larger id.
    """
    return _greedy_gains(judged, rel, alpha, usual=depth <= _USUAL_DEPTH)[:, :depth]


class _Groups(NamedTuple):
    """Documents of a query that cover the same subtopics, by query.

    The documents of group i are documents[starts[i] : starts[i + 1]], largest id first. `pairs` are the subtopics of each group,
    from pair_starts[i].
    """

    queries: IntArray
    documents: IntArray
    starts: IntArray
    pairs: IntArray
    pair_starts: IntArray


def _groups(judged: JudgedQueries, rel: int) -> _Groups:
    documents, table = _judged_for_subtopics(judged)
    relevant = relevant_subtopics(judged, rel)
    sizes = np.diff(relevant.starts)
    covering = np.flatnonzero(sizes)
    owners = np.searchsorted(documents.offsets, covering, side="right") - 1
    masks = _masks(relevant, covering, table.offsets, owners)
    order = np.lexsort((covering, masks, owners))
    begins = np.flatnonzero((np.diff(owners[order], prepend=-1) != 0) | (np.diff(masks[order], prepend=-1) != 0))
    first = covering[order][begins]
    lengths = sizes[first]
    pair_starts = np.cumsum(lengths) - lengths
    rows = list_places(lengths) + repeat_each(relevant.starts[first], lengths)
    starts = np.append(begins, len(order))
    return _Groups(owners[order][begins], covering[order], starts, relevant.subtopics[rows], pair_starts)


def _masks(relevant: RelevantSubtopics, covering: IntArray, offsets: IntArray, owners: IntArray) -> IntArray:
    """The subtopics of each document as bits; a number of its own for each where a query has too many subtopics."""
    if not len(covering) or np.diff(offsets).max() > _MASK_BITS:
        return np.arange(len(covering))
    sizes = np.diff(relevant.starts)[covering]
    bits = np.int64(1) << (relevant.subtopics - repeat_each(offsets[owners], sizes))
    return np.bitwise_or.reduceat(bits, relevant.starts[covering])


@cached_on
def _greedy_gains(judged: JudgedQueries, rel: int, alpha: float, *, usual: bool) -> FloatArray:
    """The gains of the ideal ranking, all queries one rank at a time.

    Gains are compared as whole numbers of 2^-46, so that sums of the same terms are equal in any order.
    """
    groups = _groups(judged, rel)
    sizes, queries = np.diff(groups.starts), len(judged.queries)
    longest = int(np.bincount(groups.queries, sizes, 1).max()) if len(sizes) else 0
    steps = min(longest, _USUAL_DEPTH) if usual else longest
    powers = (1.0 - alpha) ** np.arange(steps + 1.0)
    compared = np.rint(powers * 2.0**_GAIN_BITS).astype(np.int64)
    gains = np.zeros((queries, steps))
    taken, seen = np.zeros_like(sizes), np.zeros(groups.pairs.max(initial=-1) + 1, dtype=np.int64)
    members = np.diff(groups.pair_starts, append=len(groups.pairs))
    if members.max(initial=0) > _MOST_SUBTOPICS:
        fix = "check the column of subtopics"
        raise InputError(f"a document covers more than {_MOST_SUBTOPICS} subtopics", fix=fix, source=judged.source)
    query_starts = np.flatnonzero(np.diff(groups.queries, prepend=-1))
    per_query = np.diff(query_starts, append=len(sizes))
    for step in range(steps):
        times = seen[groups.pairs]
        worth = np.add.reduceat(compared[times], groups.pair_starts)
        worth[taken >= sizes] = -1
        best = repeat_each(np.maximum.reduceat(worth, query_starts), per_query)
        head = groups.documents[np.minimum(groups.starts[:-1] + taken, len(groups.documents) - 1)]
        head = np.where((worth == best) & (worth > 0), head, len(judged.grades))
        chosen = (head == repeat_each(np.minimum.reduceat(head, query_starts), per_query)) & (head < len(judged.grades))
        if not chosen.any():
            break
        gains[groups.queries[chosen], step] = np.add.reduceat(powers[times], groups.pair_starts)[chosen]
        taken += chosen
        seen[groups.pairs[repeat_each(chosen, members)]] += 1
    return read_only(gains)
