"""How the systems of a comparison bear typing errors and languages, as tables."""

from __future__ import annotations

from ...analysis.table import Column, Item, Table
from ...data.counting import counted
from .comparison import Comparison
from .conclusion import drop
from .entry import Condition


def typos(comparison: Comparison) -> Table:
    """The main measure by the number of edits, and what is lost by them."""
    measure, language = comparison.main, comparison.first.language
    columns = [Column("system"), Column(counted(comparison.edits[0], "edit"), "value")]
    for edits in comparison.edits[1:]:
        columns += [Column(counted(edits, "edit"), "value"), Column(f"pp {edits}", "points", "lost by so many edits")]
    rows: list[tuple[Item, ...]] = []
    for name in comparison.systems:
        row: list[Item] = [name, comparison.entry(name, comparison.first).mean(measure)]
        for edits in comparison.edits[1:]:
            entry = comparison.entry(name, Condition(language, edits))
            row += [entry.mean(measure), 100 * drop(comparison, entry, measure).mean]
        rows.append(tuple(row))
    title = f"{measure} with typing errors, and what is lost by them"
    return Table("typos", title, tuple(columns), tuple(rows))


def languages(comparison: Comparison) -> Table:
    """The main measure by language, a column a system."""
    columns = (Column("language"), *(Column(name, "value") for name in comparison.systems))
    edits, measure = comparison.edits[0], comparison.main
    rows: tuple[tuple[Item, ...], ...] = tuple(
        (language, *(entry.mean(measure) for entry in comparison.under(Condition(language, edits))))
        for language in comparison.languages
    )
    return Table("languages", f"{measure} by language", columns, rows)
