"""The output formats of results, of `rankproof eval` and `rankproof export`, and the options of rendering."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rankproof._registry import Component, Registry
from rankproof.errors import ExternalError, UsageError, for_message

if TYPE_CHECKING:
    from rankproof._analysis.compare.comparison import Comparison
    from rankproof._data.table import Table
    from rankproof._evaluation.result import Result
    from rankproof._results.experiment_result import ExperimentResult


@dataclass(frozen=True, slots=True)
class RenderOptions:
    """Options for printing; `width` is the number of characters per line, and `wrap` wraps longer lines.

    `rel` is the relevance threshold, which names of trec_eval leave out. `summary` is False for values of queries alone.
    `trec_names` are names in the output of trec_eval, by measure.
    """

    per_query: bool = False
    width: int = 80
    wrap: bool = False
    colour: bool = False
    verbose: bool = False
    rel: int = 1
    summary: bool = True
    trec_names: Mapping[str, str] = field(default_factory=dict)


RenderResult = Callable[["Result", RenderOptions], str]

RESULT_FORMATS: Registry[RenderResult] = Registry(
    "format",
    "rankproof.result_formats",
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

_EXPORTS = __name__
EXPORT_FORMATS: Registry[ExportFormat] = Registry(
    "export format",
    "rankproof.export_formats",
    (
        Component("csv", f"{_EXPORTS}:CSV", "every number, one per line"),
        Component("json", f"{_EXPORTS}:JSON", "as result.json, with the values of each query"),
        Component("markdown", f"{_EXPORTS}:MARKDOWN", "the systems and their significant differences", aliases=("md",)),
        Component("latex", f"{_EXPORTS}:LATEX", "a table for a paper", aliases=("tex",)),
        Component("junit", f"{_EXPORTS}:JUNIT", "a test case for each system and measure, for CI", aliases=("xml",)),
        Component("parquet", f"{_EXPORTS}:PARQUET", "every number, one per row"),
        Component("claims-csv", f"{_EXPORTS}:CLAIMS_CSV", "which chunk supports which claim of an answer, one per row"),
        Component("claims-json", f"{_EXPORTS}:CLAIMS_JSON", "the same as JSON"),
    ),
)
"""The formats of `rankproof export`; the suffix of a file is a name or an alias."""
DEFAULT_MLFLOW_URI = "sqlite:///mlruns.db"
"""Where `rankproof export --to mlflow` logs unless said otherwise."""


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


def _claims(results: ExperimentResult, options: RenderOptions, show_note: ShowNote) -> bytes:
    from rankproof._analysis.answers.claim_chunks import claim_chunks
    from rankproof._render.table import as_csv

    return _encoded(as_csv([claim_chunks(results)], options))


def _claims_json(results: ExperimentResult, options: RenderOptions, show_note: ShowNote) -> bytes:
    from rankproof._analysis.answers.claim_chunks import claim_chunks
    from rankproof._render.table import as_json

    return _encoded(as_json([claim_chunks(results)], options))


CSV = ExportFormat(_csv)
JSON = ExportFormat(_json)
MARKDOWN = ExportFormat(_markdown, tests=True)
LATEX = ExportFormat(_latex, tests=True)
JUNIT = ExportFormat(_junit, tests=True)
PARQUET = ExportFormat(_parquet, is_binary=True)
CLAIMS_CSV = ExportFormat(_claims)
CLAIMS_JSON = ExportFormat(_claims_json)
