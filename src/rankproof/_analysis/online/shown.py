"""`ShownDocuments`: the impressions of a log by query and document, and what rankings that were not shown share with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from rankproof._data.arrays import BoolArray, FloatArray
from rankproof._importers.search_log.log import SearchLog
from rankproof._importers.ubi_log import normalised_query
from rankproof._statistics.position_bias import RankedClicks

Places = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ShownDocuments:
    """The sessions of a log that show documents for a known query, and a row per document shown.

    `query`, `user` and `variant` are per session; `session`, `pair` (a query with a document), `rank` (from 0) and `clicked` per
    document shown; `keys` are the pairs as query times the number of documents plus the document.
    """

    log: SearchLog
    query: Places
    user: Places
    variant: Places
    session: Places
    pair: Places
    rank: Places
    clicked: BoolArray
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
        number = np.cumsum(counted) - 1
        session = np.repeat(number, sessions.lengths)[rows]
        query = sessions.query[counted].astype(np.int64)
        keys, pair = np.unique(query[session] * len(log.docs) + sessions.docs[rows], return_inverse=True)
        user = np.unique(sessions.user[counted], return_inverse=True)[1]
        variant = sessions.variant[counted].astype(np.int64)
        rank = np.maximum(sessions.ranks[rows].astype(np.int64) - 1, 0)
        return cls(log, query, user.astype(np.int64), variant, session, pair.astype(np.int64), rank, clicked[rows], keys)

    @property
    def width(self) -> int:
        """The number of ranks."""
        return int(self.rank.max(initial=0)) + 1

    @cached_property
    def traffic(self) -> FloatArray:
        """The number of sessions of each query."""
        return np.bincount(self.query, minlength=len(self.log.queries)).astype(np.float64)

    @cached_property
    def depth(self) -> Places:
        """The number of ranks that the longest list of each query has."""
        deepest = np.zeros(len(self.log.queries), dtype=np.int64)
        np.maximum.at(deepest, self.query[self.session], self.rank + 1)
        return deepest

    @cached_property
    def query_of_pair(self) -> Places:
        """The query of each pair."""
        return self.keys // len(self.log.docs)

    @cached_property
    def _cells(self) -> tuple[Places, Places]:
        """The pairs at each of their ranks, and the cell of each document shown."""
        keys, cell = np.unique(self.pair * self.width + self.rank, return_inverse=True)
        return keys, cell.astype(np.int64)

    def cells(self, without: BoolArray | None = None) -> RankedClicks:
        """Impressions and clicks of each pair at each rank; those of some documents shown are left out."""
        keys, cell = self._cells
        counted = None if without is None else (~without).astype(np.float64)
        shown = np.bincount(cell, counted, minlength=len(keys)).astype(np.float64)
        clicked = np.bincount(cell, self.clicked if counted is None else self.clicked * counted, minlength=len(keys))
        kept = shown > 0
        return RankedClicks(keys[kept] // self.width, keys[kept] % self.width, shown[kept], clicked[kept].astype(np.float64))

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
