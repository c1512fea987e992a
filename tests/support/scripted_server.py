"""An HTTP server on loopback with real sockets: a test scripts its replies, good and bad, and reads the log of requests."""

from __future__ import annotations

import json
import shutil
import ssl
import subprocess
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from email.message import Message
from functools import cached_property
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, Literal, Self, TypeVar
from urllib.parse import parse_qsl, unquote, urlsplit

from support.search_servers import skip_or_fail


@dataclass(frozen=True)
class Request:
    """What a client sent; `path` is as sent, `number` counts from 1 the requests that the server takes for the same."""

    method: str
    path: str
    headers: Message
    content: bytes
    number: int = 1

    @cached_property
    def body(self) -> Any:
        """The content as JSON; an empty object if there is none."""
        return json.loads(self.content or b"{}")

    @property
    def location(self) -> str:
        """The path without its query, decoded."""
        return unquote(urlsplit(self.path).path)

    @property
    def options(self) -> dict[str, str]:
        """The query of the path."""
        return dict(parse_qsl(urlsplit(self.path).query))


@dataclass(frozen=True)
class Sent:
    """A reply: bytes or a value for JSON, or a function that writes to the connection itself.

    `hangs_up` ends the connection in the middle of the body. A completion costs tokens: a chat server adds them to its body.
    """

    status: int = 200
    body: Any = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    by: Callable[[Handler], None] | None = None
    hangs_up: bool = False
    is_completion: bool = False

    @property
    def content(self) -> bytes:
        """The bytes of the body."""
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


def _silent(handler: Handler) -> None:
    handler.server.owner.stopped.wait()


NEVER = Sent(by=_silent)
"""No reply at all, until the server is stopped."""
QUICK = 0.1
"""Seconds that a client waits for a server that never answers."""

Ending = Literal["failed", "refused", "unusable", "content", "healed", "accepted"]
"""What rankproof must do: requests fail after retries and are counted; the server refuses one; an error at once that ends the
run; a reply is unusable and counted; a retry gets a good reply; or the reply is accepted."""
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Fault(Generic[Answer]):
    """A reply on purpose: how it is made, and what rankproof must do.

    `noted` is the count that must not be 0; `apis` are the APIs that can have the fault, all by default.
    """

    answer: Answer
    ending: Ending
    timeout: float = 20.0
    noted: str = ""
    apis: tuple[str, ...] = ()


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Listener

    def answer(self) -> None:
        content = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        sent = self.server.owner.reply(Request(self.command, self.path, self.headers, content))
        if sent.by is not None:
            self.close_connection = True
            sent.by(self)
            return
        body = sent.content
        self.send_response(sent.status)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(body)), **sent.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if sent.hangs_up else body)
        self.close_connection = self.close_connection or sent.hangs_up

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = answer  # noqa: N815

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is printed."""


class _Listener(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    owner: ScriptedServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no error of the test."""


CERTIFICATE = "ca.crt"


def write_certificate(folder: Path) -> Path:
    """The folder, with a certificate for 127.0.0.1 that is signed by itself, and its key."""
    program = shutil.which("openssl")
    if program is None:
        skip_or_fail("openssl is not installed")
    names = ["-subj", "/CN=loopback", "-addext", "subjectAltName=IP:127.0.0.1"]
    command = [str(program), "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "key.pem", "-out", CERTIFICATE, *names]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return folder


class ScriptedServer:
    """`with ScriptedServer(answer) as server:`; `answer` may be changed on the way, `tls` is a folder of `write_certificate`."""

    def __init__(self, answer: Callable[[Request], Sent], tls: Path | None = None) -> None:
        self.answer, self._scheme = answer, "https" if tls else "http"
        self.requests: list[Request] = []
        self.stopped = threading.Event()
        self._counts: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._listener = _Listener(("127.0.0.1", 0), Handler)
        self._listener.owner = self
        if tls is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(tls / CERTIFICATE, tls / "key.pem")
            self._listener.socket = context.wrap_socket(self._listener.socket, server_side=True)
        self._thread = threading.Thread(target=self._listener.serve_forever, args=(0.01,), daemon=True)

    @property
    def url(self) -> str:
        """The address, without a path."""
        return f"{self._scheme}://127.0.0.1:{self._listener.server_port}"

    @property
    def repeated(self) -> int:
        """Requests that were sent before."""
        return len(self.requests) - len(self._counts)

    def key_of(self, request: Request) -> str:
        """What two requests have in common that are the same."""
        return f"{request.method} {request.path} {request.content!r}"

    def reply(self, request: Request) -> Sent:
        """Logs the request, and gives the reply of the script."""
        key = self.key_of(request)
        with self._lock:
            self._counts[key] += 1
            counted = Request(request.method, request.path, request.headers, request.content, self._counts[key])
            self.requests.append(counted)
        return self.answer(counted)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stopped.set()
        self._listener.shutdown()
        self._listener.server_close()
        self._thread.join()
