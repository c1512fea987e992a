"""The server: on loopback alone, with a limit on connections and on how long a request may take to come in."""

from __future__ import annotations

import socket
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from http.server import ThreadingHTTPServer
from socketserver import TCPServer
from threading import BoundedSemaphore, Lock
from typing import Any

from ..errors import UsageError
from .door import ADDRESS, Door
from .handler import Handler
from .reply import Reply

CONNECTIONS = 64
SECONDS = 15.0
Answer = Callable[[str, dict[str, Any] | None], Reply]


class Service(ThreadingHTTPServer):
    """Answers requests; `answer` is given the path and the object that was sent, `tell` an error of our own."""

    daemon_threads = True
    block_on_close = False
    allow_reuse_address = sys.platform != "win32"

    def __init__(self, port: int, answer: Answer, tell: Callable[[Exception], None]) -> None:
        self.answer, self.tell = answer, tell
        self._free = BoundedSemaphore(CONNECTIONS)
        self._due: dict[socket.socket, float] = {}
        self._lock = Lock()
        try:
            super().__init__((ADDRESS, port), Handler)
        except (OSError, OverflowError) as error:
            why = error.strerror if isinstance(error, OSError) else "no such port"
            raise UsageError(f"port {port} cannot be used ({why})", fix="name another with --port, or leave it out") from None
        self.door = Door(int(self.server_address[1]))

    def server_bind(self) -> None:
        """Binds without asking the network what this machine is called."""
        TCPServer.server_bind(self)

    def expect(self, connection: socket.socket) -> None:
        """A request must have come in on the connection within some seconds."""
        with self._lock:
            self._due[connection] = time.monotonic() + SECONDS

    def expect_no_more(self, connection: socket.socket) -> None:
        """It has."""
        with self._lock:
            self._due.pop(connection, None)

    def service_actions(self) -> None:
        """Hangs up on those who send too slowly, however steadily."""
        now = time.monotonic()
        with self._lock:
            late = [connection for connection, due in self._due.items() if due < now]
            for connection in late:
                del self._due[connection]
        for connection in late:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def process_request(self, request: Any, client_address: Any) -> None:
        """One more connection, or none where there are too many."""
        if not self._free.acquire(blocking=False):
            self.shutdown_request(request)
            return
        try:
            super().process_request(request, client_address)
        except BaseException:
            self._free.release()
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """The connection's own thread."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that hangs up is no news."""
