"""A gguf file served on the loopback by a process of its own: what goes wrong in native code ends that process and not ours."""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import sys
import weakref
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from ..._extras import require
from ...errors import InputError, WorldError, shown, visible
from ..checksums import unreadable

_SCRIPT = Path(__file__).with_name("llama_process.py")
_MAGIC = b"GGUF"
_HEADER = 24
_TOLD = re.compile(rb" E \S+: *(.*)")
_PATIENCE = 5.0


class LlamaServer:
    """The process and its address; it ends with `close`, with this object, or with our process."""

    def __init__(self, path: Path, *, name: str, context: int, threads: int) -> None:
        check_gguf(path)
        require("local", "xllamacpp")
        self._path = path
        self._errors: IO[bytes] = TemporaryFile()  # noqa: SIM115 - it lives as long as the process
        self._process = self._started({"path": str(path), "name": name, "context": context, "threads": threads})
        self._stop = weakref.finalize(self, _stop, self._process, self._errors)
        assert self._process.stdout is not None
        self.address = self._process.stdout.readline().decode().strip()
        if not self.address:
            self._process.wait()
            raise self._refused()

    def _started(self, settings: dict[str, object]) -> subprocess.Popen[bytes]:
        """A session of its own keeps the terminal's signals away: the process that asks decides when this one ends."""
        command = [sys.executable, "-P", str(_SCRIPT)]
        pipe = subprocess.PIPE
        try:
            process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=self._errors, start_new_session=True)
        except OSError as error:
            raise WorldError(f"no process for llama.cpp could be started ({error.strerror}); free some memory") from None
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(json.dumps(settings).encode() + b"\n")
            process.stdin.flush()
        return process

    def _refused(self) -> WorldError:
        self._errors.seek(0)
        told = self._errors.read()
        why = found[1] if (found := _TOLD.search(told)) else told.strip().rpartition(b"\n")[2]
        reason = shown(why.decode(errors="replace")) or self.ending()
        self.close()
        return WorldError(visible(f"{self._path}: llama.cpp cannot load it ({reason}); get the file anew, or try another"))

    def ending(self) -> str:
        """How the process ended, "" while it runs."""
        code = self._process.poll()
        if code is None:
            return ""
        return f"the process was ended by signal {-code}" if code < 0 else f"the process ended with code {code}"

    def close(self) -> None:
        """Ends the process."""
        self._stop()


def _stop(process: subprocess.Popen[bytes], errors: IO[bytes]) -> None:
    for pipe in (process.stdin, process.stdout, errors):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()
    try:
        process.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def check_gguf(path: Path) -> None:
    """Refuses what does not begin as a gguf file does."""
    try:
        with open(path, "rb") as file:
            start = file.read(_HEADER)
    except OSError as error:
        raise unreadable(path, error) from None
    if len(start) < _HEADER or not start.startswith(_MAGIC):
        raise InputError("no gguf file", fix="name a model in llama.cpp's own format", source=str(path))
