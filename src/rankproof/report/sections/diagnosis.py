"""Diagnosis: what the values point at, and what each rung does to the relevant documents of the rung below."""

from __future__ import annotations

from ...analysis.diagnose.report import diagnose
from ...analysis.table import Table
from ...errors import UsageError
from ..material import Material
from ..moves import moves_charts
from ..section import Section
from ..sheet import sheet_of

_FIRST = ("diagnosis", "moves", "failures")


def diagnosis(material: Material) -> Section | None:
    """None where no measure is a share, which the rules need."""
    found = _tables(material)
    if not found:
        return None
    shown = {table.name: table for table in found if table.name in _FIRST}
    return Section(
        key="diagnosis",
        title="Diagnosis",
        question="What holds each system back, and what does each rung do to the relevant documents?",
        sentences=shown["diagnosis"].sentences,
        points=shown["moves"].sentences if "moves" in shown else (),
        charts=tuple(moves_charts(material)),
        tables=tuple(sheet_of(table) for table in shown.values()),
        folded=tuple(sheet_of(table, told=True) for table in found if table.name not in _FIRST),
    )


def _tables(material: Material) -> list[Table]:
    """None where the values or the size of the corpus do not allow a diagnosis."""
    try:
        return diagnose(material.evidence, rules=True)
    except UsageError:
        return []
