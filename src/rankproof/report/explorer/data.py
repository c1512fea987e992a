"""The explorer's data in columns: names once, numbers as they are, documents by their place in one list."""

from __future__ import annotations

from typing import Any

from ...experiment.rung import Climb, Rung
from .answered import answers_of, references_by_query
from .documents import Documents, cut
from .measured import described, measures_of, values_of
from .numbers import column
from .rankings import TOP, Grades, Ranked, ranked_systems
from .segments import segments_of

_QUERY = 1_000
_MILLISECONDS = 3


def explorer_blocks(climb: Climb) -> dict[str, dict[str, Any]]:
    """`data`, which the table needs at once, and `details`, read when a query is opened; docs/report.md has their shape."""
    grades = {query: {doc: grade for doc, grade in climb.qrels.get(query, {}).items() if grade >= 0} for query in climb.queries}
    ranked = ranked_systems(climb, grades)
    return {"data": _table(climb, grades, ranked), "details": _details(climb, grades, ranked)}


def _table(climb: Climb, grades: Grades, ranked: dict[str, Ranked]) -> dict[str, Any]:
    measures = measures_of(climb)
    places = {rung.name: at for at, rung in enumerate(climb.rungs)}
    texts = [cut(climb.texts[query].text, _QUERY) if query in climb.texts else "" for query in climb.queries]
    return {
        "top": TOP,
        "rel": climb.rel,
        "highest": max((grade for docs in grades.values() for grade in docs.values()), default=0),
        "systems": [{"name": rung.name, "over": None if rung.over is None else places.get(rung.over)} for rung in climb.rungs],
        "measures": [described(measure) for measure in measures.values()],
        "queries": {"ids": list(climb.queries), "texts": texts},
        "segments": segments_of(climb),
        "values": values_of(climb, list(measures)),
        "first": [_first(climb, grades, one) for one in ranked.values()],
        "unjudged": [_unjudged(climb, grades, one) for one in ranked.values()],
    }


def _first(climb: Climb, grades: Grades, ranked: Ranked) -> list[int]:
    """The rank of each query's first relevant document, 0 where none was retrieved."""
    return [
        min((rank for doc, rank in ranks.items() if grades[query].get(doc, -1) >= climb.rel), default=0)
        for query, ranks in zip(climb.queries, ranked.ranks, strict=True)
    ]


def _unjudged(climb: Climb, grades: Grades, ranked: Ranked) -> list[int]:
    return [sum(doc not in grades[query] for doc in top) for query, top in zip(climb.queries, ranked.tops, strict=True)]


def _details(climb: Climb, grades: Grades, ranked: dict[str, Ranked]) -> dict[str, Any]:
    documents = Documents()
    tops = {name: [documents.places(top) for top in one.tops] for name, one in ranked.items()}
    kept = _kept(climb, grades, ranked)
    systems = [_system(rung, ranked, tops[rung.name], kept) for rung in climb.rungs]
    for system, rung in zip(systems, climb.rungs, strict=True):
        system["answers"] = answers_of(rung, climb.queries, documents)
    judged = {
        "counts": [len(docs) for docs in kept],
        "docs": [documents.place(doc) for docs in kept for doc in docs],
        "grades": [grade for docs in kept for grade in docs.values()],
    }
    return {
        "documents": documents.columns(climb.snippets, climb.titles),
        "judged": judged,
        "systems": systems,
        "references": references_by_query(climb),
    }


def _kept(climb: Climb, grades: Grades, ranked: dict[str, Ranked]) -> list[dict[str, int]]:
    """The judgements that the page needs, highest grade first: those worth something, and those of documents it shows."""
    least = min((1, climb.rel, *(getattr(one, "least", 1) for one in measures_of(climb).values())))
    kept = []
    for at, query in enumerate(climb.queries):
        shown = {doc for one in ranked.values() for doc in one.tops[at]}
        ordered = sorted(grades[query].items(), key=lambda pair: (-pair[1], pair[0]))
        kept.append({doc: grade for doc, grade in ordered if grade >= least or doc in shown})
    return kept


def _system(rung: Rung, ranked: dict[str, Ranked], tops: list[list[int]], kept: list[dict[str, int]]) -> dict[str, Any]:
    """One system's rankings; `ranks` follow the judgements, `below` the tops: ranks in the system below; 0 for not retrieved."""
    own, below = ranked[rung.name], ranked.get(rung.over or "")
    return {
        "counts": [len(top) for top in tops],
        "docs": [doc for top in tops for doc in top],
        "retrieved": list(own.retrieved),
        "ranks": [ranks.get(doc, 0) for ranks, docs in zip(own.ranks, kept, strict=True) for doc in docs],
        "below": None if below is None else _looked_up(own, below),
        "times": column(rung.times["total"].tolist(), _MILLISECONDS),
    }


def _looked_up(own: Ranked, below: Ranked) -> list[int]:
    return [ranks.get(doc, 0) for top, ranks in zip(own.tops, below.ranks, strict=True) for doc in top]
