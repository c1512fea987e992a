"""The folder that a run writes its results to: the one asked for, or a new one that no other run has."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from ..errors import UsageError

HOME = "rankproof-results"


@contextmanager
def results_folder(asked: str | None, name: str) -> Iterator[str]:
    """The folder; one that was not asked for is made at once, so that it is taken, and vanishes where nothing was written."""
    from ..experiment.results.folder import check_folder

    if asked == "":
        raise UsageError("the results folder has no name", fix="name one, or leave out -o")
    if asked is not None:
        check_folder(asked)
        yield asked
        return
    folder = taken_folder(name)
    try:
        yield folder
    finally:
        with suppress(OSError):
            os.rmdir(folder)
            os.rmdir(HOME)


def taken_folder(name: str) -> str:
    """A new empty folder in `rankproof-results`, named by the experiment and the time, and a number where that is taken."""
    from datetime import datetime

    from ..experiment.results.names import file_name

    first = os.path.join(HOME, f"{file_name(name)}-{datetime.now():%Y%m%d-%H%M%S}")
    folder, number = first, 1
    while not _made(folder):
        number += 1
        folder = f"{first}-{number}"
    return folder


def _made(folder: str) -> bool:
    try:
        os.makedirs(HOME, exist_ok=True)
        os.mkdir(folder)
    except OSError as error:
        if isinstance(error, FileExistsError) and os.path.isdir(HOME):
            return False
        fix = "name a folder that this user can write with -o"
        raise UsageError(f"{folder} cannot be made ({error.strerror})", fix=fix) from None
    return True
