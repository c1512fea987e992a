"""A model hub on a real loopback server; files can be cut, delayed, wrong or redirected."""

from __future__ import annotations

import contextlib
import hashlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

COMMIT = "0123456789abcdef0123456789abcdef01234567"
TOKEN = "hf_a_secret_token"


class Hub(ThreadingHTTPServer):
    """Serves a folder as the hub serves a model; `faults` says which file goes wrong, and how."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), Answers)
        self.folder, self.faults = folder, dict[str, str]()
        self.requests: list[tuple[str, str | None]] = []
        self.elsewhere = ""
        self.over = threading.Event()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Answers(BaseHTTPRequestHandler):
    server: Hub

    def log_message(self, *arguments: Any) -> None:
        return None

    def do_GET(self) -> None:
        self.server.requests.append((self.path, self.headers.get("Authorization")))
        name = self.path.partition("/resolve/")[2].partition("/")[2] or self.path.lstrip("/")
        path, fault = self.server.folder / name, self.server.faults.get(name, "")
        if fault.isdecimal() or not path.is_file():
            return self.send_error(int(fault or 404))
        if fault == "hang":
            self.server.over.wait(30)
            return None
        if fault.startswith("redirect"):
            return self.redirect(f"{fault.partition(' ')[2] or self.server.elsewhere}/{name}", path)
        return self.answer(path.read_bytes(), fault)

    def answer(self, body: bytes, fault: str) -> None:
        self.send_response(200)
        self.send_header("X-Repo-Commit", COMMIT)
        if fault == "wrong sum":
            self.send_header("X-Linked-Etag", f'"{"0" * 64}"')
        self.send_header("Content-Length", str(len(body) + (500 if fault in ("cut", "stall") else 0)))
        self.end_headers()
        self.wfile.write(body)
        if fault == "stall":
            self.wfile.flush()
            self.server.over.wait(30)

    def redirect(self, target: str, path: Path) -> None:
        self.send_response(302)
        self.send_header("Location", target)
        self.send_header("X-Repo-Commit", COMMIT)
        self.send_header("X-Linked-Etag", f'"{hashlib.sha256(path.read_bytes()).hexdigest()}"')
        self.send_header("Content-Length", "0")
        self.end_headers()


@contextlib.contextmanager
def serving(folder: Path) -> Iterator[Hub]:
    with Hub(folder) as hub:
        threading.Thread(target=hub.serve_forever, args=(0.01,), daemon=True).start()
        yield hub
        hub.over.set()
        hub.shutdown()
