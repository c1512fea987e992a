"""Segments of every system, measure and grouping in one table, for programs."""

from __future__ import annotations

from collections.abc import Sequence

from ..table import Column, Table


def flat(tables: Sequence[Table]) -> Table:
    """The tables of segments against the rest as one, a row for each segment of each system under each measure."""
    details = [table for table in tables if "system" in table.facts]
    columns = (Column("measure"), Column("by", about="what queries are grouped by"), Column("segment"), *details[0].columns[1:])
    rows = tuple((table.facts["measure"], table.facts["by"], *row) for table in details for row in table.rows)
    notes = tuple(dict.fromkeys(note for table in tables for note in table.notes))
    return Table("segments", "Every segment against the rest", columns, rows, notes=notes)
