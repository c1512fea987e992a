"""`convert` as a function."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Literal

from rankproof._data.row_errors import OnConflict, OnDuplicate
from rankproof._data.validation import DELIMITER, ENCODING, GRADE_MAP, ON_CONFLICT, ON_DUPLICATE, public
from rankproof._registry import Option

if TYPE_CHECKING:
    from rankproof._formats.write import ConvertResult


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
