"""Runs one command in a child process with little memory, and says how it ended."""

from __future__ import annotations

import os
import resource
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile

from rankproof._cli.main import main

MEMORY = 600 * 1_000_000
"""Bytes that a command may take, beside those of its imports."""
_SECONDS = 60
_POLL = 0.005
_INTERNAL = ("internal error", "Traceback")


@dataclass(frozen=True, slots=True)
class Ending:
    """How a command ended: its exit code, None if it did not end in time, negative after a signal; and its standard error."""

    code: int | None
    stderr: str
    seconds: float

    def failure(self, name: str) -> str:
        """What is wrong with this ending of an attack by the file of that name; empty if it was refused in plain words."""
        if self.code is None:
            return f"did not end in {_SECONDS} seconds"
        if self.code < 0:
            return f"ended by signal {-self.code}"
        if any(words in self.stderr for words in _INTERNAL):
            return f"internal error: {self.stderr.splitlines()[0]}"
        if self.code not in (1, 2):
            return f"exit code {self.code}"
        if name not in self.stderr or ";" not in self.stderr:
            return f"the file or the fix is not named: {self.stderr.strip()}"
        return ""


def ending_of(arguments: Sequence[str], folder: Path) -> Ending:
    """Runs the command in the folder."""
    with TemporaryFile() as stderr:
        began = time.monotonic()
        child = os.fork()
        if child == 0:
            _run(arguments, folder, stderr.fileno())
        code = _wait(child, began + _SECONDS)
        stderr.seek(0)
        return Ending(code, stderr.read().decode(errors="replace"), time.monotonic() - began)


def _run(arguments: Sequence[str], folder: Path, stderr: int) -> None:
    """The child: never returns."""
    code = 70
    try:
        os.chdir(folder)
        os.dup2(os.open(os.devnull, os.O_RDWR), 1)
        os.dup2(stderr, 2)
        pages = int(Path("/proc/self/statm").read_text().split()[5])
        most = pages * resource.getpagesize() + MEMORY
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))
        code = main(list(arguments))
    finally:
        os._exit(code)


def _wait(child: int, until: float) -> int | None:
    while time.monotonic() < until:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(_POLL)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None
