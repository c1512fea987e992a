"""Data frames as the Arrow stream that alignment takes."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from .._extras import extra
from ..data.reading import Order
from .arrow import load_pyarrow
from .arrow_stream import RowStream, StreamColumns, stream_layout
from .columns import columns_of
from .frame_tables import arrow_table, library_of, names_of
from .values import rank_of_value


def frame_stream(frame: Any, name: str = "run", order: Order = "score") -> tuple[object, StreamColumns] | None:
    """The run in the frame as an Arrow stream for alignment, None where it has to go row by row."""
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
    columns = columns_of(names_of(frame), "run", source=source, order=order)
    query, doc, score = (frame.to_series(place) for place in (columns.query, columns.doc, columns.value))
    textual = all(one.dtype in texts or one.dtype.is_integer() for one in (query, doc))
    if not textual or (columns.scored and not score.dtype.is_numeric()):
        return None
    parts = {"query": query.cast(pl.String), "doc": doc.cast(pl.String), "score": score}
    if columns.rank is not None:
        parts["rank"] = _polars_ranks(frame.to_series(columns.rank))
    if not columns.scored:
        # A rank that is missing is refused by alignment, which must not take its score for missing first.
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


def _pandas_table(frame: Any, source: str, order: Order) -> Any:
    """The needed columns as an Arrow table, None where pandas holds values of several types in one."""
    pa = load_pyarrow()
    columns = columns_of(names_of(frame), "run", source=source, order=order)
    needed = frame.iloc[:, list(columns.places)]
    try:
        table = pa.Table.from_pandas(needed, preserve_index=False)
        # Pandas' own reading takes a score that is no number for one that is missing.
        scores = pa.array(needed.iloc[:, columns.alone().value], from_pandas=False)
        return table.set_column(columns.alone().value, table.column_names[columns.alone().value], scores)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return None
