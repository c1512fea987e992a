"""The formats of `rankproof export`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from rankproof._render.grid import RenderOptions

if TYPE_CHECKING:
    from rankproof._data.table import Table
    from rankproof._results.experiment_result import ExperimentResult

ShowNote = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class ExportFormat:
    """Writes results as the bytes of a file.

    `tests` says that it shows the tests of `compare`, `is_binary` that it cannot go to standard output.
    """

    write: Callable[[ExperimentResult, RenderOptions, ShowNote], bytes]
    tests: bool = False
    is_binary: bool = False


def _comparison_table(results: ExperimentResult, show_note: ShowNote, name: Literal["letters", "details"]) -> Table | None:
    """A table of `compare` over all measures; None without two systems and two queries."""
    from rankproof._analysis.compare.compare import compare

    if len(results.result.systems) < 2 or len(results.result.queries) < 2:
        return None
    tables = compare(results.result)
    for note in dict.fromkeys(note for table in tables for note in table.notes):
        show_note(note)
    return next(table for table in tables if table.name == name)


def _csv(results: ExperimentResult, options: RenderOptions, show_note: ShowNote) -> bytes:
    from rankproof._render.paper import as_long_csv

    return _encoded(as_long_csv(results))


def _json(results: ExperimentResult, options: RenderOptions, show_note: ShowNote) -> bytes:
    from rankproof._results.to_json import document_text, results_document

    return _encoded(document_text(results_document(results, per_query=True)))


def _markdown(results: ExperimentResult, options: RenderOptions, show_note: ShowNote) -> bytes:
    from rankproof._render.systems import systems_markdown
    from rankproof._render.table import as_markdown as as_tables

    letters = _comparison_table(results, show_note, "letters")
    return _encoded(systems_markdown(results, options) + ("" if letters is None else f"\n{as_tables([letters], options)}"))


def _latex(results: ExperimentResult, options: RenderOptions, show_note: ShowNote) -> bytes:
    from rankproof._render.paper import paper_table

    return _encoded(paper_table(results, _comparison_table(results, show_note, "letters")))


def _junit(results: ExperimentResult, options: RenderOptions, show_note: ShowNote) -> bytes:
    from rankproof._render.ci import as_steps_junit

    return _encoded(as_steps_junit(results, _comparison_table(results, show_note, "details")))


def _parquet(results: ExperimentResult, options: RenderOptions, show_note: ShowNote) -> bytes:
    from rankproof._render.paper import as_parquet

    return as_parquet(results)


def _encoded(text: str) -> bytes:
    return text.encode(errors="backslashreplace")


CSV = ExportFormat(_csv)
JSON = ExportFormat(_json)
MARKDOWN = ExportFormat(_markdown, tests=True)
LATEX = ExportFormat(_latex, tests=True)
JUNIT = ExportFormat(_junit, tests=True)
PARQUET = ExportFormat(_parquet, is_binary=True)
