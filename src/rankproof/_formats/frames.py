"""Runs and qrels from data frames of pandas, polars, pyarrow and others with the Arrow stream interface."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from typing import Any

from rankproof._data.grades import GradeMap, GradeReader
from rankproof._data.qrels import Judgement, Qrels
from rankproof._data.row_errors import OnConflict
from rankproof._data.run import Run, RunRow
from rankproof._data.validation import Order, ReadOptions
from rankproof._extras import extra
from rankproof._formats.arrow import RowStream, StreamColumns, judgements, load_pyarrow, run_rows, stream_layout
from rankproof._formats.columns import Columns, find_columns
from rankproof._formats.rows import build_qrels, build_run, is_nan, judgement, rank_of_value, run_row
from rankproof._io.file_errors import file_error

_LIBRARIES = ("pandas", "polars")


def is_frame(value: object) -> bool:
    """Whether the value is a supported table."""
    return library_of(value) is not None or hasattr(value, "__arrow_c_stream__")


def library_of(value: object) -> str | None:
    """`pandas` or `polars`, None for anything else."""
    for base in type(value).__mro__:
        root = base.__module__.partition(".")[0]
        if root in _LIBRARIES and base.__name__ in ("DataFrame", "LazyFrame"):
            return root
    return None


def column_names(table: Any) -> list[str]:
    """The names of the columns."""
    if type(table).__name__ == "LazyFrame":
        raise file_error("frame-lazy")
    return [str(name) for name in getattr(table, "column_names", table.columns)]


def with_usual_names(frame: Any, names: Mapping[str, str], source: str = "table") -> Any:
    """The frame with these columns under these names."""
    if list(names) == list(names.values()) == column_names(frame):
        return frame
    library = library_of(frame)
    if library is None:
        return arrow_table(frame, source).select(list(names)).rename_columns(list(names.values()))
    chosen = frame.select(list(names)) if library == "polars" else frame.loc[:, list(names)]
    return chosen.rename(dict(names)) if library == "polars" else chosen.set_axis(list(names.values()), axis=1)


def arrow_table(frame: Any, source: str) -> Any:
    """Anything with the Arrow stream interface as a pyarrow table."""
    pa = load_pyarrow()
    try:
        return frame if isinstance(frame, pa.Table) else pa.table(frame)
    except (pa.ArrowException, TypeError, ValueError):
        raise file_error("frame-shape", source=source, kind=type(frame).__name__) from None


def run_from_frame(frame: Any, name: str = "run", *, read_options: ReadOptions | None = None) -> Run:
    """The rows of the frame as a run; row numbers from 1 are its lines."""
    how = read_options or ReadOptions()
    return build_run(_run_rows(frame, name, how), name=name, source=name, read_options=how)


def qrels_from_frame(
    frame: Any, *, grade_map: GradeMap | None = None, on_conflict: OnConflict = "error", name: str = "qrels"
) -> Qrels:
    """The rows of the frame as judgements."""
    grades = GradeReader(name, grade_map)
    return build_qrels(_judgements(frame, grades), grades, on_conflict)


def _run_rows(frame: Any, source: str, read_options: ReadOptions) -> Iterator[RunRow]:
    library = library_of(frame)
    if library is None:
        table = arrow_table(frame, source)
        places, names = stream_layout(table.schema, source, read_options.order)
        yield from run_rows(table.to_batches(), names, places, source)
        return
    columns = find_columns(column_names(frame), "run", source=source, order=read_options.order)
    for line, cells in _numbered_rows(frame, library, columns):
        yield run_row(cells, columns.compacted(), source=source, line=line)


def _judgements(frame: Any, grades: GradeReader) -> Iterator[Judgement]:
    library = library_of(frame)
    table = frame if library else arrow_table(frame, grades.source)
    columns = find_columns(column_names(table), "qrels", source=grades.source)
    if library is None:
        names = [table.column_names[place] for place in columns.places]
        yield from judgements(table.to_batches(), names, columns.compacted(), grades)
        return
    for line, cells in _numbered_rows(frame, library, columns):
        yield judgement(cells, columns.compacted(), grades, line=line)


def column_lists(frame: Any) -> list[list[Any]]:
    """Every column of a pandas or polars frame as a list."""
    library = library_of(frame)
    assert library is not None, "a frame of pandas or polars"
    return [_values(frame, library, place) for place in range(len(column_names(frame)))]


def _numbered_rows(frame: Any, library: str, columns: Columns) -> Iterator[tuple[int, tuple[Any, ...]]]:
    lists = [_values(frame, library, place) for place in columns.places]
    return enumerate(zip(*lists, strict=True), start=1)


def _values(frame: Any, library: str, place: int) -> list[Any]:
    """One column as a list, with None for missing values other than NaN."""
    if library == "polars":
        return list(frame.to_series(place).to_list())
    series = frame.iloc[:, place]
    values = series.tolist()
    missing = series.isna()
    if not missing.any():
        return list(values)
    return [None if is_missing and not is_nan(value) else value for value, is_missing in zip(values, missing, strict=True)]


def frame_stream(frame: Any, name: str = "run", order: Order = "score") -> tuple[object, StreamColumns] | None:
    """The run in the frame as an Arrow stream for alignment, None if it must be read row by row."""
    library = library_of(frame)
    if library == "polars":
        return _polars_stream(frame, name, order)
    if library == "pandas" and find_spec("pyarrow") is None:
        return None
    table = _pandas_table(frame, name, order) if library == "pandas" else arrow_table(frame, name)
    if table is None:
        return None
    places, names = stream_layout(table.schema, name, order)
    return RowStream(table.to_batches, names, places, name), places


def _polars_stream(frame: Any, source: str, order: Order) -> tuple[object, StreamColumns] | None:
    with extra("polars"):
        import polars as pl

    texts = (pl.String, pl.Categorical, pl.Enum)
    columns = find_columns(column_names(frame), "run", source=source, order=order)
    query, doc, score = (frame.to_series(place) for place in (columns.query, columns.doc, columns.value))
    textual = all(ids.dtype in texts or ids.dtype.is_integer() for ids in (query, doc))
    if not textual or (columns.scored and not score.dtype.is_numeric()):
        return None
    parts = {"query": query.cast(pl.String), "doc": doc.cast(pl.String), "score": score}
    if columns.rank is not None:
        parts["rank"] = _polars_ranks(frame.to_series(columns.rank))
    if not columns.scored:
        # Alignment rejects a missing rank; a missing score would be rejected first.
        parts["score"] = -parts["rank"].cast(pl.Float64).fill_null(0.0)
    if columns.tag is not None and frame.to_series(columns.tag).dtype in texts:
        parts["tag"] = frame.to_series(columns.tag).cast(pl.String)
    parts["score"] = parts["score"].cast(pl.Float64)
    return pl.DataFrame(parts), StreamColumns(**{name: place for place, name in enumerate(parts)})


def _polars_ranks(series: Any) -> Any:
    with extra("polars"):
        import polars as pl

    if series.dtype.is_integer():
        return series
    return pl.Series([rank_of_value(value) for value in series.to_list()], dtype=pl.Int64)


_OBJECT_TYPES = ("string", "integer", "floating", "mixed-integer-float", "boolean", "bytes", "decimal", "empty")


def _is_of_one_type(series: Any) -> bool:
    """Whether pyarrow can convert the column: a datetime64 beside another type in a column of objects crashes it."""
    with extra("pandas"):
        from pandas.api.types import infer_dtype

    return series.dtype != object or infer_dtype(series, skipna=True) in _OBJECT_TYPES


def _pandas_table(frame: Any, source: str, order: Order) -> Any:
    """The needed columns as an Arrow table, None if a column has values of several types."""
    pa = load_pyarrow()
    columns = find_columns(column_names(frame), "run", source=source, order=order)
    needed = frame.iloc[:, list(columns.places)]
    if not all(_is_of_one_type(needed.iloc[:, place]) for place in range(needed.shape[1])):
        return None
    try:
        table = pa.Table.from_pandas(needed, preserve_index=False)
        # By default, pyarrow reads NaN in pandas as missing.
        scores = pa.array(needed.iloc[:, columns.compacted().value], from_pandas=False)
        return table.set_column(columns.compacted().value, table.column_names[columns.compacted().value], scores)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return None
