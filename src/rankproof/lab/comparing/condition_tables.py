"""How the systems of a comparison bear typing errors and languages, as tables."""

from __future__ import annotations

from collections.abc import Iterator

from ...analysis.table import Column, Item, Table
from ...data.counting import counted
from .comparison import Comparison
from .entry import Condition


def typos(comparison: Comparison) -> Table:
    """The main measure by the number of edits, and how they change it where the systems were asked without any too."""
    columns, has_plain = [Column("system")], comparison.edits[0] == 0
    for edits in comparison.edits:
        columns += [Column(counted(edits, "edit"), "value")]
        columns += [Column(f"pp {edits}", "points", "the change by so many edits")] if has_plain and edits else []
    title = f"{comparison.main} with typing errors{', and how they change it in percentage points (pp)' if has_plain else ''}"
    rows = tuple((name, *_edited(comparison, name)) for name in comparison.systems)
    return Table("typos", title, tuple(columns), rows)


def _edited(comparison: Comparison, system: str) -> Iterator[Item]:
    """The values of one system, behind each the change where there is one."""
    for edits in comparison.edits:
        entry = comparison.entry(system, Condition(comparison.first.language, edits))
        yield entry.mean(comparison.main)
        if (change := comparison.change(entry)) is not None:
            yield 100 * change.mean


def languages(comparison: Comparison) -> Table:
    """The main measure by language, a column a system."""
    columns = (Column("language"), *(Column(name, "value") for name in comparison.systems))
    edits, measure = comparison.edits[0], comparison.main
    rows: tuple[tuple[Item, ...], ...] = tuple(
        (language, *(entry.mean(measure) for entry in comparison.under(Condition(language, edits))))
        for language in comparison.languages
    )
    return Table("languages", f"{measure} by language", columns, rows)
