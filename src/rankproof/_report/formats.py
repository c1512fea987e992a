"""The formats of a report: the whole page, or the decision and the table as a picture or Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from rankproof._report.summary import Summary

Format = Literal["html", "png", "markdown"]
FORMATS: tuple[Format, ...] = ("html", "png", "markdown")
_SUFFIXES: dict[str, Format] = {".png": "png", ".md": "markdown", ".markdown": "markdown"}


def report_format(path: str) -> Format:
    """The format of a file by its suffix; html if it has no other."""
    return next((format for suffix, format in _SUFFIXES.items() if path.lower().endswith(suffix)), "html")


def summary_content(summary: Summary, format: str) -> bytes:
    """The decision and the table as the bytes of a file."""
    from rankproof._report.summary_chart import summary_png
    from rankproof._report.summary_markdown import summary_markdown

    return summary_png(summary) if format == "png" else summary_markdown(summary).encode(errors="backslashreplace")
