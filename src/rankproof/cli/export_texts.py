"""The formats of `rankproof export` that are text, each by the view that makes it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from .terminal import Terminal

if TYPE_CHECKING:
    from ..analysis.table import Table
    from ..experiment.rung import Climb


def _compared(climb: Climb, terminal: Terminal, name: Literal["letters", "details"]) -> Table | None:
    """That table of `compare`, which is about all measures; None where there is nothing to compare."""
    from ..analysis.compare.compare import compare

    if len(climb.result.systems) < 2 or len(climb.result.queries) < 2:
        return None
    tables = compare(climb.result)
    for note in dict.fromkeys(note for table in tables for note in table.notes):
        terminal.note(note)
    return next(table for table in tables if table.name == name)


def _csv(climb: Climb, terminal: Terminal) -> str:
    from ..views.long_rows import as_long_csv

    return as_long_csv(climb)


def _json(climb: Climb, terminal: Terminal) -> str:
    from ..experiment.results.document import document, written

    return written(document(climb, per_query=True))


def _markdown(climb: Climb, terminal: Terminal) -> str:
    from ..views.analysis import as_markdown as as_tables
    from ..views.ladder_machine import as_markdown

    look = terminal.look(to_file=True)
    letters = _compared(climb, terminal, "letters")
    return as_markdown(climb, look) + ("" if letters is None else f"\n{as_tables([letters], look)}")


def _latex(climb: Climb, terminal: Terminal) -> str:
    from ..views.paper import as_paper

    return as_paper(climb, _compared(climb, terminal, "letters"))


def _junit(climb: Climb, terminal: Terminal) -> str:
    from ..views.steps_junit import as_steps_junit

    return as_steps_junit(climb, _compared(climb, terminal, "details"))


WRITERS: dict[str, Callable[[Climb, Terminal], str]] = {
    "csv": _csv,
    "json": _json,
    "markdown": _markdown,
    "latex": _latex,
    "junit": _junit,
}
