"""A model hub on loopback; files can be cut, delayed, wrong or redirected."""

from __future__ import annotations

import hashlib
from pathlib import Path

from support.scripted_server import NEVER, Handler, Request, ScriptedServer, Sent

COMMIT = "0123456789abcdef0123456789abcdef01234567"
TOKEN = "hf_a_secret_token"
_HEADERS = {"X-Repo-Commit": COMMIT, "Connection": "close"}


class Hub(ScriptedServer):
    """Serves a folder as the hub serves a model; `faults` says which file goes wrong, and how."""

    def __init__(self, folder: Path) -> None:
        super().__init__(self._file)
        self.folder, self.faults = folder, dict[str, str]()
        self.elsewhere = ""

    @property
    def downloads(self) -> list[tuple[str, str | None]]:
        """The path and the token of each request."""
        return [(request.path, request.headers.get("Authorization")) for request in self.requests]

    def _file(self, request: Request) -> Sent:
        name = request.path.partition("/resolve/")[2].partition("/")[2] or request.path.lstrip("/")
        path, fault = self.folder / name, self.faults.get(name, "")
        if fault.isdecimal() or not path.is_file():
            return Sent(int(fault or 404), headers={"Connection": "close"})
        if fault == "hang":
            return NEVER
        content = path.read_bytes()
        if fault.startswith("redirect"):
            target = f"{fault.partition(' ')[2] or self.elsewhere}/{name}"
            digest = hashlib.sha256(content).hexdigest()
            return Sent(302, headers={**_HEADERS, "Location": target, "X-Linked-Etag": f'"{digest}"'})
        if fault == "stall":
            return Sent(by=lambda handler: _stall(handler, content))
        wrong = {"wrong sum": {"X-Linked-Etag": f'"{"0" * 64}"'}, "cut": {"Content-Length": str(len(content) + 500)}}
        return Sent(body=content, headers={**_HEADERS, **wrong.get(fault, {})})


def _stall(handler: Handler, content: bytes) -> None:
    """Promises 500 bytes more, and never sends them."""
    handler.send_response(200)
    handler.send_header("X-Repo-Commit", COMMIT)
    handler.send_header("Content-Length", str(len(content) + 500))
    handler.end_headers()
    handler.wfile.write(content)
    handler.wfile.flush()
    handler.server.owner.stopped.wait()
