"""Where a result is written to: never over what it was made from."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator

from ..errors import UsageError
from .terminal import STDOUT, Terminal

_PARTS = (
    *("result.json", "summary.csv", "per_query.csv", "answers.*", "experiment.toml", "snippets.jsonl*", "runs/*"),
    *("corpus.jsonl*", "queries*.jsonl*", "qrels*", "qrels/*"),
)
"""The files of a results folder and of a dataset's."""


def check_output(output: str | None, inputs: Iterable[str | None]) -> None:
    """Refuses an output without a name, and one that is among the inputs or a part of one; `-` is standard input."""
    if output in STDOUT:
        return
    if not output:
        raise UsageError("the output has no name", fix="name a file, or - for standard output")
    target = _regular_file(output)
    if target is None:
        return
    for path in (part for given in inputs if given is not None for part in _parts(given)):
        source = _regular_file(path)
        if source is not None and os.path.samestat(target, source):
            name = "standard input" if path == "-" else path
            raise UsageError(f"{output} would be written over {name}, which is read", fix="write to another file")


def _parts(path: str) -> Iterator[str]:
    """The path, or the files in it where it is the folder of a dataset or of results."""
    if not os.path.isdir(path):
        yield path
        return
    from glob import glob

    for pattern in _PARTS:
        yield from (os.path.join(path, name) for name in glob(pattern, root_dir=path))


def write_or_show(text: str, output: str | None, terminal: Terminal) -> None:
    """Shows a result on standard output, or writes it to the file asked for."""
    if output is None or output in STDOUT:
        terminal.show(text)
        return
    from ..formats.atomic import write_blocks

    write_blocks(output, [text.encode(errors="backslashreplace")])


def _regular_file(path: str) -> os.stat_result | None:
    """What is known of the file, None where there is none that could be overwritten."""
    try:
        found = os.fstat(0) if path == "-" else os.stat(path)
    except (OSError, ValueError):
        return None
    return found if stat.S_ISREG(found.st_mode) else None
