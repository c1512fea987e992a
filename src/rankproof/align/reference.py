"""Alignment in plain Python: the definition, the oracle of the native reader, and what runs where there is no compiler."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from ..data.direction import Direction, query_direction
from ..data.order import order_key, settled
from ..data.qrels import Judgement, Qrels
from ..data.reading import Reading
from ..data.refusals import refusal
from ..data.run import NO_RANK, Run, RunRow
from ..data.source import Source
from ..errors import InputError
from ..formats import trec
from ..formats.rows import run_of
from .hits import Hits, Judged, Seen

FEW_QUERIES = 5
FEW_TAGS = 16


@dataclass(frozen=True)
class Table:
    """Judged documents by query.

    `only` holds the queries to look at, None for all; `other_queries` and `other_docs` hold judged ids in the Unicode forms
    that they do not have.
    """

    grades: Mapping[str, Mapping[str, int]]
    only: frozenset[str] | None
    other_queries: frozenset[str]
    other_docs: Mapping[str, frozenset[str]]

    def looks_at(self, query: str) -> bool:
        return self.only is None or query in self.only


@dataclass(frozen=True)
class QueryHits:
    """One query's share of the result."""

    retrieved: int
    ranks: list[int]
    grades: list[int]
    tied: int
    direction: Direction
    unicode_forms: int


def judge_text(source: Source, only: Collection[str] | None = None) -> Judged:
    """Judgements from TREC text."""
    rows: list[Judgement] = []
    try:
        rows.extend(trec.qrels_rows(source))
    except InputError:
        Qrels(iter(rows), source=source.name)
        raise
    if not rows:
        raise refusal("no-rows", source=source.name)
    return judge_qrels(Qrels(iter(rows), source=source.name), only)


def judge_qrels(qrels: Qrels, only: Collection[str] | None = None) -> Judged:
    """Judgements from memory."""
    kept = None if only is None else frozenset(only)
    grades = {query: docs for query, docs in qrels.items() if kept is None or query in kept}
    flat = [sorted(docs.values(), reverse=True) for docs in grades.values()]
    table = Table(
        grades=grades,
        only=kept,
        other_queries=other_forms(grades),
        other_docs={query: other_forms(docs) for query, docs in grades.items()},
    )
    return Judged(
        queries=tuple(grades),
        offsets=_offsets(flat),
        grades=_flat(flat),
        repeats=qrels.repeats,
        highest=max((max(docs.values()) for docs in qrels.values() if docs), default=0),
        source=qrels.source,
        handle=table,
        marks=qrels.made_by(kept),
    )


def judge_dict(grades: Mapping[str, Mapping[str, int]], name: str, only: Collection[str] | None = None) -> Judged:
    """Judgements from a dict of dicts."""
    return judge_qrels(Qrels.from_dict(grades, source=name), only)


def other_forms(ids: Collection[str]) -> frozenset[str]:
    """The composed and decomposed forms of the ids that are not among the ids themselves."""
    forms = {unicodedata.normalize(form, one) for one in ids if not one.isascii() for form in ("NFC", "NFD")}
    return frozenset(forms.difference(ids))


def align_text(judged: Judged, source: Source, reading: Reading) -> Hits:
    """Hits of a TREC run."""
    return align_run(judged, read_run(source, reading), reading)


def read_run(source: Source, reading: Reading) -> Run:
    """The TREC run as a value; a duplicate is told before a fault further down."""
    return run_of(trec.run_rows(source), name=source.name, source=source.name, reading=reading)


def align_dict(judged: Judged, scores: Mapping[str, Mapping[str, float]], name: str, reading: Reading) -> Hits:
    """Hits of a run in a dict of dicts."""
    return align_run(judged, Run.from_dict(scores, name=name, source=name), reading)


def align_run(judged: Judged, run: Run, reading: Reading) -> Hits:
    """Hits of a run in memory."""
    table: Table = judged.handle
    if reading.order == "rank" and run.docs and (run.ranks is None or NO_RANK in run.ranks):
        raise refusal("rank-missing", source=run.source)
    groups, dropped = settled(run, reading)
    found = {query: _query_hits(table, query, rows, reading) for query, rows in groups.items() if query in table.grades}
    strangers = [query for query in groups if query not in table.grades and table.looks_at(query)]
    each = [found.get(query) for query in judged.queries]
    hits = list(found.values())
    return Hits(
        judged=judged,
        present=np.array([query is not None for query in each], dtype=np.bool_),
        retrieved=np.array([query.retrieved if query else 0 for query in each], dtype=np.int64),
        offsets=_offsets([query.ranks if query else [] for query in each]),
        ranks=_flat([query.ranks if query else [] for query in each]),
        grades=_flat([query.grades if query else [] for query in each]),
        seen=Seen(
            rows=len(run.docs),
            tied=sum(query.tied for query in hits),
            contradictions=sum(query.direction.contradictions for query in hits),
            backwards=sum(query.direction.backwards for query in hits),
            forwards=sum(query.direction.forwards for query in hits),
            unicode_forms=sum(query.unicode_forms for query in hits) + sum(query in table.other_queries for query in strangers),
            dropped=dropped,
            unjudged=len(strangers),
            unjudged_queries=tuple(strangers[:FEW_QUERIES]),
            tags=run.tags[:FEW_TAGS],
        ),
    )


def _query_hits(table: Table, query: str, rows: list[RunRow], reading: Reading) -> QueryHits:
    grades, others = table.grades[query], table.other_docs[query]
    ordered = sorted(rows, key=lambda row: (order_key(row, reading), row.doc.encode()), reverse=True)
    keys = [order_key(row, reading) for row in ordered]
    at = [index for index, row in enumerate(ordered) if row.doc in grades]
    return QueryHits(
        retrieved=len(rows),
        ranks=[index + 1 for index in at],
        grades=[grades[ordered[index].doc] for index in at],
        tied=sum(keys[index] in (*keys[max(index - 1, 0) : index], *keys[index + 1 : index + 2]) for index in at),
        direction=query_direction(rows, reading),
        unicode_forms=sum(row.doc in others for row in rows),
    )


def _offsets(groups: list[list[int]]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.cumsum([0, *map(len, groups)], dtype=np.int64)


def _flat(groups: list[list[int]]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array([value for group in groups for value in group], dtype=np.int64)
