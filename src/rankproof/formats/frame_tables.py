"""What is known of a data frame before its rows are read: its library and its columns.

No library is loaded for a frame of another one.
"""

from __future__ import annotations

from typing import Any

from .arrow import load_pyarrow
from .faults import fault

_LIBRARIES = ("pandas", "polars")


def is_frame(value: object) -> bool:
    """Whether the value is a table that can be read here."""
    return library_of(value) is not None or hasattr(value, "__arrow_c_stream__")


def library_of(value: object) -> str | None:
    """`pandas` or `polars`, None for anything else."""
    for one in type(value).__mro__:
        root = one.__module__.partition(".")[0]
        if root in _LIBRARIES and one.__name__ in ("DataFrame", "LazyFrame"):
            return root
    return None


def names_of(table: Any) -> list[str]:
    """The names of the columns."""
    if type(table).__name__ == "LazyFrame":
        raise fault("frame-lazy")
    return [str(name) for name in getattr(table, "column_names", table.columns)]


def arrow_table(frame: Any, source: str) -> Any:
    """Anything with the Arrow stream interface as a table of pyarrow."""
    pa = load_pyarrow()
    try:
        return frame if isinstance(frame, pa.Table) else pa.table(frame)
    except (pa.ArrowException, TypeError, ValueError):
        raise fault("frame-shape", source=source, kind=type(frame).__name__) from None
