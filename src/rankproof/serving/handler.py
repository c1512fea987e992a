"""One request on one connection: who asks is checked before what is asked for, and nothing is logged."""

from __future__ import annotations

from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any, cast

from .body import read_object
from .door import security_headers
from .reply import RefusedError, Reply, plain

if TYPE_CHECKING:
    from .server import Service

_METHODS = ("GET", "POST")
_BLOCK = 64 * 1024


class Handler(BaseHTTPRequestHandler):
    """Reads a request, checks it, answers it and hangs up."""

    timeout = 10
    protocol_version = "HTTP/1.1"

    def setup(self) -> None:
        """From now on there is a time by which the request must have come in whole."""
        super().setup()
        self._service.expect(self.connection)

    def finish(self) -> None:
        """The connection is done with."""
        self._service.expect_no_more(self.connection)
        super().finish()

    def handle(self) -> None:
        """A single request: what one says never mixes with another."""
        self.raw_requestline = self.rfile.readline(65537)
        self.requestline, self.command = "", ""
        if len(self.raw_requestline) > 65536:
            self._send(plain(414, "the address is too long"))
        elif self.raw_requestline and self.parse_request():
            self._send(self._answer())

    def _answer(self) -> Reply:
        try:
            return self._checked_answer()
        except RefusedError as refused:
            return plain(refused.status, refused.words)
        except (ConnectionError, TimeoutError):
            raise
        except Exception as error:
            self._service.tell(error)
            return plain(500, "something went wrong here; start `rankproof serve` with -v to see what")

    def _checked_answer(self) -> Reply:
        door = self._service.door
        host = door.check_host(self.headers)
        if self.command not in _METHODS:
            return Reply(405, "text/plain", b"", headers={"Allow": ", ".join(_METHODS)})
        if self.command == "GET" and (entered := door.exchanged(self.path)) is not None:
            return entered
        door.check_cookie(self.headers)
        body: dict[str, Any] | None = None
        if self.command == "POST":
            door.check_origin(self.headers, host)
            body = read_object(self.headers, self.rfile)
        self._service.expect_no_more(self.connection)
        return self._service.answer(self.path, body)

    def _send(self, reply: Reply) -> None:
        self.close_connection, self.request_version = True, self.protocol_version
        self.send_response_only(reply.status)
        headers = {"Content-Type": reply.kind, "Content-Length": str(len(reply.body)), "Connection": "close"}
        for name, value in {**headers, **security_headers(reply.policy), **reply.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        whole = memoryview(reply.body)
        for start in range(0, len(whole), _BLOCK):
            self.wfile.write(whole[start : start + _BLOCK])

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """A request that could not be read; nothing of it is sent back."""
        self._send(plain(code, "this request cannot be read"))

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: a log would keep the token and what was looked at."""

    @property
    def _service(self) -> Service:
        return cast("Service", self.server)
