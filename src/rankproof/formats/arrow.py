"""Columns of Arrow, of Parquet files and frames, in the few types that rows are made of."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._extras import extra
from .faults import fault
from .values import id_of_value, rank_of_value

_BYTES = ("binary", "large_binary", "binary_view", "fixed_size_binary")
_TEXTS = ("string", "large_string", "string_view")


def load_pyarrow() -> Any:
    """The library, or the error that says how to get it."""
    with extra("parquet"):
        import pyarrow
    return pyarrow


def is_text(kind: Any) -> bool:
    """Whether a column of the type holds text, perhaps by dictionary."""
    values = kind.value_type if load_pyarrow().types.is_dictionary(kind) else kind
    return str(values) in _TEXTS


def plain_ids(column: Any, role: str, name: str, source: str, done: int) -> Any:
    """The column, where it holds text (perhaps by dictionary, perhaps as bytes) or integers; `done` rows came before it."""
    kind = column.type
    types = load_pyarrow().types
    if is_text(kind):
        return plain_texts(column)
    if types.is_integer(kind):
        return column
    if types.is_dictionary(kind):
        return plain_ids(column.dictionary_decode(), role, name, source, done)
    if str(kind).partition("[")[0] in _BYTES:
        ids = [None if one is None else id_of_value(one, role, source=source, line=line) for line, one in _numbered(column, done)]
        return load_pyarrow().array(ids, load_pyarrow().large_string())
    if len(column) and (types.is_floating(kind) or types.is_null(kind)):
        id_of_value(column[0].as_py(), role, source=source, line=done + 1)
    raise fault("column-type", source=source, role=role, name=name, kind=str(kind), expected="text or integers")


def plain_texts(column: Any) -> Any:
    """The column; views of text are copied, as pyarrow before 25 can end the process where it hands them on."""
    pa = load_pyarrow()
    if "string_view" not in str(column.type):
        return column
    return (column.dictionary_decode() if pa.types.is_dictionary(column.type) else column).cast(pa.large_string())


def plain_scores(column: Any, name: str, source: str) -> Any:
    """The column as float64, where it holds numbers."""
    pa = load_pyarrow()
    kind = column.type
    if pa.types.is_float64(kind):
        return column
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind) or pa.types.is_null(kind):
        return column.cast(pa.float64(), safe=False)
    raise fault("column-type", source=source, role="score", name=name, kind=str(kind), expected="numbers")


def plain_ranks(column: Any) -> Any:
    """The column as integers, with null for what is no whole number."""
    pa = load_pyarrow()
    if pa.types.is_integer(column.type):
        return column
    if not pa.types.is_floating(column.type):
        return pa.array([rank_of_value(value) for value in column.to_pylist()], pa.int64())
    values = column.cast(pa.float64()).to_numpy(zero_copy_only=False)
    whole = (np.abs(values) < 2.0**63) & (np.floor(values) == values)
    return pa.array(np.where(whole, values, 0).astype(np.int64), mask=~whole)


def scores_of_ranks(ranks: Any) -> Any:
    """Minus the ranks, for a run that has no scores; 0 for a rank that is missing, which alignment refuses."""
    pa = load_pyarrow()
    values = ranks.cast(pa.float64(), safe=False).fill_null(0.0).to_numpy(zero_copy_only=False)
    return pa.array(-values)


def _numbered(column: Any, done: int) -> Any:
    return enumerate(column.to_pylist(), start=done + 1)
