"""`ShownDocuments`: the impressions of a log by query and document, and what rankings that were not shown share with them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from rankproof._data.arrays import BoolArray, FloatArray, distinct_numbers
from rankproof._importers.search_log.columns import list_chunks
from rankproof._importers.search_log.log import SearchLog
from rankproof._importers.ubi_log import normalised_query
from rankproof._statistics.position_bias import Codes, RankedClicks

Places = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ShownDocuments:
    """The sessions of a log that show documents for a known query, and a row per document shown.

    `query`, `user`, `variant` and `lengths`, the number of documents, are per session. `cell` and `clicked` are per document
    shown; a cell is a pair of a query and a document at one rank. `keys` are the pairs as query times the number of documents
    plus the document, `cell_pair` and `cell_rank` the pair and the rank (from 0) of each cell, in order.
    """

    log: SearchLog
    query: Codes
    user: Codes
    variant: Codes
    lengths: Places
    cell: Codes
    clicked: BoolArray
    cell_pair: Codes
    cell_rank: Codes
    keys: Places

    @classmethod
    def of(cls, log: SearchLog, actions: Sequence[str]) -> ShownDocuments:
        """The impressions of the log; these actions are clicks."""
        sessions, events = log.sessions, log.clicks(actions)
        clicked = np.zeros(len(sessions.docs), dtype=bool)
        on_slot = events.slot > 0
        clicked[sessions.offsets[events.session[on_slot]] + events.slot[on_slot] - 1] = True
        counted = (sessions.query >= 0) & (sessions.lengths > 0)
        rows = np.repeat(counted, sessions.lengths)
        width, docs = max(int(sessions.ranks.max(initial=1)), 1), len(log.docs)

        def cells() -> Iterator[Places]:
            for part in list_chunks(len(counted)):
                shown = slice(int(sessions.offsets[part.start]), int(sessions.offsets[part.stop]))
                query = np.repeat(sessions.query[part].astype(np.int64), sessions.lengths[part])
                rank = np.maximum(sessions.ranks[shown].astype(np.int64) - 1, 0)
                yield ((query * docs + sessions.docs[shown]) * width + rank)[rows[shown]]

        keys = distinct_numbers(cells())
        cell, start = np.empty(int(np.count_nonzero(rows)), dtype=np.int32), 0
        for part in cells():
            cell[start : start + len(part)] = np.searchsorted(keys, part)
            start += len(part)
        rank = (keys % width).astype(np.int32)
        keys //= width
        is_first = np.diff(keys, prepend=-1) > 0
        pairs, pair = keys[is_first], (np.cumsum(is_first) - 1).astype(np.int32)
        user = np.unique(sessions.user[counted], return_inverse=True)[1].astype(np.int32)
        query, variant, lengths = sessions.query[counted], sessions.variant[counted], sessions.lengths[counted]
        return cls(log.without_rows(), query, user, variant, lengths, cell, clicked[rows], pair, rank, pairs)

    @cached_property
    def traffic(self) -> FloatArray:
        """The number of sessions of each query."""
        return np.bincount(self.query, minlength=len(self.log.queries)).astype(np.float64)

    @cached_property
    def depth(self) -> Places:
        """The number of ranks that the longest list of each query has."""
        deepest = np.zeros(len(self.log.queries), dtype=np.int64)
        np.maximum.at(deepest, self.query_of_pair[self.cell_pair], self.cell_rank + 1)
        return deepest

    @cached_property
    def query_of_pair(self) -> Places:
        """The query of each pair."""
        return self.keys // len(self.log.docs)

    @cached_property
    def clicks(self) -> FloatArray:
        """The clicks in each session."""
        return self.sums(self.clicked)

    def sums(self, items: BoolArray) -> FloatArray:
        """The number of these documents by session."""
        ends = np.cumsum(self.lengths)
        at = np.searchsorted(ends, np.flatnonzero(items), side="right")
        return np.bincount(at, minlength=len(self.lengths)).astype(np.float64)

    def blocks(self) -> Iterator[tuple[slice, slice]]:
        """Parts of the sessions, each with its part of the documents shown: numbers for all of these take much memory."""
        ends = np.cumsum(self.lengths)
        for part in list_chunks(len(self.lengths)):
            yield part, slice(int(ends[part.start - 1]) if part.start else 0, int(ends[part.stop - 1]))

    @cached_property
    def cells(self) -> RankedClicks:
        """Impressions and clicks of each pair at each rank."""
        shown, clicked = (np.zeros(len(self.cell_pair), dtype=np.int32) for _ in range(2))
        for _, rows in self.blocks():
            np.add.at(shown, self.cell[rows], 1)
            np.add.at(clicked, self.cell[rows][self.clicked[rows]], 1)
        return RankedClicks(self.cell_pair, self.cell_rank, shown, clicked)

    def cells_without(self, sessions: BoolArray) -> RankedClicks:
        """Impressions and clicks of each pair at each rank, without those of some sessions."""
        all_cells, left_out = self.cells, np.repeat(sessions, self.lengths)
        cell, count = self.cell[left_out], len(self.cell_pair)
        shown = all_cells.shown - np.bincount(cell, minlength=count)
        clicked = all_cells.clicked - np.bincount(cell[self.clicked[left_out]], minlength=count)
        kept = shown > 0
        return RankedClicks(self.cell_pair[kept], self.cell_rank[kept], shown[kept], clicked[kept])

    def target(self, rankings: Mapping[str, Sequence[str]]) -> TargetRanking:
        """Where a ranking of the queries, by their texts, has the documents; its lists are as long as the longest one shown."""
        codes = {normalised_query(text): code for code, text in enumerate(self.log.queries)}
        doc_codes = {doc: code for code, doc in enumerate(self.log.docs)}
        ranked = np.zeros(len(self.log.queries), dtype=bool)
        lengths = np.zeros(len(self.log.queries), dtype=np.int64)
        keys, ranks = list[int](), list[int]()
        for text, docs in rankings.items():
            query = codes.get(normalised_query(text))
            if query is None:
                continue
            own = docs[: int(self.depth[query])]
            ranked[query], lengths[query] = True, len(own)
            for rank, doc in enumerate(own):
                if (code := doc_codes.get(doc)) is not None:
                    keys.append(query * len(self.log.docs) + code)
                    ranks.append(rank)
        at = np.searchsorted(self.keys, np.array(keys, dtype=np.int64))
        at = np.minimum(at, max(len(self.keys) - 1, 0))
        shown = self.keys[at] == np.array(keys, dtype=np.int64)
        rank_of_pair = np.full(len(self.keys), -1, dtype=np.int64)
        rank_of_pair[at[shown]] = np.array(ranks, dtype=np.int64)[shown]
        return TargetRanking(ranked, lengths, rank_of_pair)


@dataclass(frozen=True, eq=False, slots=True)
class TargetRanking:
    """A ranking that was not shown: the queries that it ranks, the lengths of its lists, and the ranks of shown pairs."""

    ranked: BoolArray
    lengths: Places
    rank_of_pair: Places
