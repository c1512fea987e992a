"""Notes: what the tools noticed while the numbers were made."""

from __future__ import annotations

from collections.abc import Iterator

from ...analysis.table import Column, Table
from ...analysis.wording import counted
from ...evaluation import Result
from ..material import Material
from ..section import Section
from ..sheet import sheet_of

_ALL = "all systems"


def notes(material: Material) -> Section:
    """A row for each."""
    rows = tuple(dict.fromkeys(_rows(material)))
    table = Table("notes", "What was noted", (Column("about"), Column("note")), rows)
    said = f"{counted(len(rows), 'note')} on the data, the systems and the evaluation." if rows else "Nothing was noted."
    return Section(
        key="notes",
        title="Notes",
        question="What was noticed while the numbers were made?",
        sentences=(said,),
        tables=(sheet_of(table),) if rows else (),
    )


def _rows(material: Material) -> Iterator[tuple[str, str]]:
    climb = material.climb
    yield from (("the experiment", note) for note in climb.notes)
    yield from ((rung.name, note) for rung in climb.rungs for note in rung.notes)
    for result in (climb.result, climb.answers):
        if result is not None:
            yield from _of(result)


def _of(result: Result) -> Iterator[tuple[str, str]]:
    """Each note once, with the systems that have it."""
    owners: dict[str, list[str]] = {}
    for system in result.systems:
        for note in system.notes:
            owners.setdefault(note.text, []).append(system.name)
    for text, names in owners.items():
        yield _ALL if len(names) == len(result.systems) > 1 else ", ".join(names), text
