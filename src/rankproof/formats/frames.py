"""Data frames (pandas, polars, pyarrow, anything with the Arrow stream interface), their columns found by the usual names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..data.qrels import Judgement, Qrels
from ..data.reading import Reading
from ..data.run import Run, RunRow
from .arrow_rows import judgements, run_rows
from .arrow_stream import stream_layout
from .cells import judgement, run_row
from .columns import Columns, columns_of
from .frame_tables import arrow_table, library_of, names_of
from .grades import GradeMap, checked_grade_map
from .rows import qrels_of, run_of
from .values import is_nan


def frame_run(frame: Any, name: str = "run", *, reading: Reading | None = None) -> Run:
    """The frame's rows as a run; a row's number from 1 stands for its line."""
    how = reading or Reading()
    return run_of(_run_rows(frame, name, how), name=name, source=name, reading=how)


def frame_qrels(frame: Any, *, grade_map: GradeMap | None = None, name: str = "qrels") -> Qrels:
    """The frame's rows as judgements."""
    return qrels_of(_judgements(frame, checked_grade_map(grade_map), name), source=name)


def _run_rows(frame: Any, source: str, reading: Reading) -> Iterator[RunRow]:
    library = library_of(frame)
    if library is None:
        table = arrow_table(frame, source)
        places, names = stream_layout(table.schema, source, reading.order)
        yield from run_rows(table.to_batches(), names, places, source)
        return
    columns = columns_of(names_of(frame), "run", source=source, order=reading.order)
    for line, cells in _numbered(frame, library, columns):
        yield run_row(cells, columns.alone(), source=source, line=line)


def _judgements(frame: Any, grade_map: GradeMap | None, source: str) -> Iterator[Judgement]:
    library = library_of(frame)
    table = frame if library else arrow_table(frame, source)
    columns = columns_of(names_of(table), "qrels", source=source)
    if library is None:
        names = [table.column_names[place] for place in columns.places]
        yield from judgements(table.to_batches(), names, source, grade_map)
        return
    for line, cells in _numbered(frame, library, columns):
        yield judgement(cells, columns.alone(), grade_map, source=source, line=line)


def _numbered(frame: Any, library: str, columns: Columns) -> Iterator[tuple[int, tuple[Any, ...]]]:
    lists = [_values(frame, library, place) for place in columns.places]
    return enumerate(zip(*lists, strict=True), start=1)


def _values(frame: Any, library: str, place: int) -> list[Any]:
    """One column as a list, with None for whatever its library takes for missing, but for a float that is no number."""
    if library == "polars":
        return list(frame.to_series(place).to_list())
    series = frame.iloc[:, place]
    values = series.tolist()
    missing = series.isna()
    if not missing.any():
        return list(values)
    return [None if gone and not is_nan(value) else value for value, gone in zip(values, missing, strict=True)]
