"""`import_dataset` as a function."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from rankproof._data.grades import GradeMap
from rankproof._data.row_errors import OnConflict
from rankproof._data.validation import FILES
from rankproof._importers.base import Imported, ImportOptions
from rankproof._importers.folder import check_import_folder, write_imported
from rankproof._importers.registry import import_source
from rankproof._io.open import path_text
from rankproof._registry import Option


def import_dataset(
    source: Annotated[Any, Option("a path, a list of paths, or a data frame", typed=FILES)],
    path: Annotated[str | os.PathLike[str] | None, Option("the folder to write the dataset to")] = None,
    *,
    importer: Annotated[str | None, Option("the kind of source", unset="detected")] = None,
    query_column: Annotated[str | None, Option("the column of queries", unset="recognised by name")] = None,
    query_id_column: Annotated[str | None, Option("the column of query ids", unset="recognised by name")] = None,
    doc_id_column: Annotated[str | None, Option("the column of document ids", unset="recognised by name")] = None,
    title_column: Annotated[str | None, Option("the column of titles", unset="recognised by name")] = None,
    text_column: Annotated[
        str | Sequence[str], Option("the column of texts, or several that are joined", unset="recognised by name")
    ] = (),
    grade_column: Annotated[str | None, Option("the column of grades", unset="recognised by name")] = None,
    weight_column: Annotated[
        str | None, Option("the column of each query's share of the traffic", unset="recognised by name")
    ] = None,
    grade_map: Annotated[GradeMap | None, Option("the grade of each named label")] = None,
    on_conflict: Annotated[OnConflict, Option("which grade to keep if a document is judged twice")] = "error",
    split: Annotated[str, Option("the part of the source")] = "test",
    delimiter: Annotated[str | None, Option("column separator", unset="detected")] = None,
    encoding: Annotated[str, Option("encoding of the files")] = "utf-8",
    settings: Annotated[Mapping[str, str] | None, Option("settings of the importer")] = None,
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
