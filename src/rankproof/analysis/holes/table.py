"""Holes: how much was judged, and how far the values could move if all of it were."""

from __future__ import annotations

from dataclasses import astuple, dataclass

from ...errors import shown
from ...evaluation import MeasureResult
from ...measures import Judged
from ..counts import counts_of
from ..evidence import Evidence
from ..listings import counted, result_of
from ..table import Column, Table
from .bounds import CHOICES, bounds_of
from .unjudged import Holes, top_grade

USUAL = 10
_COLUMNS = (
    Column("measure"),
    Column("system"),
    Column("judged", "share", "of the documents within the measure's cutoff, else of the first 10"),
    Column("value", "value", "unjudged documents count as not relevant"),
    Column("lowest", "value", "by any grades of the unjudged documents"),
    Column("highest", "value", "by any grades of the unjudged documents"),
)


@dataclass(frozen=True, slots=True)
class _Row:
    """One measure of one system: its judged share, value and bounds; the fields are the table's columns."""

    measure: str
    system: str
    judged: float
    value: float
    lowest: float
    highest: float


def audit_holes(evidence: Evidence, holes: Holes) -> Table:
    """Judged share and bounds of every value."""
    measures = {name: one.measure for name, one in evidence.result.systems[0].measures.items()}
    bounded = [name for name, measure in measures.items() if measure.name in CHOICES and measure.summary == "mean"]
    rows = [_row(holes, result_of(evidence, system, name), system) for name in bounded for system in evidence.systems]
    highest = max(hits.judged.highest for hits in holes.hits.values())
    counts, pairs = counts_of(evidence), sum(map(len, holes.unjudged.values()))
    said = [*_leads(rows), f"{pairs} retrieved pairs of query and document are unjudged."]
    if bounded:
        grade = top_grade(measures[bounded[0]], highest)
        said.append(f"Relevant means a grade of up to {grade} for what is unjudged, the highest in use.")
    if len(bounded) < len(measures):
        said.append(f"There are no bounds for {', '.join(name for name in measures if name not in bounded)}.")
    return Table(
        name="audit-holes",
        title=f"Holes: what unjudged documents could change, {counts}",
        columns=(*_COLUMNS, *counts.column),
        rows=tuple((*astuple(row), *counts.cell(row.system)) for row in rows),
        sentences=tuple(said),
        facts={**counts.facts, "unjudged_pairs": pairs, "grade": highest},
    )


def _row(holes: Holes, one: MeasureResult, system: str) -> _Row:
    hits = holes.hits[system]
    chosen, summarise = counted(hits, one), one.measure.summarise
    low, high = bounds_of(one.measure, holes, system)
    judged = (Judged @ (getattr(one.measure, "cutoff", None) or USUAL)).values(hits)
    share, lowest, highest = (summarise(values[chosen]) for values in (judged, low, high))
    return _Row(str(one.measure), system, share, one.value, lowest, highest)


def _leads(rows: list[_Row]) -> list[str]:
    """For each measure, whether the best system leads whatever the unjudged documents are."""
    said = []
    for measure in dict.fromkeys(row.measure for row in rows):
        best, *others = sorted((row for row in rows if row.measure == measure), key=lambda row: -row.value)
        if not others:
            continue
        rivals = sum(row.highest > best.lowest for row in others)
        if rivals:
            but = f"but {rivals} of {len(others)} others could be ahead by these bounds"
            said.append(f"By {measure}, {shown(best.system)} leads, {but}.")
        else:
            said.append(f"By {measure}, {shown(best.system)} leads whatever the unjudged documents are.")
    return said
