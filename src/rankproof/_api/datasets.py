"""`import_dataset`"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

from rankproof._data.row_errors import OnConflict, OnDuplicate
from rankproof._data.validation import DELIMITER, ENCODING, FILES, GRADE_MAP, ON_CONFLICT, ON_DUPLICATE, public
from rankproof._registry import Option

if TYPE_CHECKING:
    from rankproof._formats.write import ConvertResult
    from rankproof._importers.base import Imported


def _column(what: str, *, unset: str = "recognised by name", repeated: bool = False) -> Option:
    return Option(what, unset=unset, metavar="C", repeated=repeated, rare=True)


@public
def import_dataset(
    source: Annotated[Any, Option("a path, a list of paths, or a data frame", typed=FILES)],
    path: Annotated[str | os.PathLike[str] | None, Option("the folder to write the dataset to")] = None,
    *,
    importer: Annotated[str | None, Option("the kind of the source", unset="detected", flag="--from", metavar="NAME")] = None,
    query_column: Annotated[str | None, _column("the column with the text of the query")] = None,
    query_id_column: Annotated[
        str | None, _column("the column with the id of the query", unset="recognised by name, else made from the text")
    ] = None,
    doc_id_column: Annotated[
        str | None, _column("the column with the id of the document", unset="recognised by name, else made from title and text")
    ] = None,
    title_column: Annotated[str | None, _column("the column with the title of the document")] = None,
    text_column: Annotated[
        str | Sequence[str], _column("the column with the text of the document; several are joined", repeated=True)
    ] = (),
    grade_column: Annotated[str | None, _column("the column with the grade or label of query and document")] = None,
    weight_column: Annotated[
        str | None, _column("the column with the weight of the query: its share of the traffic, in any unit")
    ] = None,
    grade_map: Annotated[Mapping[str, int] | None, GRADE_MAP] = None,
    on_conflict: Annotated[OnConflict, ON_CONFLICT] = "error",
    split: Annotated[str, Option("the split to import", metavar="NAME")] = "test",
    delimiter: Annotated[str | None, DELIMITER] = None,
    encoding: Annotated[str, ENCODING] = "utf-8",
    settings: Annotated[
        Mapping[str, str] | None, Option("a setting of the importer", flag="--set", metavar="NAME=VALUE", repeated=True)
    ] = None,
) -> Imported:
    """The dataset in a table, a folder or another tool's export, with what was read, kept and dropped.

    With `path`, the dataset is also written there as a folder.
    """
    from rankproof._importers.base import ImportOptions
    from rankproof._importers.folder import check_import_folder, write_imported
    from rankproof._importers.registry import import_source
    from rankproof._io.open import path_text

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


@public
def convert(
    source: Annotated[str | os.PathLike[str], Option("a file, a dataset folder, irds:NAME or sample", metavar="IN")],
    target: Annotated[str | os.PathLike[str], Option("the file or folder to write", metavar="OUT")],
    *,
    kind: Annotated[Literal["run", "qrels", "dataset"] | None, Option("what the source is", unset="detected")] = None,
    source_format: Annotated[
        str | None, Option("format of the source", unset="detected", flag="--from", metavar="FORMAT")
    ] = None,
    target_format: Annotated[
        str | None,
        Option("format of the target; .gz and .zst compress", unset="by its suffix", flag="--to", metavar="FORMAT"),
    ] = None,
    delimiter: Annotated[str | None, DELIMITER] = None,
    encoding: Annotated[str, ENCODING] = "utf-8",
    grade_map: Annotated[Mapping[str, int] | None, GRADE_MAP] = None,
    on_conflict: Annotated[OnConflict, ON_CONFLICT] = "error",
    on_duplicate: Annotated[OnDuplicate, ON_DUPLICATE] = "error",
) -> ConvertResult:
    """Converts a run, judgements or a dataset to another format, and says what was written.

    >>> import rankproof as rp
    >>> rp.convert("sample", "judgements.qrels")
    qrels written as trec: 124 queries, 7,291 rows
    """
    from rankproof._formats.write import convert_file

    return convert_file(
        source,
        target,
        kind=kind,
        source_format=source_format,
        target_format=target_format,
        delimiter=delimiter,
        encoding=encoding,
        grade_map=grade_map,
        on_conflict=on_conflict,
        on_duplicate=on_duplicate,
    )
