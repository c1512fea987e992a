"""The formats of `rankproof export`."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rankproof._render.options import RenderOptions
from rankproof.errors import ExternalError, UsageError, for_message

if TYPE_CHECKING:
    from rankproof._analysis.compare.comparison import Comparison
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


def chosen_export(format: str | None, path: str | None) -> tuple[str, ExportFormat]:
    """The format by its name, or by the suffix of the file before one of compression; csv without both."""
    from rankproof._render.registry import EXPORT_FORMATS

    name = format or ("csv" if path is None else _suffix(path))
    if name not in EXPORT_FORMATS:
        what = f"there is no format {for_message(name)}" if format else f"{for_message(path or '')} has no known suffix"
        raise UsageError(what, fix=f"choose a format with --format: {', '.join(EXPORT_FORMATS)}")
    export_format = EXPORT_FORMATS[name]
    if not isinstance(export_format, ExportFormat):
        raise ExternalError(f"the export format {name} of another package is not an ExportFormat; update or remove it")
    return next((component.name for component in EXPORT_FORMATS.components if name in component.aliases), name), export_format


def _suffix(path: str) -> str:
    return os.path.splitext(path.removesuffix(".gz").removesuffix(".zst"))[1].lower().removeprefix(".")


def _comparison(results: ExperimentResult, show_note: ShowNote) -> Comparison | None:
    """The comparison of the systems; None if no pair of them was tested."""
    from rankproof._analysis.compare.comparison import compare_inputs
    from rankproof._analysis.inputs import input_from_results

    try:
        comparison = compare_inputs(input_from_results(results))
    except UsageError:
        return None
    for note in comparison.notes if comparison.pairs else ():
        show_note(note)
    return comparison if comparison.pairs else None


def _letters(results: ExperimentResult, show_note: ShowNote) -> Table | None:
    """The table of significance letters; None if nothing was tested."""
    comparison = _comparison(results, show_note)
    return None if comparison is None else next(table for table in comparison.tables if table.name == "letters")


def _csv(results: ExperimentResult, options: RenderOptions, show_note: ShowNote) -> bytes:
    from rankproof._render.paper import as_long_csv

    return _encoded(as_long_csv(results))


def _json(results: ExperimentResult, options: RenderOptions, show_note: ShowNote) -> bytes:
    from rankproof._results.result_json import document_text, results_document

    return _encoded(document_text(results_document(results, per_query=True)))


def _markdown(results: ExperimentResult, options: RenderOptions, show_note: ShowNote) -> bytes:
    from rankproof._render.systems import systems_markdown
    from rankproof._render.table import as_markdown as as_tables

    letters = _letters(results, show_note)
    return _encoded(systems_markdown(results, options) + ("" if letters is None else f"\n{as_tables([letters], options)}"))


def _latex(results: ExperimentResult, options: RenderOptions, show_note: ShowNote) -> bytes:
    from rankproof._render.paper import paper_table

    return _encoded(paper_table(results, _letters(results, show_note)))


def _junit(results: ExperimentResult, options: RenderOptions, show_note: ShowNote) -> bytes:
    from rankproof._render.ci import as_steps_junit

    return _encoded(as_steps_junit(results, _comparison(results, show_note)))


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
