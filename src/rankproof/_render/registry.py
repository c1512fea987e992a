"""The output formats of results: those of `rankproof eval`, and those of `rankproof export`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from rankproof._registry import Component, Registry
from rankproof._render.options import RenderOptions

if TYPE_CHECKING:
    from rankproof._evaluation.result import Result
    from rankproof._render.exports import ExportFormat

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

_EXPORTS = "rankproof._render.exports"
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
    ),
)
"""The formats of `rankproof export`; the suffix of a file is a name or an alias."""
DEFAULT_MLFLOW_URI = "sqlite:///mlruns.db"
"""Where `rankproof export --to mlflow` logs unless said otherwise."""
