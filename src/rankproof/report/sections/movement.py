"""Rank movement: what each rung does to the relevant documents of the rung below."""

from __future__ import annotations

from ...analysis.diagnose.report import CUTOFF, ladder_tables
from ...analysis.measured import main_measure
from ...analysis.table import Table
from ...errors import UsageError
from ..material import Material
from ..moves import moves_charts
from ..section import Section
from ..sheet import sheet_of


def movement(material: Material) -> Section | None:
    """None where no rung is measured over another, or no measure is a share."""
    charts = tuple(moves_charts(material))
    found = {table.name: table for table in _tables(material)} if charts else {}
    if not found:
        return None
    return Section(
        key="movement",
        title="Rank movement",
        question="What does each rung find, lose, promote and demote of the rung below?",
        points=(*found["moves"].sentences, *found["ladder"].sentences),
        charts=charts,
        key_of_ways=True,
        tables=(sheet_of(found["moves"]),),
        folded=(sheet_of(found["ladder"]), sheet_of(found["stages"])),
    )


def _tables(material: Material) -> list[Table]:
    try:
        return ladder_tables(material.evidence, main_measure(material.evidence), CUTOFF)
    except UsageError:
        return []
