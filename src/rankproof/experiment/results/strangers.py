"""What lies in a results folder and was not written there with the results: it must not be lost when they are replaced."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator

from ...errors import UsageError, shown
from .files import RESULT, RUNS


def refuse_strangers(folder: str, own: Collection[str]) -> None:
    """Refuses a folder that holds anything but these files, its result and the files that the result tells of."""
    known = {RUNS, RESULT, *own, *_told_of(folder)}
    for name in _all_names(folder):
        if name not in known:
            fix = "move it elsewhere, or name another folder"
            raise UsageError(f"{folder} holds {shown(name)}, which is no part of its results", fix=fix)


def _told_of(folder: str) -> set[str]:
    try:
        with open(os.path.join(folder, RESULT), "rb") as file:
            return set(json.load(file)["sha256"])
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return set()


def _all_names(folder: str) -> Iterator[str]:
    """Every file and folder, with slashes on every system."""
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files):
            yield os.path.relpath(os.path.join(place, name), folder).replace(os.sep, "/")
