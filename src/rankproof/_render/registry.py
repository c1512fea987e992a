"""The output formats of results: those of `rankproof eval`, and the text formats of `rankproof export`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from rankproof._registry import Component, Registry
from rankproof._render.grid import RenderOptions

if TYPE_CHECKING:
    from rankproof._data.table import Table
    from rankproof._evaluation.result import Result
    from rankproof._results.experiment_result import ExperimentResult

RenderResult = Callable[["Result", RenderOptions], str]
ShowNote = Callable[[str], None]

RESULT_FORMATS: Registry[RenderResult] = Registry(
    "format",
    "",
    (
        Component("table", "rankproof._render.result:render_text", "a table for the terminal"),
        Component("json", "rankproof._render.result:render_json", "every number, for programs"),
        Component("csv", "rankproof._render.result:render_csv", "one value per line"),
        Component("trec", "rankproof._render.trec:render_trec", "the layout of trec_eval"),
        Component("latex", "rankproof._render.result:render_latex", "a table for a paper"),
        Component("markdown", "rankproof._render.result:render_markdown", "a table for a web page"),
    ),
)
"""The formats of `rankproof eval`."""


def _comparison_table(results: ExperimentResult, show_note: ShowNote, name: Literal["letters", "details"]) -> Table | None:
    """A table of `compare` over all measures; None without two systems and two queries."""
    from rankproof._analysis.compare.compare import compare

    if len(results.result.systems) < 2 or len(results.result.queries) < 2:
        return None
    tables = compare(results.result)
    for note in dict.fromkeys(note for table in tables for note in table.notes):
        show_note(note)
    return next(table for table in tables if table.name == name)


def _csv(results: ExperimentResult, options: RenderOptions, show_note: ShowNote) -> str:
    from rankproof._render.paper import as_long_csv

    return as_long_csv(results)


def _json(results: ExperimentResult, options: RenderOptions, show_note: ShowNote) -> str:
    from rankproof._results.to_json import document_text, results_document

    return document_text(results_document(results, per_query=True))


def _markdown(results: ExperimentResult, options: RenderOptions, show_note: ShowNote) -> str:
    from rankproof._render.systems import systems_markdown
    from rankproof._render.table import as_markdown as as_tables

    letters = _comparison_table(results, show_note, "letters")
    return systems_markdown(results, options) + ("" if letters is None else f"\n{as_tables([letters], options)}")


def _latex(results: ExperimentResult, options: RenderOptions, show_note: ShowNote) -> str:
    from rankproof._render.paper import paper_table

    return paper_table(results, _comparison_table(results, show_note, "letters"))


def _junit(results: ExperimentResult, options: RenderOptions, show_note: ShowNote) -> str:
    from rankproof._render.ci import as_steps_junit

    return as_steps_junit(results, _comparison_table(results, show_note, "details"))


WRITERS: dict[str, Callable[[ExperimentResult, RenderOptions, ShowNote], str]] = {
    "csv": _csv,
    "json": _json,
    "markdown": _markdown,
    "latex": _latex,
    "junit": _junit,
}
