"""Whether the files of a results folder are still those that were written: numbers must not be told of other data."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable

from .values import Values


def digest_of(folder: str, name: str) -> str:
    """The sha256 of one file of the folder; the name has slashes on every system."""
    with open(os.path.join(folder, *name.split("/")), "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def refuse_changed(folder: str, digests: Values, names: Iterable[str]) -> None:
    """Refuses a folder in which one of these files was changed since."""
    for name in names:
        path = os.path.join(folder, *name.split("/"))
        try:
            found = digest_of(folder, name)
        except FileNotFoundError:
            raise Values({}, path).error("the file is missing", "run the experiment again") from None
        if found != digests.text(name):
            what = "the file is not the one that was written with the results"
            raise Values({}, path).error(what, "put the old one back, or run the experiment again")
