"""What a reader must know beside the numbers: each finding counted, in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ..align.hits import Hits
from ..data.arrays import BoolArray
from ..data.direction import Direction
from ..data.marks import told
from ..errors import shown
from .options import Options

FEW = 5


@dataclass(frozen=True, slots=True)
class Note:
    """A finding with its code for machines, its count, and its sentence for people."""

    code: str
    count: int
    text: str


def notes_of(hits: Hits, rels: Iterable[int], options: Options) -> tuple[Note, ...]:
    """The findings of one system, those about the means first; `rels` are the least relevant grades in use."""
    barren = [_without_relevant(hits, rel) for rel in rels]
    about_rows = _about_rows(hits, lower_is_better=options.reading.lower_is_better)
    found = [*_about_queries(hits, options.skip_missing), *barren, *about_rows, *_about_judgements(hits)]
    return tuple(note for note in found if note.count)


def _without_relevant(hits: Hits, rel: int) -> Note:
    barren = hits.judged.relevant(rel) == 0
    count = int(barren.sum())
    return Note(
        "no-relevant",
        count,
        f"{_count(count, 'query has', 'queries have')} no relevant document (grade {rel} or more) and "
        f"{_fit(count, 'counts 0', 'count 0')}: {_chosen(barren, hits)}",
    )


def _about_queries(hits: Hits, skip_missing: bool) -> list[Note]:
    missing = ~hits.present
    gone, strange = int(missing.sum()), hits.seen.unjudged
    fate = ("is left out", "are left out") if skip_missing else ("counts 0", "count 0")
    return [
        Note(
            "missing-queries",
            gone,
            f"{_count(gone, 'judged query is', 'judged queries are')} not in the run and {_fit(gone, *fate)}: "
            f"{_chosen(missing, hits)}",
        ),
        Note(
            "unjudged-queries",
            strange,
            f"{_count(strange, 'query of the run was never judged and is', 'queries of the run were never judged and are')} "
            f"left out: {_few(hits.seen.unjudged_queries, strange)}",
        ),
        Note("query-named-all", hits.queries.count("all"), 'a query is called "all"; it is not the mean'),
    ]


def _about_rows(hits: Hits, *, lower_is_better: bool) -> list[Note]:
    seen = hits.seen
    distances = Direction(seen.contradictions, seen.backwards, seen.forwards).looks_like_distances
    has, question = ("higher", "if not, leave out --lower-is-better") if lower_is_better else ("lower", "--lower-is-better")
    tags = len(seen.tags) if len(seen.tags) > 1 else 0
    retrieved = 0 if len(hits.ranks) else int(hits.retrieved.sum())
    return [
        Note(
            "nothing-judged",
            retrieved,
            f"none of the {retrieved} retrieved documents was judged (0 %): do the document ids match?",
        ),
        Note(
            "scores-look-like-distances",
            seen.backwards if distances else 0,
            f"in {_count(seen.backwards, 'query, the only one,', 'queries, all that can tell,')} the better rank has the {has} "
            f"score: are the scores distances? ({question})",
        ),
        Note(
            "rank-contradicts-score",
            0 if distances else seen.contradictions,
            f"{_count(seen.contradictions, 'row has a rank that contradicts', 'rows have ranks that contradict')} the scores; "
            "the scores decide (--order rank goes by rank)",
        ),
        Note(
            "tied-scores",
            seen.tied,
            f"{_count(seen.tied, 'judged document shares its', 'judged documents share their')} score with another one; "
            "the larger document id goes first",
        ),
        Note("dropped-duplicates", seen.dropped, f"{_count(seen.dropped, 'row', 'rows')} dropped as duplicates (--on-duplicate)"),
        Note("several-tags", tags, f"the run has several tags: {_few(seen.tags, tags)}; is it one system?"),
    ]


def _about_judgements(hits: Hits) -> list[Note]:
    repeats, forms, marks = hits.judged.repeats, hits.seen.unicode_forms, hits.judged.marks
    return [
        Note("machine-judgements", sum(marks.values()), told(marks, len(hits.judged.grades)) if marks else ""),
        Note(
            "repeated-judgements", repeats, f"{_count(repeats, 'judgement is', 'judgements are')} repeated exactly, and dropped"
        ),
        Note(
            "unicode-form",
            forms,
            f"{_count(forms, 'id differs', 'ids differ')} from a judged one only by Unicode form (NFC or NFD); ids are compared "
            "byte by byte, so they do not match",
        ),
    ]


def _chosen(chosen: BoolArray, hits: Hits) -> str:
    at = np.flatnonzero(chosen) if chosen.any() else ()
    return _few([hits.queries[index] for index in at[:FEW]], len(at))


def _few(names: Sequence[str], count: int) -> str:
    return ", ".join(shown(name) for name in names[:FEW]) + (", …" if count > FEW else "")


def _fit(count: int, one: str, many: str) -> str:
    return one if count == 1 else many


def _count(count: int, one: str, many: str) -> str:
    return f"{count} {_fit(count, one, many)}"
