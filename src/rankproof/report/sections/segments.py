"""Segments: on which kind of query each system is weak, and whether that is more than chance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ...analysis.evidence import Evidence
from ...analysis.segments.groups import Grouping, default_by, grouped
from ...analysis.segments.segments import segments as analysed
from ...analysis.table import Table
from ...data.texts import TextRecord
from ...errors import UsageError
from ..effort import MANY, segment_settings
from ..heat import heat_sheet
from ..material import Material
from ..section import Section
from ..sheet import Sheet, sheet_of

_MOST_VALUES, _MOST_WAYS = 20, 6
_LONGER = {"relevant": "number of relevant documents"}


def segments(material: Material) -> Section | None:
    """None where no measure is a mean, or no grouping has two segments."""
    if material.one.summary != "mean":
        return None
    found = {way.by: _analysed(material, way) for way in _ways(material.evidence)}
    if not found:
        return None
    overviews = [table for tables in found.values() for table in tables if "system" not in table.facts]
    return Section(
        key="segments",
        title="Segments",
        question="On which kind of query is a system weak, and is that more than chance?",
        points=tuple(
            f"By {_LONGER.get(table.facts['by'], table.facts['by'])}: {said}" for table in overviews for said in table.sentences
        ),
        tables=tuple(_named(by, heat_sheet(by, tables)) for by, tables in found.items()),
        folded=tuple(_details(by, tables) for by, tables in found.items()),
    )


def _named(by: str, sheet: Sheet) -> Sheet:
    """With the grouping in words that say what it is."""
    words = _LONGER.get(by, by)
    caption = sheet.caption.replace(f" by {by},", f" by {words},", 1)
    return replace(sheet, caption=caption, grid=replace(sheet.grid, corner=words)) if words != by else sheet


def _details(by: str, tables: list[Table]) -> Sheet:
    """Every segment of every system against the rest, and what can be said of them."""
    each = [table for table in tables if "system" in table.facts]
    said = tuple(sentence for table in each for sentence in table.sentences)
    rows = tuple((row[0], row[-1], *row[1:-1]) for table in each for row in table.rows)
    columns = (each[0].columns[0], each[0].columns[-1], *each[0].columns[1:-1])
    title = f"Every segment by {_LONGER.get(by, by)} against the rest, with intervals"
    return sheet_of(Table(f"segments by {by}", title, columns, rows, said), told=True)


def _ways(evidence: Evidence) -> list[Grouping]:
    """The usual grouping, then every field of few values, then length and relevant documents; one where queries are many."""
    names = dict.fromkeys((default_by(evidence), *_fields(evidence), "length", "relevant"))
    found = [way for name in names if (way := _grouped(evidence, name)) and 2 <= len(way.segments) <= _MOST_VALUES]
    return found[: 1 if len(evidence.result.queries) > MANY else _MOST_WAYS]


def _fields(evidence: Evidence) -> list[str]:
    texts: Mapping[str, TextRecord] = evidence.texts or {}
    return sorted({name for query in evidence.result.queries if query in texts for name in texts[query].fields})


def _grouped(evidence: Evidence, name: str) -> Grouping | None:
    """None where the field holds lists or tables, or texts are not known."""
    try:
        return grouped(evidence, name)
    except UsageError:
        return None


def _analysed(material: Material, way: Grouping) -> list[Table]:
    return analysed(material.evidence, way, material.measure, segment_settings(material.one.queries))
