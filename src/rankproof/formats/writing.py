"""Runs and qrels written to files: the format by name or suffix, whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator

from ..data.qrels import Qrels
from ..data.run import Run
from ..errors import UsageError
from .atomic import write_blocks
from .opening import StrPath, path_text
from .table import FORMATS, format_named, format_of_suffix


def write_run(run: Run, path: StrPath, format: str | None = None) -> None:
    """The run as a file, best first; scores are read back as the same float64."""
    if not isinstance(run, Run):
        raise UsageError(f"a run to write cannot be a {type(run).__name__}", fix="pass a Run, like Run.from_dict(…)")
    write_blocks(path_text(path), run_blocks(run, chosen_format(path, format)))


def write_qrels(qrels: Qrels, path: StrPath, format: str | None = None) -> None:
    """The judgements as a file."""
    if not isinstance(qrels, Qrels):
        raise UsageError(f"qrels to write cannot be a {type(qrels).__name__}", fix="pass Qrels, like Qrels.from_dict(…)")
    write_blocks(path_text(path), qrels_blocks(qrels, chosen_format(path, format)))


def run_blocks(run: Run, format: str) -> Iterator[bytes]:
    """The bytes of such a file."""
    return format_named(format).run_blocks(run)


def qrels_blocks(qrels: Qrels, format: str) -> Iterator[bytes]:
    """The bytes of such a file."""
    return format_named(format).qrels_blocks(qrels)


def chosen_format(path: StrPath, format: str | None) -> str:
    """The format that is named, or else the one that the path's suffix speaks of."""
    found = format or format_of_suffix(path_text(path))
    if found is None:
        raise UsageError(f"the suffix of {path} names no format", fix=f"name one of {', '.join(FORMATS)}")
    format_named(found)
    return found
