"""Holes: how much was judged, and how far the values could move if all of it were."""

from __future__ import annotations

from dataclasses import astuple, dataclass

from ...errors import shown
from ...evaluation import MeasureResult
from ...measures import Judged
from ..counts import counts_of
from ..evidence import Evidence
from ..listings import counted, result_of
from ..measured import leaders
from ..table import Column, Glance, Table
from ..wording import counted as counted_words
from .bounds import CHOICES, bounds_of
from .unjudged import Holes, top_grade

USUAL = 10
_COLUMNS = (
    Column("measure"),
    Column("system"),
    Column("judged", "share", "of the documents within the measure's cutoff, else of the first 10"),
    Column("value", "value", "unjudged documents count as not relevant"),
    Column("lowest", "value", "by any grades of the unjudged documents that a system here retrieved"),
    Column("highest", "value", "by any grades of the unjudged documents that a system here retrieved"),
)
_ALONE = "Each bound is taken for its system alone, and systems share documents: fewer may truly be able to pass."


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
        said.append(f"What is unjudged could have any grade up to {grade}, the highest in use.")
        said.append("Documents that no system here retrieved are left out of these bounds.")
    if len(bounded) < len(measures):
        said.append(f"There are no bounds for {', '.join(name for name in measures if name not in bounded)}.")
    return Table(
        name="audit-holes",
        title=f"Holes: what unjudged documents could change, {counts}",
        columns=(*_COLUMNS, *counts.column),
        rows=tuple((*astuple(row), *counts.cell(row.system)) for row in rows),
        sentences=tuple(said),
        facts={**counts.facts, "unjudged_pairs": pairs, "grade": highest},
        verdict_first=True,
        glance=Glance(
            (*(("measure",) if len(bounded) > 1 else ()), "system", *(column.name for column in (*_COLUMNS[2:], *counts.column))),
            tuple(range(len(evidence.systems) if bounded else 0)),
        ),
    )


def _row(holes: Holes, one: MeasureResult, system: str) -> _Row:
    hits = holes.hits[system]
    chosen, summarise = counted(hits, one), one.measure.summarise
    low, high = bounds_of(one.measure, holes, system)
    judged = (Judged @ (getattr(one.measure, "cutoff", None) or USUAL)).values(hits)
    share, lowest, highest = (summarise(values[chosen]) for values in (judged, low, high))
    return _Row(str(one.measure), system, share, one.value, lowest, highest)


def _leads(rows: list[_Row]) -> list[str]:
    """For each measure, whether the best system leads whatever the unjudged documents that were retrieved here are."""
    said, overlap = [], False
    for measure in dict.fromkeys(row.measure for row in rows):
        these = {row.system: row for row in rows if row.measure == measure}
        best = leaders({name: row.value for name, row in these.items()})
        if len(these) > 1:
            others = [row for name, row in these.items() if name not in best]
            first = [these[name] for name in best]
            said.append(f"By {measure}, {_lead(first, others)}.")
            overlap = overlap or _overlapping(first, others) > 0
    return [*said, _ALONE] if overlap else said


def _lead(best: list[_Row], others: list[_Row]) -> str:
    names = " and ".join(shown(row.system) for row in best)
    rivals = _overlapping(best, others)
    those = f"{rivals} of {counted_words(len(others), 'other')}"
    if len(best) > 1:
        return f"{names} tie at {best[0].value:.4f}" + (f", and their bounds overlap those of {those}" if rivals else "")
    if rivals:
        return f"{names} leads, but its bounds overlap those of {those}"
    return f"{names} leads whatever grades the unjudged documents retrieved here have"


def _overlapping(best: list[_Row], others: list[_Row]) -> int:
    return sum(row.highest > min(each.lowest for each in best) for row in others)
