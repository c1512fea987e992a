"""Files and frames: bytes to values and back, a module a format, the format told by content."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .convert import Converted, convert
    from .frame_streams import frame_stream
    from .frame_tables import is_frame
    from .frames import frame_qrels, frame_run
    from .grades import mapped_qrels, parse_grade_map
    from .opened import OpenedFile, open_file
    from .opening import open_source
    from .reading import is_remote, qrels_file, read_dataset, read_qrels, read_run
    from .table import FORMATS, system_name
    from .writing import qrels_blocks, run_blocks, write_qrels, write_run

_ROOMS = {
    "convert": ("Converted", "convert"),
    "frame_streams": ("frame_stream",),
    "frame_tables": ("is_frame",),
    "frames": ("frame_qrels", "frame_run"),
    "grades": ("mapped_qrels", "parse_grade_map"),
    "opened": ("OpenedFile", "open_file"),
    "opening": ("open_source",),
    "reading": ("is_remote", "qrels_file", "read_dataset", "read_qrels", "read_run"),
    "table": ("FORMATS", "system_name"),
    "writing": ("qrels_blocks", "run_blocks", "write_qrels", "write_run"),
}
_HOME = {name: room for room, names in _ROOMS.items() for name in names}

__all__ = [
    "FORMATS",
    "Converted",
    "OpenedFile",
    "convert",
    "frame_qrels",
    "frame_run",
    "frame_stream",
    "is_frame",
    "is_remote",
    "mapped_qrels",
    "open_file",
    "open_source",
    "parse_grade_map",
    "qrels_blocks",
    "qrels_file",
    "read_dataset",
    "read_qrels",
    "read_run",
    "run_blocks",
    "system_name",
    "write_qrels",
    "write_run",
]


def __getattr__(name: str) -> Any:
    """Loads a public name from its module on first use, so that one format does not wait for the others."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{_HOME[name]}", __name__), name)
    globals()[name] = value
    return value
