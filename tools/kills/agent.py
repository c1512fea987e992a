"""`mcp` is killed while an agent saves a baseline and a report with its tools."""

from __future__ import annotations

import json
import re
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tools.kills.commands import write_judgements, write_run
from tools.kills.workload import RecoveryError, Workload

_CREATED = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_START = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "kills", "version": "1"}}
_CALLS = (
    ("gate", {"data": "test.qrels", "runs": {"a": "a.run"}, "save": "baseline.json"}),
    ("report", {"data": "test.qrels", "runs": {"a": "a.run", "b": "b.run"}, "path": "report.html"}),
)


class Mcp(Workload):
    """An agent saves two files; each is the complete one or absent."""

    name, output, has_older, talks = "mcp", "shared", False, True

    def write_inputs(self) -> None:
        write_judgements(self)
        for name in ("a.run", "b.run"):
            write_run(self, name, 50)

    def arguments(self) -> list[str]:
        return ["mcp", str(self.target), "--write", "--quiet"]

    def clear(self) -> None:
        super().clear()
        self._problem = ""
        self.target.mkdir()
        for file in self.data.iterdir():
            (self.target / file.name).write_bytes(file.read_bytes())

    def content(self, path: Path) -> Any:
        files = (file for file in path.iterdir() if not file.name.startswith(".rankproof-"))
        return {file.name: _CREATED.sub("", file.read_text(encoding="utf-8")) for file in files}

    def check_killed(self) -> None:
        self.check_user()
        wanted = self._wanted or {}
        for name, text in self.content(self.target).items():
            if wanted and wanted.get(name) != text:
                raise RecoveryError(f"{name} is neither absent nor the complete file")

    @contextmanager
    def user(self, process: subprocess.Popen[bytes]) -> Iterator[None]:
        agent = threading.Thread(target=self._call_all, args=[process])
        agent.start()
        try:
            yield
        finally:
            if process.poll() is None:
                process.kill()
            agent.join()

    def _call_all(self, process: subprocess.Popen[bytes]) -> None:
        """Initializes, calls each tool and ends the input; a reply must come before the next call."""
        assert process.stdin is not None
        # A baseline that is saved again also holds the first one, so what is there already is not asked for again.
        calls = [
            (name, asked) for name, asked in _CALLS if not (self.target / str(asked.get("save", asked.get("path")))).exists()
        ]
        requests = [("initialize", _START), *(("tools/call", {"name": name, "arguments": asked}) for name, asked in calls)]
        try:
            for number, (method, params) in enumerate(requests, start=1):
                _send(process, {"jsonrpc": "2.0", "id": number, "method": method, "params": params})
                reply = self._reply(process, number)
                if reply is None:
                    return
                if "error" in reply or reply["result"].get("isError"):
                    self._problem = f"{method} failed: {json.dumps(reply)[:300]}"
                    break
                if method == "initialize":
                    _send(process, {"jsonrpc": "2.0", "method": "notifications/initialized"})
            process.stdin.close()
        except OSError:
            return

    def _reply(self, process: subprocess.Popen[bytes], number: int) -> Any:
        """The reply with the number; None if the server ended before."""
        while process.poll() is None:
            for line in (self.folder / "stdout").read_text(encoding="utf-8").splitlines(keepends=True):
                if line.endswith("\n") and (reply := json.loads(line)).get("id") == number:
                    return reply
            time.sleep(0.02)
        return None


def _send(process: subprocess.Popen[bytes], message: dict[str, Any]) -> None:
    assert process.stdin is not None
    process.stdin.write(json.dumps(message).encode() + b"\n")
    process.stdin.flush()
