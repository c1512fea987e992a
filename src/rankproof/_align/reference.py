"""Alignment in plain Python: the reference for the C extension, and the engine where that was not built."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from rankproof._align.hits import MAX_EXAMPLE_QUERIES, MAX_TAGS, AlignmentCounts, Hits, JudgedQueries, Ties
from rankproof._data.ordering import RankScoreAgreement, order_key, query_agreement, resolve_duplicates
from rankproof._data.qrels import Qrels
from rankproof._data.row_errors import OnConflict, row_error
from rankproof._data.run import NO_RANK, Run, RunRow
from rankproof._data.text import other_unicode_forms
from rankproof._data.validation import ReadOptions
from rankproof._io.streams import ByteSource


@dataclass(frozen=True)
class JudgedTable:
    """Judged documents by query.

    `only` are the selected queries, None for all; `other_queries` and `other_docs` are judged ids in their other Unicode forms.
    """

    grades: Mapping[str, Mapping[str, int]]
    only: frozenset[str] | None
    other_queries: frozenset[str]
    other_docs: Mapping[str, frozenset[str]]

    def includes_query(self, query: str) -> bool:
        return self.only is None or query in self.only


@dataclass(frozen=True)
class QueryHits:
    """The hits and counts of one query."""

    retrieved: int
    ranks: list[int]
    grades: list[int]
    tie_starts: list[int]
    tie_sizes: list[int]
    agreement: RankScoreAgreement
    unicode_forms: int


_NO_HITS = QueryHits(0, [], [], [], [], RankScoreAgreement(0, 0, 0), 0)


def judge_text(source: ByteSource, only: Collection[str] | None = None, *, on_conflict: OnConflict = "error") -> JudgedQueries:
    """Judgements from TREC text."""
    from rankproof._formats import trec
    from rankproof._formats.rows import ParseOptions

    return judge_qrels(trec.read_plain_qrels(source, ParseOptions(on_conflict=on_conflict)), only)


def judge_qrels(qrels: Qrels, only: Collection[str] | None = None) -> JudgedQueries:
    """Judgements from memory, by code where documents are judged for subtopics."""
    if qrels.subtopics:
        from rankproof._align.judged_documents import judge_by_code

        return judge_by_code(judge_qrels, qrels, only)
    kept = None if only is None else frozenset(only)
    grades = {query: docs for query, docs in qrels.items() if kept is None or query in kept}
    # From the highest grade: the ideal ranking of nDCG is then a prefix of each group.
    flat = [sorted(docs.values(), reverse=True) for docs in grades.values()]
    table = JudgedTable(
        grades=grades,
        only=kept,
        other_queries=other_unicode_forms(grades),
        other_docs={query: other_unicode_forms(docs) for query, docs in grades.items()},
    )
    return JudgedQueries(
        queries=tuple(grades),
        offsets=_offsets(flat),
        grades=_flatten(flat),
        repeats=qrels.repeats,
        highest=max((max(docs.values()) for docs in qrels.values() if docs), default=0),
        source=qrels.source,
        handle=table,
    ).counted(qrels, kept)


def judge_dict(grades: Mapping[str, Mapping[str, int]], name: str, only: Collection[str] | None = None) -> JudgedQueries:
    """Judgements from a dict of dicts."""
    return judge_qrels(Qrels.from_dict(grades, source=name), only)


def align_text(judged: JudgedQueries, source: ByteSource, read_options: ReadOptions) -> Hits:
    """Hits of a TREC run."""
    return align_run(judged, read_run(source, read_options), read_options)


def read_run(source: ByteSource, read_options: ReadOptions) -> Run:
    """The TREC run; a duplicate is reported before an error further down."""
    from rankproof._formats import trec
    from rankproof._formats.rows import build_run

    return build_run(trec.run_rows(source), name=source.name, source=source.name, read_options=read_options)


def align_dict(judged: JudgedQueries, scores: Mapping[str, Mapping[str, float]], name: str, read_options: ReadOptions) -> Hits:
    """Hits of a run in a dict of dicts."""
    return align_run(judged, Run.from_dict(scores, name=name, source=name), read_options)


def align_run(judged: JudgedQueries, run: Run, read_options: ReadOptions) -> Hits:
    """Hits of a run in memory."""
    table: JudgedTable = judged.handle
    if read_options.order == "rank" and run.docs and (run.ranks is None or NO_RANK in run.ranks):
        raise row_error("rank-missing", source=run.source)
    groups, dropped = resolve_duplicates(run, read_options)
    by_query = {query: _query_hits(table, query, rows, read_options) for query, rows in groups.items() if query in table.grades}
    unjudged = [query for query in groups if query not in table.grades and table.includes_query(query)]
    all_hits = [by_query.get(query, _NO_HITS) for query in judged.queries]
    return Hits(
        judged=judged,
        present=np.array([query in by_query for query in judged.queries], dtype=np.bool_),
        retrieved=np.array([hits.retrieved for hits in all_hits], dtype=np.int64),
        offsets=_offsets([hits.ranks for hits in all_hits]),
        ranks=_flatten([hits.ranks for hits in all_hits]),
        grades=_flatten([hits.grades for hits in all_hits]),
        ties=Ties(_flatten([hits.tie_starts for hits in all_hits]), _flatten([hits.tie_sizes for hits in all_hits])),
        alignment_counts=AlignmentCounts(
            rows=len(run.docs),
            tied=sum(size > 1 for hits in all_hits for size in hits.tie_sizes),
            contradictions=sum(hits.agreement.contradictions for hits in all_hits),
            backwards=sum(hits.agreement.backwards for hits in all_hits),
            forwards=sum(hits.agreement.forwards for hits in all_hits),
            unicode_forms=sum(hits.unicode_forms for hits in all_hits) + sum(query in table.other_queries for query in unjudged),
            dropped=dropped,
            unjudged=len(unjudged),
            unjudged_queries=tuple(unjudged[:MAX_EXAMPLE_QUERIES]),
            tags=run.tags[:MAX_TAGS],
        ),
    )


def _query_hits(table: JudgedTable, query: str, rows: list[RunRow], read_options: ReadOptions) -> QueryHits:
    grades, others = table.grades[query], table.other_docs[query]
    # Quadratic where scores are tied: this engine defines the result, the extension is for speed.
    # Ties by document id, descending, by bytes: the order of trec_eval, which C can compare without decoding.
    ordered = sorted(rows, key=lambda row: (order_key(row, read_options), row.doc.encode()), reverse=True)
    keys = [order_key(row, read_options) for row in ordered]
    at = [index for index, row in enumerate(ordered) if row.doc in grades]
    return QueryHits(
        retrieved=len(rows),
        ranks=[index + 1 for index in at],
        grades=[grades[ordered[index].doc] for index in at],
        tie_starts=[keys.index(keys[index]) + 1 for index in at],
        tie_sizes=[keys.count(keys[index]) for index in at],
        agreement=query_agreement(rows, read_options),
        unicode_forms=sum(row.doc in others for row in rows),
    )


def _offsets(groups: list[list[int]]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.cumsum([0, *map(len, groups)], dtype=np.int64)


def _flatten(groups: list[list[int]]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array([value for group in groups for value in group], dtype=np.int64)
