"""Runs rankproof and writes one byte to a pipe before each change of a file below a folder.

`python -m tools.kills.watched PIPE FOLDER STOP ARGUMENTS…`: before change number STOP the command waits to be killed.
"""

from __future__ import annotations

import os
import sys
import time
from typing import Any

_CHANGES = frozenset({"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate", "os.link", "os.symlink", "os.chmod"})
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_WAIT = 600.0


class Watch:
    """Counts the changes of files below a folder."""

    def __init__(self, pipe: int, folder: str, stop: int) -> None:
        self._pipe, self._folder, self._stop, self._seen, self._process = pipe, folder, stop, 0, os.getpid()

    def __call__(self, event: str, details: tuple[Any, ...]) -> None:
        """Sees an audit event of the interpreter."""
        if not self._is_change(event, details) or os.getpid() != self._process:
            return
        self._seen += 1
        os.write(self._pipe, b".")
        if self._seen == self._stop:
            time.sleep(_WAIT)

    def _is_change(self, event: str, details: tuple[Any, ...]) -> bool:
        if event != "open":
            return event in _CHANGES and self._is_below(details[0])
        return bool(details[2] & _WRITING) and self._is_below(details[0])

    def _is_below(self, path: Any) -> bool:
        return isinstance(path, str | os.PathLike) and str(path).startswith(self._folder)


def main() -> None:
    """Runs the command."""
    pipe, folder, stop, *arguments = sys.argv[1:]
    os.set_inheritable(int(pipe), False)
    sys.addaudithook(Watch(int(pipe), folder, int(stop)))
    from rankproof._cli.main import entry

    sys.argv = ["rankproof", *arguments]
    entry()


if __name__ == "__main__":
    main()
