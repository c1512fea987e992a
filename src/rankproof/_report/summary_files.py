"""A summary as files: which formats a report has, and Markdown for a comment on a pull request."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from rankproof._data.table import Table
from rankproof._io.escape import for_github
from rankproof._render.table import markdown_table
from rankproof.errors import UsageError, for_message

if TYPE_CHECKING:
    from rankproof._report.summary import ReportSummary, SummaryPart

Format = Literal["html", "png", "markdown"]
FORMATS: tuple[Format, ...] = ("html", "png", "markdown")
_SUFFIXES: dict[str, Format] = {".png": "png", ".md": "markdown", ".markdown": "markdown"}
_OTHER_SUFFIXES = (".jpg", ".jpeg", ".gif", ".webp", ".svg", ".pdf", ".docx", ".pptx", ".xlsx", ".csv", ".json")
"""Suffixes of formats that a report does not have."""


def report_format(path: str) -> Format:
    """The format of a file by its suffix, html if it has none of these; a suffix of another kind of file is an error."""
    if path.lower().endswith(_OTHER_SUFFIXES):
        raise UsageError(
            f"a report cannot be written as {for_message(path)}", fix="choose a file that ends in .html, .png or .md"
        )
    return next((format for suffix, format in _SUFFIXES.items() if path.lower().endswith(suffix)), "html")


def summary_content(summary: ReportSummary, format: str) -> bytes:
    """The decision and the table as the bytes of a file."""
    from rankproof._report.summary_chart import summary_png

    return summary_png(summary) if format == "png" else summary_markdown(summary).encode(errors="backslashreplace")


_MAX_TABLE = 20_000
"""The most characters of a table, so that the decision and some details fit in a comment."""
_MAX_SENTENCE = 2_000


def summary_markdown(summary: ReportSummary) -> str:
    """The decision, the table of systems, and folded details; at most 65,000 characters."""
    from rankproof._render.ci import limited_comment

    return limited_comment(list(_parts(summary)))


def _parts(summary: ReportSummary) -> Iterator[str]:
    lead, *more = summary.sentences or ("There is nothing to show.",)
    yield f"### {_text(lead)}"
    if more:
        yield " ".join(map(_text, more))
    if summary.table.rows:
        yield limited_table(summary.table)
    if summary.legend:
        yield f"<sub>{_text(summary.legend)}</sub>"
    yield f"<sub>{' · '.join(map(_text, (*summary.about, 'rankproof')))}</sub>"
    for part in summary.details:
        yield from _folded(part)


def _text(sentence: str) -> str:
    shown = for_github(sentence)
    return shown if len(shown) <= _MAX_SENTENCE else for_github(f"{sentence[: _MAX_SENTENCE // 8]}…")


def _folded(part: SummaryPart) -> list[str]:
    from rankproof._render.ci import folded_part

    lines = ["\n".join(f"- {_text(sentence)}" for sentence in part.sentences)] if part.sentences else []
    if part.table is not None:
        lines.append(limited_table(part.table))
    return folded_part(part.title, *lines) if lines else []


def limited_table(table: Table, most: int = _MAX_TABLE) -> str:
    """The table in at most so many characters; the last line says how many rows are left out."""
    safe = replace(table, rows=tuple((for_message(str(name)), *cells) for name, *cells in table.rows))
    lines = markdown_table(safe, for_github).splitlines()
    shown: list[str] = []
    size = 0
    for line in lines:
        size += len(line) + 1
        if size > most and len(shown) > 1:
            break
        shown.append(line)
    left = len(lines) - len(shown)
    return "\n".join(shown) + (f"\n\n… and {left:,} more rows" if left else "")
