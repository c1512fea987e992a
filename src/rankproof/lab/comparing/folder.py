"""The folder of a comparison: tables, conclusion and charts, written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Mapping

from ...errors import UsageError, shown
from ...experiment.results.swap import check_place, replaced_folder
from ...formats.atomic import write_blocks
from ...formats.opening import StrPath, path_text
from .comparison import Comparison
from .csv_files import comparison_csv, queries_csv
from .document import FORMAT, comparison_json

DOCUMENT, TABLE, QUERIES, CONCLUSION = "comparison.json", "comparison.csv", "queries.csv", "conclusion.md"
_KIND = "folder of a comparison"
CHARTS = ("quality", "latency", "pareto", "typos", "languages")
_BEGINNING = 4096


def save_comparison(comparison: Comparison, path: StrPath, *, conclusion: str, charts: Mapping[str, bytes] | None = None) -> str:
    """Writes the comparison as the folder at the path, in place of an older one; gives the path.

    `conclusion` is the page for people, `charts` the pictures by the name of their file.
    """
    goal = path_text(path)
    pages = {TABLE: comparison_csv(comparison), QUERIES: queries_csv(comparison), CONCLUSION: conclusion}
    with replaced_folder(goal, _may_replace, kind=_KIND) as folder:
        for name, text in pages.items():
            write_blocks(os.path.join(folder, name), [text.encode(errors="backslashreplace")])
        for name, picture in (charts or {}).items():
            write_blocks(os.path.join(folder, f"{name}.png"), [picture])
        document = comparison_json(comparison)
        write_blocks(os.path.join(folder, DOCUMENT), [document.encode(errors="backslashreplace")])
    return goal


def check_comparison_folder(path: StrPath) -> None:
    """Refuses, before any work is done, a place at which a comparison could not be written."""
    check_place(path_text(path), _may_replace, kind=_KIND)


def is_comparison(path: str) -> bool:
    """Whether the folder's document begins as ours does."""
    try:
        with open(os.path.join(path, DOCUMENT), "rb") as file:
            return f'"format": "{FORMAT}"'.encode() in file.read(_BEGINNING)
    except OSError:
        return False


def _may_replace(path: str) -> bool:
    """Whether it is a comparison; one with other files in it is refused, for they would be lost."""
    if not is_comparison(path):
        return False
    ours = (DOCUMENT, TABLE, QUERIES, CONCLUSION, *(f"{name}.png" for name in CHARTS))
    for name in sorted(os.listdir(path)):
        if name not in ours:
            fix = "move it elsewhere, or name another folder"
            raise UsageError(f"{path} holds {shown(name)}, which is no part of a comparison", fix=fix)
    return True
