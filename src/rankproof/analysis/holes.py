"""Holes: how much was judged, and how far the values could move if all of it were."""

from __future__ import annotations

from ..errors import shown
from ..evaluation import MeasureResult
from ..measures import Judged
from .audit_lists import counted, result_of
from .evidence import Evidence
from .holes_bounds import CHOICES, bounds_of
from .holes_view import Holes, top_grade
from .table import Column, Item, Table

USUAL = 10
_COLUMNS = (
    Column("measure"),
    Column("system"),
    Column("judged", "share", "of the documents within the measure's cutoff, else of the first 10"),
    Column("value", "value", "unjudged documents count as not relevant"),
    Column("lowest", "value", "by any grades of the unjudged documents"),
    Column("highest", "value", "by any grades of the unjudged documents"),
)


def audit_holes(evidence: Evidence, holes: Holes) -> Table:
    """Judged share and bounds of every value."""
    rows: list[tuple[Item, ...]] = []
    skipped = []
    for name, one in evidence.result.systems[0].measures.items():
        if one.measure.name in CHOICES and one.measure.summary == "mean":
            rows += [_row(holes, result_of(evidence, system, name), system) for system in evidence.systems]
        else:
            skipped.append(name)
    highest = max(hits.judged.highest for hits in holes.hits.values())
    n, pairs = len(evidence.result.queries), sum(map(len, holes.unjudged.values()))
    said = [*_leads(rows), f"{pairs} retrieved pairs of query and document are unjudged."]
    if rows:
        grade = top_grade(evidence.result.systems[0].measures[str(rows[0][0])].measure, highest)
        said.append(f"Relevant means a grade of up to {grade} for what is unjudged, the highest in use.")
    if skipped:
        said.append(f"There are no bounds for {', '.join(skipped)}.")
    return Table(
        name="audit-holes",
        title=f"Holes: what unjudged documents could change, n = {n} queries",
        columns=_COLUMNS,
        rows=tuple(rows),
        sentences=tuple(said),
        facts={"n": n, "unjudged_pairs": pairs, "grade": highest},
    )


def _row(holes: Holes, one: MeasureResult, system: str) -> tuple[Item, ...]:
    hits = holes.hits[system]
    chosen, summarise = counted(hits, one), one.measure.summarise
    low, high = bounds_of(one.measure, holes, system)
    judged = (Judged @ (getattr(one.measure, "cutoff", None) or USUAL)).values(hits)
    return (str(one.measure), system, summarise(judged[chosen]), one.value, summarise(low[chosen]), summarise(high[chosen]))


def _leads(rows: list[tuple[Item, ...]]) -> list[str]:
    """For each measure, whether the best system leads whatever the unjudged documents are."""
    said = []
    for measure in dict.fromkeys(row[0] for row in rows):
        mine = sorted((row for row in rows if row[0] == measure), key=lambda row: -_number(row[3]))
        if len(mine) < 2:
            continue
        best, rivals = mine[0], [row for row in mine[1:] if _number(row[5]) > _number(mine[0][4])]
        name = shown(str(best[1]))
        if rivals:
            said.append(
                f"By {measure}, {name} leads, but {len(rivals)} of {len(mine) - 1} others could be ahead by these bounds."
            )
        else:
            said.append(f"By {measure}, {name} leads whatever the unjudged documents are.")
    return said


def _number(item: Item) -> float:
    return item if isinstance(item, float) else 0.0
