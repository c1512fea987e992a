"""Data frames (pandas, polars, pyarrow, anything with the Arrow stream interface), their columns found by the usual names.

No library is loaded for a frame of another one.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

from ..data.qrels import Judgement, Qrels
from ..data.reading import Reading
from ..data.run import Run, RunRow
from . import arrow
from .arrow_stream import StreamColumns, run_stream, stream_layout
from .columns import Columns, Kind, columns_of
from .faults import fault
from .grades import GradeMap, grade_of_value
from .rows import qrels_of, run_of
from .values import id_of_value, score_of_cell

_LIBRARIES = ("pandas", "polars")


def is_frame(value: object) -> bool:
    """Whether the value is a table that can be read here."""
    return _library(value) is not None or hasattr(value, "__arrow_c_stream__")


def frame_run(frame: Any, name: str = "run", *, reading: Reading | None = None) -> Run:
    """The frame's rows as a run; a row's number from 1 stands for its line."""
    return run_of(_run_rows(frame, name), name=name, source=name, reading=reading or Reading())


def frame_qrels(frame: Any, *, grade_map: GradeMap | None = None, name: str = "qrels") -> Qrels:
    """The frame's rows as judgements."""
    return qrels_of(_judgements(frame, grade_map, name), source=name)


def frame_stream(frame: Any, name: str = "run") -> tuple[object, StreamColumns] | None:
    """The run in the frame as an Arrow stream for alignment, None where it has to go row by row."""
    library = _library(frame)
    if library == "polars":
        return _polars_stream(frame, name)
    if library == "pandas" and find_spec("pyarrow") is None:
        return None
    table = _pandas_table(frame, name) if library == "pandas" else _arrow_table(frame, name)
    return None if table is None else _arrow_stream(table, name)


def _run_rows(frame: Any, source: str) -> Iterator[RunRow]:
    columns, rows = _rows(frame, "run", source)
    for line, cells in rows:
        query, doc, value, *extra = cells
        query = id_of_value(query, "query", source=source, line=line)
        doc = id_of_value(doc, "document", source=source, line=line)
        score = score_of_cell(value, query=query, doc=doc, source=source, line=line)
        rank = extra[0] if columns.rank is not None else None
        tag = extra[-1] if columns.tag is not None else None
        yield RunRow(query, doc, score, rank if type(rank) is int else None, line, tag if isinstance(tag, str) else None)


def _judgements(frame: Any, grade_map: GradeMap | None, source: str) -> Iterator[Judgement]:
    _, rows = _rows(frame, "qrels", source)
    for line, (query, doc, value) in rows:
        query = id_of_value(query, "query", source=source, line=line)
        doc = id_of_value(doc, "document", source=source, line=line)
        yield Judgement(query, doc, grade_of_value(value, grade_map, query=query, doc=doc, source=source, line=line), line)


def _rows(frame: Any, kind: Kind, source: str) -> tuple[Columns, Iterator[tuple[int, tuple[Any, ...]]]]:
    library = _library(frame)
    table = frame if library else _arrow_table(frame, source)
    columns = columns_of(_names(table, library), kind, source=source)
    places = [columns.query, columns.doc, columns.value, columns.rank, columns.tag]
    lists = [_values(table, library, place) for place in places if place is not None]
    return columns, iter(enumerate(zip(*lists, strict=True), start=1))


def _library(value: object) -> str | None:
    for one in type(value).__mro__:
        root = one.__module__.partition(".")[0]
        if root in _LIBRARIES and one.__name__ in ("DataFrame", "LazyFrame"):
            return root
    return None


def _names(table: Any, library: str | None) -> list[str]:
    if type(table).__name__ == "LazyFrame":
        raise fault("frame-lazy")
    return [str(name) for name in (table.columns if library else table.column_names)]


def _values(table: Any, library: str | None, place: int) -> list[Any]:
    """One column as a list, with None for whatever its library takes for missing."""
    if library == "polars":
        return list(table.to_series(place).to_list())
    if library is None:
        return list(table.column(place).to_pylist())
    series = table.iloc[:, place]
    values = series.tolist()
    missing = series.isna()
    return [None if gone else value for value, gone in zip(values, missing, strict=True)] if missing.any() else values


def _polars_stream(frame: Any, source: str) -> tuple[object, StreamColumns] | None:
    import polars as pl

    columns = columns_of(_names(frame, "polars"), "run", source=source)
    query, doc, score = (frame.to_series(place) for place in (columns.query, columns.doc, columns.value))
    textual = all(one.dtype in (pl.String, pl.Categorical, pl.Enum) or one.dtype.is_integer() for one in (query, doc))
    if not textual or not score.dtype.is_numeric():
        return None
    plain = [query.cast(pl.String).alias("query"), doc.cast(pl.String).alias("doc"), score.cast(pl.Float64).alias("score")]
    places = {"rank": -1, "tag": -1}
    for name, place, fits in (("rank", columns.rank, _is_integer), ("tag", columns.tag, _is_string)):
        if place is not None and fits(frame.to_series(place).dtype):
            places[name] = len(plain)
            plain.append(frame.to_series(place).alias(name))
    return pl.DataFrame(plain), StreamColumns(**places)


def _is_integer(kind: Any) -> bool:
    return bool(kind.is_integer())


def _is_string(kind: Any) -> bool:
    return str(kind) == "String"


def _pandas_table(frame: Any, source: str) -> Any:
    """The needed columns as an Arrow table, None where pandas holds values of several types in one."""
    pa = arrow.load_pyarrow()
    columns = columns_of(_names(frame, "pandas"), "run", source=source)
    places = [place for place in (columns.query, columns.doc, columns.value, columns.rank, columns.tag) if place is not None]
    try:
        return pa.Table.from_pandas(frame.iloc[:, places], preserve_index=False)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return None


def _arrow_table(frame: Any, source: str) -> Any:
    pa = arrow.load_pyarrow()
    try:
        return frame if isinstance(frame, pa.Table) else pa.table(frame)
    except (pa.ArrowException, TypeError, ValueError):
        raise fault("frame-shape", source=source, kind=type(frame).__name__) from None


def _arrow_stream(table: Any, source: str) -> tuple[object, StreamColumns]:
    columns, names = stream_layout(table.schema, source)
    return run_stream(table.to_batches(), names, source), columns
