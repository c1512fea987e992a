"""Which unjudged pairs to judge next: those that could change the difference between systems most."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..align.hits import Hits
from ..data.arrays import FloatArray
from ..errors import shown
from ..measures import Measure
from .audit_lists import result_of
from .holes_arranged import Arrangement, hits_of, values_of
from .holes_view import Holes, top_grade
from .table import Column, Table

DEEPEST = 100


@dataclass(frozen=True, eq=False, slots=True)
class Pairs:
    """Unjudged pairs, and by how much each system's mean changes if a pair's document has the top grade (system x pair)."""

    pairs: tuple[tuple[str, str], ...]
    changes: FloatArray

    @property
    def spread(self) -> FloatArray:
        """The most that each pair can change the difference of two means, or the one mean where there is one."""
        if len(self.changes) == 1:
            return np.asarray(np.abs(self.changes[0]))
        return np.asarray(self.changes.max(axis=0) - self.changes.min(axis=0))


def judge_next(holes: Holes, name: str, count: int) -> Table:
    """The `count` pairs that could change most by one measure, each with what it could change."""
    evidence = holes.evidence
    measure = evidence.result.systems[0].measures[name].measure
    found = pairs_of(holes, measure)
    order = np.argsort(-found.spread, kind="stable")[:count]
    means = np.array([result_of(evidence, system, name).value for system in evidence.systems])
    rows = []
    for at in order.tolist():
        query, doc = found.pairs[at]
        gains = found.changes[:, at]
        up, down = int(np.argmax(gains)), int(np.argmin(gains))
        flips = int(np.argmax(means + gains)) != int(np.argmax(means))
        where = ", ".join(f"{shown(system)} {rank}" for system, rank in _places(holes, query, doc))
        rows.append((query, doc, float(found.spread[at]), evidence.systems[up], evidence.systems[down], flips, where))
    grade = top_grade(measure, _highest(holes))
    n = len(evidence.result.queries)
    return Table(
        name="audit-judge-next",
        title=f"Judge these {len(rows)} pairs next ({name}, n = {n} queries)",
        columns=(
            Column("query"),
            Column("document"),
            Column("could change", "value", "the difference of two systems' means, by at most this"),
            Column("for", about="the system that gains most"),
            Column("against", about="the system that gains least"),
            Column("new winner", "flag", "whether this pair alone makes another system the best"),
            Column("stands at", about="its rank in each system"),
        ),
        rows=tuple(rows),
        sentences=_sentences(holes, measure, means, found, order, grade),
        facts={"n": n, "measure": name, "grade": grade, "unjudged_pairs": len(found.pairs)},
    )


def pairs_of(holes: Holes, measure: Measure) -> Pairs:
    """Every unjudged pair within the cutoff of some system, in the order of queries and ids."""
    depth = min(getattr(measure, "cutoff", None) or DEEPEST, DEEPEST)
    pairs = [
        (query, doc)
        for query, unjudged in holes.unjudged.items()
        for doc in sorted(unjudged & {doc for each in holes.lists.values() if query in each for doc in each[query].docs[:depth]})
    ]
    grade = top_grade(measure, _highest(holes))
    n = max(len(holes.evidence.result.queries), 1)
    changes = [_changes(holes, measure, system, pairs, grade) / n for system in holes.evidence.systems]
    return Pairs(tuple(pairs), np.array(changes).reshape(len(changes), len(pairs)))


def _changes(holes: Holes, measure: Measure, system: str, pairs: list[tuple[str, str]], grade: int) -> FloatArray:
    hits = holes.hits[system]
    index = {query: at for at, query in enumerate(hits.queries)}
    given = [_given(holes, hits, system, index[query], {doc}, grade) for query, doc in pairs]
    before = measure.values(hits)
    return values_of(measure, hits, given) - before[[index[query] for query, _ in pairs]]


def _given(holes: Holes, hits: Hits, system: str, query: int, docs: set[str], grade: int) -> Arrangement:
    """The query's hits if these documents had the grade."""
    name = hits.queries[query]
    listing = holes.lists[system].get(name)
    places = [] if listing is None else [rank for rank, doc in enumerate(listing.docs, start=1) if doc in docs]
    ranks, grades = hits_of(hits, query)
    added = np.full(len(places), grade)
    new = np.array(places, dtype=np.int64)
    return Arrangement(query, np.concatenate((ranks, new)), np.concatenate((grades, added)), np.full(len(docs), grade))


def _places(holes: Holes, query: str, doc: str) -> list[tuple[str, int]]:
    lists = ((system, each[query].docs) for system, each in holes.lists.items() if query in each)
    return [(system, docs.index(doc) + 1) for system, docs in lists if doc in docs]


def _highest(holes: Holes) -> int:
    return max(hits.judged.highest for hits in holes.hits.values())


def _sentences(
    holes: Holes, measure: Measure, means: FloatArray, found: Pairs, order: np.ndarray[tuple[int], np.dtype[np.intp]], grade: int
) -> tuple[str, ...]:
    if not len(found.pairs):
        return ("Nothing within the cutoff is unjudged.",)
    what = f"Each could have grade {grade}; {len(found.pairs)} pairs within the cutoff are unjudged."
    if len(means) < 2:
        return (what,)
    first, second = np.argsort(-means, kind="stable")[:2].tolist()
    best, next_one = (shown(holes.evidence.systems[at]) for at in (first, second))
    helpful = [at for at in order.tolist() if found.changes[second, at] > found.changes[first, at]]
    now = f"{best} leads {next_one} by {float(means[first] - means[second]):.4f}"
    if not helpful:
        return (what, f"{now}; none of the listed pairs favours {next_one}.")
    lead = _lead_after(holes, measure, (first, second), [found.pairs[at] for at in helpful], grade)
    after = f"{next_one} would lead by {-lead:.4f}" if lead < 0 else f"{best} would still lead by {lead:.4f}"
    return (what, f"{now}; were the {len(helpful)} listed that favour {next_one} relevant, {after}.")


def _lead_after(holes: Holes, measure: Measure, systems: tuple[int, int], pairs: list[tuple[str, str]], grade: int) -> float:
    """The first system's lead over the second if all these pairs had the grade."""
    by_query: dict[str, set[str]] = {}
    for query, doc in pairs:
        by_query.setdefault(query, set()).add(doc)
    summaries = []
    for at in systems:
        system = holes.evidence.systems[at]
        hits = holes.hits[system]
        given = [_given(holes, hits, system, query, by_query.get(name, set()), grade) for query, name in enumerate(hits.queries)]
        summaries.append(measure.summarise(values_of(measure, hits, given)))
    return summaries[0] - summaries[1]
