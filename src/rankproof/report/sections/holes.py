"""Holes: how much of what is shown was judged, and how far the values could move."""

from __future__ import annotations

from dataclasses import replace

from ...analysis.evidence import Evidence
from ...analysis.holes.bounds import CHOICES
from ...analysis.holes.table import audit_holes
from ...analysis.holes.unjudged import holes_of
from ...views.grid import Cell, Grid
from ..holes import judged_shares
from ..material import Material
from ..section import Section
from ..sheet import Sheet, sheet_of

_ROWS = 200_000
_DEPTH = 10
"""Where rankings are long, bounds are for measures that look no deeper than this."""


def holes(material: Material) -> Section:
    """Shares first, then bounds."""
    shares = judged_shares(material)
    least = min(shares.share, key=shares.share.__getitem__)
    sentences = [
        f"Of the first {shares.cutoff} documents, between {shares.share[least]:.1%} and {max(shares.share.values()):.1%} were judged,"
        " by system; what nobody judged counts as not relevant."
    ]
    narrowed = _narrowed(material.evidence)
    if narrowed is None:
        cells = tuple((Cell(f"{share:.1%}"),) for share in shares.share.values())
        grid = Grid("system", tuple(shares.share), (f"judged in the first {shares.cutoff}",), cells)
        return _section(tuple(sentences), Sheet("How much was judged", grid))
    table = audit_holes(narrowed, holes_of(narrowed))
    return _section((*sentences, *table.sentences), sheet_of(table))


def _section(sentences: tuple[str, ...], sheet: Sheet) -> Section:
    return Section(
        key="holes",
        title="Holes",
        question="How much of what is shown did nobody judge, and could it turn the order round?",
        points=sentences,
        tables=(sheet,),
    )


def _narrowed(evidence: Evidence) -> Evidence | None:
    """The evidence with the measures whose bounds take no longer than a reader waits; None where there is none."""
    measures = {name: one.measure for name, one in evidence.result.systems[0].measures.items()}
    bounded = [name for name, measure in measures.items() if measure.name in CHOICES and measure.summary == "mean"]
    if sum(len(run.docs) for run in evidence.runs.values()) > _ROWS:
        bounded = [name for name in bounded if (getattr(measures[name], "cutoff", None) or _ROWS) <= _DEPTH][:2]
    if not bounded:
        return None
    systems = tuple(replace(one, measures={name: one.measures[name] for name in bounded}) for one in evidence.result.systems)
    return replace(evidence, result=replace(evidence.result, systems=systems))
