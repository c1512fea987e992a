"""`import_dataset` as a function."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from rankproof._data.grades import GradeMap
from rankproof._data.row_errors import OnConflict
from rankproof._importers.base import Imported, ImportOptions
from rankproof._importers.folder import check_import_folder, write_imported
from rankproof._importers.registry import import_source
from rankproof._io.open import path_text


def import_dataset(
    source: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    importer: str | None = None,
    query_column: str | None = None,
    query_id_column: str | None = None,
    doc_id_column: str | None = None,
    title_column: str | None = None,
    text_column: str | Sequence[str] = (),
    grade_column: str | None = None,
    weight_column: str | None = None,
    grade_map: GradeMap | None = None,
    on_conflict: OnConflict = "error",
    split: str = "test",
    delimiter: str | None = None,
    encoding: str = "utf-8",
    settings: Mapping[str, str] | None = None,
) -> Imported:
    """The dataset in a table, a folder or another tool's export, with what was read, kept and dropped.

    `source` is a path, a list of paths, or a data frame. The columns of a table need names only where theirs do not tell; several
    columns of text are joined. `weight_column` has each query's share of the traffic. With `path`, the dataset is also written
    there as a folder.
    """
    options = ImportOptions(
        query_column=query_column,
        query_id_column=query_id_column,
        doc_id_column=doc_id_column,
        title_column=title_column,
        text_column=(text_column,) if isinstance(text_column, str) else tuple(text_column),
        grade_column=grade_column,
        weight_column=weight_column,
        grade_map=grade_map,
        on_conflict=on_conflict,
        split=split,
        settings=dict(settings or {}),
    )
    target = None if path is None else path_text(path, "path")
    if target is not None:
        check_import_folder(target)
    imported = import_source(source, options, importer=importer, delimiter=delimiter, encoding=encoding)
    if target is not None:
        write_imported(imported, target)
    return imported
