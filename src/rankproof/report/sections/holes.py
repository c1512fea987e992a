"""Holes: how much of what is shown was judged, and how far the values could move."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...analysis.evidence import Evidence
from ...analysis.holes.bounds import CHOICES, all_within, none
from ...analysis.holes.table import audit_holes
from ...analysis.holes.unjudged import Holes
from ...analysis.table import Table
from ...measures import Measure
from ...views.grid import Cell, Grid
from ..effort import MANY
from ..holes import Shares, judged_shares
from ..material import Material
from ..section import Section
from ..sheet import Sheet, sheet_of

_ROWS = 200_000
_DEPTH = 10
"""Where there are more rows, or many queries, bounds are for measures that look no deeper, and whose extremes need no search."""


def holes(material: Material) -> Section:
    """Shares first, then the bounds of the first measure, then those of the others."""
    shares = judged_shares(material)
    low, high = min(shares.share.values()), max(shares.share.values())
    some = f"between {low:.1%} and {high:.1%}" if low < high else f"{low:.1%}"
    said = f"Of the first {shares.cutoff} documents {some} were judged; what nobody judged counts as not relevant."
    tables = _bounds(material)
    first = tables[0] if tables else None
    return Section(
        key="holes",
        title="Holes",
        question="How much of what is shown did nobody judge, and could it turn the order round?",
        points=(said, *(first.sentences if first else ())),
        tables=(sheet_of(first) if first else _shares(shares),),
        folded=tuple(replace(sheet_of(table), caption="The same for the other measures") for table in tables[1:]),
    )


def _shares(shares: Shares) -> Sheet:
    cells = tuple((Cell(f"{share:.1%}"),) for share in shares.share.values())
    grid = Grid("system", tuple(shares.share), (f"judged in the first {shares.cutoff}",), cells)
    return Sheet("How much was judged", grid)


def _bounds(material: Material) -> list[Table]:
    """The bounds of the measure that verdicts are told in, and of the others; none where they would take too long."""
    evidence = material.evidence
    measures = {name: one.measure for name, one in evidence.result.systems[0].measures.items()}
    bounded = [name for name, measure in measures.items() if measure.name in CHOICES and measure.summary == "mean"]
    if len(evidence.result.queries) > MANY or sum(len(run.docs) for run in evidence.runs.values()) > _ROWS:
        bounded = [name for name in bounded if _is_quick(measures[name])][:1]
    if not bounded:
        return []
    first = material.measure if material.measure in bounded else bounded[0]
    others = [name for name in bounded if name != first]
    return [_audited(material.holes, [first]), *([_audited(material.holes, others)] if others else [])]


def _is_quick(measure: Measure) -> bool:
    return CHOICES[measure.name] == (none, all_within) and (getattr(measure, "cutoff", None) or _ROWS) <= _DEPTH


def _audited(found: Holes, names: Sequence[str]) -> Table:
    narrowed = _narrowed(found.evidence, names)
    return audit_holes(narrowed, replace(found, evidence=narrowed))


def _narrowed(evidence: Evidence, names: Sequence[str]) -> Evidence:
    """The evidence with these measures alone."""
    systems = tuple(replace(one, measures={name: one.measures[name] for name in names}) for one in evidence.result.systems)
    return replace(evidence, result=replace(evidence.result, systems=systems))
