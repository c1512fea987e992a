"""The folders that a server of tools may use: a path outside them, a path with `..` and a link out of them are rejected."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence

from rankproof._io.paths import is_pattern, is_possible_path
from rankproof.errors import InputError, UsageError, for_message, type_phrase


class Folders:
    """The named folders; a relative path is below the first of them."""

    def __init__(self, paths: Sequence[str]) -> None:
        for path in paths:
            if not os.path.isdir(path):
                raise InputError("is not a folder", fix="name folders that exist", source=for_message(path))
        self.roots = tuple(os.path.realpath(path) for path in paths)

    def readable(self, name: str, path: object) -> str:
        """The real path of a file or folder to read; nothing in the folder leads out of the named folders."""
        real = self._inside(name, path)
        if is_pattern(real):
            raise UsageError(f"{name}: {for_message(str(path))} is a pattern", fix="name each file")
        if os.path.isdir(real):
            for entry in _entries(real):
                self._check_link(name, entry)
        elif os.path.exists(real) and not stat.S_ISREG(os.stat(real).st_mode):
            raise UsageError(f"{name}: {for_message(str(path))} is not a plain file", fix="name a file or a folder")
        return real

    def writable(self, name: str, path: object) -> str:
        """The real path of a file to write; its folder is there."""
        real = self._inside(name, path)
        if os.path.lexists(real) and not stat.S_ISREG(os.lstat(real).st_mode):
            raise UsageError(f"{name}: {for_message(str(path))} is not a plain file", fix="name a new file, or one to replace")
        if not os.path.isdir(os.path.dirname(real)):
            raise UsageError(
                f"{name}: {for_message(str(path))} is in a folder that does not exist", fix="name a folder that does"
            )
        return real

    def _inside(self, name: str, path: object) -> str:
        if not isinstance(path, str):
            raise UsageError(f"{name} cannot be {type_phrase(path)}", fix="pass a path")
        if not path or not is_possible_path(path) or ".." in path.replace("\\", "/").split("/"):
            raise UsageError(f"{name}: {for_message(path)!r} is not allowed", fix="pass a path without .., NUL and surrogates")
        real = os.path.realpath(os.path.join(self.roots[0], path))
        if not self._holds(real):
            allowed = ", ".join(map(for_message, self.roots))
            raise UsageError(f"{name}: {for_message(path)} is outside the folders of this server", fix=f"allowed are {allowed}")
        return real

    def _check_link(self, name: str, entry: str) -> None:
        if os.path.islink(entry) and not self._holds(os.path.realpath(entry)):
            raise UsageError(f"{name}: {for_message(entry)} is a link out of the folders of this server", fix="remove the link")

    def _holds(self, real: str) -> bool:
        return any(os.path.commonpath((root, real)) == root for root in self.roots)


def _entries(folder: str) -> Iterator[str]:
    """What a folder contains at any depth, and the files beside it that begin with its name, such as labels."""
    for place, folders, files in os.walk(folder):
        yield from (os.path.join(place, name) for name in (*folders, *files))
    beside, start = os.path.split(folder)
    with os.scandir(beside) as siblings:
        yield from (sibling.path for sibling in siblings if sibling.name.startswith(f"{start}."))
