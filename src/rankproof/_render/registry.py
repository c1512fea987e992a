"""The formats of `rankproof export` that are text, each by the view that makes it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from rankproof._cli.terminal import Terminal

if TYPE_CHECKING:
    from rankproof._data.table import Table
    from rankproof._results.experiment_result import ExperimentResult


def _comparison_table(results: ExperimentResult, terminal: Terminal, name: Literal["letters", "details"]) -> Table | None:
    """That table of `compare`, which is about all measures; None where there is nothing to compare."""
    from rankproof._analysis.compare.compare import compare

    if len(results.result.systems) < 2 or len(results.result.queries) < 2:
        return None
    tables = compare(results.result)
    for note in dict.fromkeys(note for table in tables for note in table.notes):
        terminal.note(note)
    return next(table for table in tables if table.name == name)


def _csv(results: ExperimentResult, terminal: Terminal) -> str:
    from rankproof._render.paper import as_long_csv

    return as_long_csv(results)


def _json(results: ExperimentResult, terminal: Terminal) -> str:
    from rankproof._results.to_json import document_text, results_document

    return document_text(results_document(results, per_query=True))


def _markdown(results: ExperimentResult, terminal: Terminal) -> str:
    from rankproof._render.systems import systems_markdown
    from rankproof._render.table import as_markdown as as_tables

    look = terminal.render_options(to_file=True)
    letters = _comparison_table(results, terminal, "letters")
    return systems_markdown(results, look) + ("" if letters is None else f"\n{as_tables([letters], look)}")


def _latex(results: ExperimentResult, terminal: Terminal) -> str:
    from rankproof._render.paper import paper_table

    return paper_table(results, _comparison_table(results, terminal, "letters"))


def _junit(results: ExperimentResult, terminal: Terminal) -> str:
    from rankproof._render.ci import as_steps_junit

    return as_steps_junit(results, _comparison_table(results, terminal, "details"))


WRITERS: dict[str, Callable[[ExperimentResult, Terminal], str]] = {
    "csv": _csv,
    "json": _json,
    "markdown": _markdown,
    "latex": _latex,
    "junit": _junit,
}
