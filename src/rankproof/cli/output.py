"""Where a result is written to: never over what it was made from."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable

from ..errors import UsageError
from .terminal import STDOUT


def check_output(output: str | None, inputs: Iterable[str | None]) -> None:
    """Refuses an output without a name, and one that is among the inputs, under whatever name; `-` is standard input."""
    if output in STDOUT:
        return
    if not output:
        raise UsageError("the output has no name", fix="name a file, or - for standard output")
    target = _regular_file(output)
    for path in inputs:
        source = None if target is None or path is None else _regular_file(path)
        if target is not None and source is not None and os.path.samestat(target, source):
            name = "standard input" if path == "-" else path
            raise UsageError(f"{output} would be written over {name}, which is read", fix="write to another file")


def _regular_file(path: str) -> os.stat_result | None:
    """What is known of the file, None where there is none that could be overwritten."""
    try:
        found = os.fstat(0) if path == "-" else os.stat(path)
    except (OSError, ValueError):
        return None
    return found if stat.S_ISREG(found.st_mode) else None
