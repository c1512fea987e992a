"""The hits of fused scores, without the ids of documents: for many trials over one table of candidates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from rankproof._align.hits import AlignmentCounts, Hits, JudgedQueries, Ties
from rankproof._data.arrays import BoolArray, FloatArray, IntArray, list_numbers
from rankproof._fusion.candidates import CandidateTable
from rankproof._fusion.kernels import ranks_of


@dataclass(frozen=True, eq=False)
class JudgedCandidates:
    """The judged candidates of a table: those of its query i are chosen_offsets[i] to chosen_offsets[i + 1].

    `rows` is the index of each judged query in the table, -1 if the table lacks it; `codes` are those of judgements by code.
    """

    table: CandidateTable
    judged: JudgedQueries
    chosen: IntArray
    chosen_offsets: IntArray
    grades: IntArray
    rows: IntArray
    codes: IntArray | None = None

    @classmethod
    def of(cls, table: CandidateTable, judged: JudgedQueries, qrels: Mapping[str, Mapping[str, int]]) -> JudgedCandidates:
        """The candidates that `qrels` judges; `judged` are the same judgements as an engine reads them."""
        chosen: list[int] = []
        grades: list[int] = []
        codes: list[int] = []
        ends = [0]
        of_judged = set(judged.queries)
        for query, start, end in zip(table.queries, table.offsets[:-1].tolist(), table.offsets[1:].tolist(), strict=True):
            known = qrels[query] if query in of_judged else {}
            pairs = [(at, known[doc]) for at, doc in enumerate(table.docs[start:end], start=start) if doc in known]
            chosen.extend(at for at, _ in pairs)
            grades.extend(grade for _, grade in pairs)
            ends.append(len(chosen))
            if judged.documents is not None:
                code_of = {doc: code for code, doc in enumerate(sorted(known, reverse=True))}
                codes.extend(code_of[table.docs[at]] for at, _ in pairs)
        at_query = {query: at for at, query in enumerate(table.queries)}
        rows = np.array([at_query.get(query, -1) for query in judged.queries], dtype=np.int64)
        places, bounds, levels = (np.array(values, dtype=np.int64) for values in (chosen, ends, grades))
        by_code = None if judged.documents is None else np.array(codes, dtype=np.int64)
        return cls(table, judged, places, bounds, levels, rows, by_code)

    def hits(self, scores: FloatArray) -> Hits:
        """The hits of the ranking by these scores, one for each candidate."""
        table = self.table
        ranks, starts, sizes = ranks_of(scores, table.offsets, table.by_id, self.chosen, self.chosen_offsets)
        owners = list_numbers(np.diff(self.chosen_offsets))
        by_rank = np.lexsort((ranks, self._judged_index[owners])) if len(owners) else np.zeros(0, np.int64)
        counts = np.append(np.diff(self.chosen_offsets), 0)[self.rows]
        return Hits(
            judged=self.judged,
            present=self._present,
            retrieved=np.append(np.diff(table.offsets), 0)[self.rows],
            offsets=np.concatenate([np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)]),
            ranks=ranks[by_rank],
            grades=self.grades[by_rank],
            ties=Ties(starts[by_rank], sizes[by_rank]),
            alignment_counts=AlignmentCounts(rows=table.size),
            codes=None if self.codes is None else self.codes[by_rank],
        )

    @property
    def _present(self) -> BoolArray:
        return self.rows >= 0

    @property
    def _judged_index(self) -> IntArray:
        """For each query of the table, its index among the judged queries; queries without judgements have no candidates here."""
        index = np.zeros(len(self.table.queries), dtype=np.int64)
        index[self.rows[self._present]] = np.flatnonzero(self._present)
        return index
