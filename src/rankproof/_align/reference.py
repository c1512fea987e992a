"""Alignment in plain Python: the reference for the C extension, and the engine where that was not built."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from rankproof._align.hits import MAX_EXAMPLE_QUERIES, MAX_TAGS, AlignmentCounts, Hits, JudgedQueries, Ties
from rankproof._data.ordering import RankScoreAgreement, ReadOptions, order_key, query_agreement, resolve_duplicates
from rankproof._data.qrels import Qrels
from rankproof._data.row_errors import OnConflict, row_error
from rankproof._data.run import NO_RANK, Run, RunRow
from rankproof._data.text import other_unicode_forms
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
    found = {query: _query_hits(table, query, rows, read_options) for query, rows in groups.items() if query in table.grades}
    unjudged = [query for query in groups if query not in table.grades and table.includes_query(query)]
    each = [found.get(query) for query in judged.queries]
    hits = list(found.values())
    return Hits(
        judged=judged,
        present=np.array([query is not None for query in each], dtype=np.bool_),
        retrieved=np.array([query.retrieved if query else 0 for query in each], dtype=np.int64),
        offsets=_offsets([query.ranks if query else [] for query in each]),
        ranks=_flatten([query.ranks if query else [] for query in each]),
        grades=_flatten([query.grades if query else [] for query in each]),
        ties=Ties(
            _flatten([query.tie_starts if query else [] for query in each]),
            _flatten([query.tie_sizes if query else [] for query in each]),
        ),
        alignment_counts=AlignmentCounts(
            rows=len(run.docs),
            tied=sum(size > 1 for query in hits for size in query.tie_sizes),
            contradictions=sum(query.agreement.contradictions for query in hits),
            backwards=sum(query.agreement.backwards for query in hits),
            forwards=sum(query.agreement.forwards for query in hits),
            unicode_forms=sum(query.unicode_forms for query in hits) + sum(query in table.other_queries for query in unjudged),
            dropped=dropped,
            unjudged=len(unjudged),
            unjudged_queries=tuple(unjudged[:MAX_EXAMPLE_QUERIES]),
            tags=run.tags[:MAX_TAGS],
        ),
    )


def _query_hits(table: JudgedTable, query: str, rows: list[RunRow], read_options: ReadOptions) -> QueryHits:
    grades, others = table.grades[query], table.other_docs[query]
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
