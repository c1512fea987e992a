"""A table for a paper: booktabs, the best of each measure in bold, raised letters for the systems that are surely beaten."""

from __future__ import annotations

from dataclasses import replace

from ..analysis.statistics.correction import NAMES
from ..analysis.table import Table
from ..analysis.wording import counted
from ..data.counting import shown_time
from ..experiment.rung import Climb
from .as_latex import table_of
from .escape import for_latex
from .grid import Cell, Grid, summary_grid

ALONE = "There was nothing to test: that takes two systems and two queries."


def as_paper(climb: Climb, letters: Table | None) -> str:
    """A floating table with caption and label; `letters` is what `compare` gives, None where nothing could be compared."""
    grid = summary_grid(climb.result)
    grid = _with_times(climb, grid if letters is None else _lettered(grid, letters))
    lines = [
        r"% \usepackage{booktabs}",
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{for_latex(_caption(climb, letters))}}}",
        rf"\label{{tab:{_label(climb.name)}}}",
        table_of(grid, "tabular"),
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _lettered(grid: Grid, letters: Table) -> Grid:
    """The grid with a letter for each system, and behind each value those of the systems that it is better than."""
    records = {str(record["system"]): record for record in letters.records()}
    cells = tuple(
        (
            Cell(str(records[system]["letter"])),
            *(
                replace(cell, marks=str(records[system].get(f"{measure} beats") or ""))
                for measure, cell in zip(grid.columns, row, strict=True)
            ),
        )
        for system, row in zip(grid.rows, grid.cells, strict=True)
    )
    measures = range(1, len(grid.columns) + 1)
    return Grid(grid.corner, grid.rows, ("", *grid.columns), cells, frozenset({0, *measures}))


def _with_times(climb: Climb, grid: Grid) -> Grid:
    times = {rung.name: rung.time_of("total") for rung in climb.rungs}
    cells = tuple(
        (*row, *(Cell(shown_time(times[system][which])) for which in ("p50", "p95")))
        for system, row in zip(grid.rows, grid.cells, strict=True)
    )
    return replace(grid, columns=(*grid.columns, "ms p50", "ms p95"), cells=cells)


def _caption(climb: Climb, letters: Table | None) -> str:
    dataset = climb.provenance.get("dataset") or climb.name
    start = f"{dataset}: means over n = {len(climb.result.queries):,} queries. Bold: the best of its measure."
    if letters is None:
        return f"{start} {ALONE}"
    facts = letters.facts
    test = "paired t-test" if facts["test"] == "t" else "sign-flip randomisation test"
    corrected = f"{NAMES[facts['correction']]} over {counted(facts['tests'], 'test')}"
    how = f"{test}, two-sided, alpha {facts['alpha']:g}, {corrected}"
    return f"{start} A raised letter: better than the system of that letter ({how})."


def _label(name: str) -> str:
    """A label of letters, digits and dashes alone."""
    plain = "".join(char if char.isascii() and char.isalnum() else "-" for char in name)
    return f"rankproof-{plain.strip('-') or 'results'}"
