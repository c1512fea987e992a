"""A command to kill: its inputs, its output, and what may be on disk after a kill and after it has finished."""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

from tools.kills.chat_server import CountingServer

_OLD = "old output"


class RecoveryError(Exception):
    """Something that a kill must not cause."""


class Workload(ABC):
    """One command in a folder of its own: `data` has the inputs, `work` all that the command writes."""

    name: ClassVar[str]
    output: ClassVar[str]
    """The file or folder in `work` that the command writes."""
    concurrency: ClassVar[int] = 0
    """The number of calls of a language model that can be in progress."""
    has_older: ClassVar[bool] = True
    """Whether the command replaces any older output; false if it continues its own output only."""
    talks: ClassVar[bool] = False
    """Whether `user` writes to the standard input of the command."""

    def __init__(self, folder: Path, chance: random.Random, chat: CountingServer) -> None:
        self.folder, self.chance, self.chat = folder, chance, chat
        self.data, self.work = folder / "data", folder / "work"
        self.target = self.work / self.output
        self._wanted: Any = None
        self._names: set[str] = set()
        self._had_old = False
        self._problem = ""
        """What the user of the command noticed."""

    @abstractmethod
    def write_inputs(self) -> None:
        """Writes the input files into `data`."""

    @abstractmethod
    def arguments(self) -> list[str]:
        """The arguments of the command."""

    def old_output(self) -> None:
        """Writes an older output to the target."""
        self.target.write_bytes(b"an older output\n")

    def content(self, path: Path) -> Any:
        """The part of the output that must be equal in each run."""
        return digests(path)

    @contextmanager
    def user(self, process: subprocess.Popen[bytes]) -> Iterator[None]:
        """Uses the command while it runs."""
        yield

    def environment(self) -> dict[str, str]:
        """The environment: temporary files are in `work`, and bytecode is kept, so that the next start is quick."""
        kept = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(self.folder.parent / "bytecode")}
        return {**os.environ, **kept, "TMPDIR": str(self.work / "tmp")}

    def repeated(self) -> int:
        """The number of calls of a language model that were sent twice since `clear`."""
        return self.chat.repeated() if self.concurrency else 0

    def prepare(self) -> None:
        """Writes the inputs and keeps an older output."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.data.mkdir(parents=True)
        self._empty()
        self.write_inputs()
        if self.has_older:
            self.old_output()
            self.target.rename(self.folder / _OLD)

    def clear(self) -> None:
        """Empties `work`; in half of the rounds there is an older output."""
        self._empty()
        self.chat.forget()
        self._had_old = self.has_older and self._wanted is not None and self.chance.random() < 0.5
        if self._had_old:
            old = self.folder / _OLD
            shutil.copytree(old, self.target) if old.is_dir() else shutil.copy(old, self.target)

    def remember(self) -> None:
        """Keeps the output of an undisturbed run."""
        self._wanted, self._names = self.content(self.target), self._entries()

    def check_killed(self) -> None:
        """After a kill, the output is the older one, the complete new one, or absent if there was no older one."""
        if not self.target.exists():
            if self._had_old and not any(self.work.glob(".rankproof-*.old")):
                raise RecoveryError("the older output is lost")
            return
        found = self.content(self.target)
        if found != self._wanted and not (self._had_old and found == self.content(self.folder / _OLD)):
            raise RecoveryError(f"{self.output} is neither the older nor the complete output")

    def check_finished(self) -> None:
        """After the last start, the output is that of an undisturbed run."""
        if self.content(self.target) != self._wanted:
            raise RecoveryError(f"{self.output} differs from that of an undisturbed run")

    def check_nothing_left(self) -> None:
        """After the last start, no temporary file is left."""
        if left := sorted(self._temporary() | (self._entries() - self._names)):
            raise RecoveryError(f"{len(left)} temporary files are left: {', '.join(left[:3])}")

    def keep(self, number: int) -> Path:
        """Moves `work` aside, to look at a finding."""
        return self.work.rename(self.folder / f"finding-{number}")

    def check_user(self) -> None:
        """What the user of the command noticed is a finding."""
        if self._problem:
            raise RecoveryError(self._problem)

    def rankproof(self, *arguments: str | Path) -> None:
        """Runs a command undisturbed."""
        subprocess.run(
            [sys.executable, "-m", "rankproof", *map(str, arguments), "--quiet"], check=True, stdout=subprocess.DEVNULL
        )

    def write_lines(self, name: str, lines: list[str]) -> Path:
        """Writes an input file."""
        path = self.data / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return path

    def _empty(self) -> None:
        shutil.rmtree(self.work, ignore_errors=True)
        (self.work / "tmp").mkdir(parents=True)

    def _entries(self) -> set[str]:
        """The files in `work`, but for the cache, whose names differ between runs, and for the output."""
        shown = {str(path.relative_to(self.work)) for path in self.work.rglob("*")}
        return {name for name in shown if not name.startswith(("cache/", f"{self.output}/"))}

    def _temporary(self) -> set[str]:
        """The files in `work` that are named as temporary."""
        return {
            str(path.relative_to(self.work))
            for path in self.work.rglob("*")
            if path.name.startswith(".rankproof-") or path.name.endswith((".tmp", ".old"))
        }


def digests(path: Path) -> dict[str, str]:
    """The sha256 of a file, or of each file in a folder."""
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    return {str(file.relative_to(path)): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}
