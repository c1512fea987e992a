"""Diagnosis by segment: what the values of each system point at within groups of queries."""

from __future__ import annotations

from ...errors import shown
from ..evidence import Evidence
from ..segments.groups import Grouping
from ..segments.rows import LEAST
from ..table import Column, Glance, Table
from .rules import FEW, FIRST
from .systems import findings, values_columns, values_row


def segments_tables(evidence: Evidence, grouping: Grouping) -> list[Table]:
    """The same for each segment, a table for each system; a segment with too few queries gets no diagnosis."""
    columns = (Column(grouping.by), *values_columns(), Column("system"))
    tables = []
    for found in findings(evidence, grouping.segments):
        rows = []
        for segment, each in sorted(found.items(), key=lambda pair: pair[1].values[FEW]):
            words = each.words if each.n >= LEAST else f"too few queries (under {LEAST})"
            unsure = each.near if each.n >= LEAST else None
            rows.append((*values_row(segment, each.n, each.values, words, unsure), each.system))
        system, count = str(rows[0][-1]), sum(each.n for each in found.values())
        title = f"What the values of {shown(system)} by {grouping.by} point at, the lowest {FEW} first: n = {count} queries"
        facts = {"system": system, "by": grouping.by, "n": count, "least": LEAST}
        glance = Glance((grouping.by, "n", FIRST, FEW, "diagnosis"), tuple(range(len(rows))))
        tables.append(Table(f"diagnosis by {grouping.by}", title, columns, tuple(rows), facts=facts, glance=glance))
    return tables
