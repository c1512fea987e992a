"""The HTTP server on the loopback address, and who may use it: token, cookie, Host and Origin."""

from __future__ import annotations

import hmac
import math
import secrets
import socket
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BufferedIOBase
from socketserver import TCPServer
from threading import Lock
from typing import Any, cast
from urllib.parse import parse_qs, quote, unquote

from rankproof._io import strict_json
from rankproof._server.responses import HttpError, PageResponse, text_response
from rankproof.errors import InputError, UsageError

LOOPBACK = "127.0.0.1"
_HOST_NAMES = (LOOPBACK, "localhost")
_DEFAULT_HTTP_PORT = 80
_KEY_BYTES = 32
_LOGIN_HINT = "open the address that `rankproof serve` printed at its start"
_ALLOWED_FETCH_SITES = ("same-origin", "none")


class Auth:
    """The token and session of one server; the cookie name has the port, because browsers share cookies between ports."""

    def __init__(self, port: int) -> None:
        self._token, self._session = secrets.token_urlsafe(_KEY_BYTES), secrets.token_urlsafe(_KEY_BYTES)
        self._cookie, self._assessor_cookie = f"rankproof-{port}", f"rankproof-assessor-{port}"
        self._hosts = tuple(name if port == _DEFAULT_HTTP_PORT else f"{name}:{port}" for name in _HOST_NAMES)

    @property
    def url(self) -> str:
        """The address with the token."""
        return f"http://{self._hosts[0]}/?token={self._token}"

    def check_host(self, headers: Message) -> str:
        """The Host header; any other name is rejected, as in DNS rebinding attacks."""
        hosts = headers.get_all("Host", [])
        if len(hosts) != 1 or hosts[0] not in self._hosts:
            raise HttpError(421, "this server accepts only requests to its own address")
        return str(hosts[0])

    def exchange_token(self, target: str) -> PageResponse | None:
        """A redirect that exchanges the token in the address for a cookie; None if there is no token."""
        path, _, query = target.partition("?")
        tokens = parse_qs(query, keep_blank_values=True).get("token")
        if tokens is None or path != "/":
            return None
        if len(tokens) != 1 or not _equal_secrets(tokens[0], self._token):
            raise HttpError(403, _LOGIN_HINT)
        cookie = f"{self._cookie}={self._session}; Path=/; HttpOnly; SameSite=Strict"
        return PageResponse(303, "text/plain", b"", headers={"Location": "/", "Set-Cookie": cookie})

    def check_cookie(self, headers: Message) -> None:
        """Rejects requests without the session cookie, and requests from pages of other sites."""
        if not any(_equal_secrets(value, self._session) for value in _cookie_values(headers, self._cookie)):
            raise HttpError(403, _LOGIN_HINT)
        if headers.get("Sec-Fetch-Site", _ALLOWED_FETCH_SITES[0]) not in _ALLOWED_FETCH_SITES:
            raise HttpError(403, _LOGIN_HINT)

    def assessor(self, headers: Message) -> str | None:
        """The name that this browser chose, None if it chose none; any text, as a client can send any."""
        return next((unquote(value) for value in _cookie_values(headers, self._assessor_cookie)), None)

    def with_assessor(self, response: PageResponse) -> PageResponse:
        """The response, with a cookie for the name that it chooses, if it does."""
        if response.assessor is None:
            return response
        cookie = f"{self._assessor_cookie}={quote(response.assessor, safe='')}; Path=/; HttpOnly; SameSite=Strict"
        return replace(response, headers={**response.headers, "Set-Cookie": cookie})

    def check_origin(self, headers: Message, host: str) -> None:
        """Rejects changes that do not come from a page of this server."""
        if headers.get_all("Origin", []) != [f"http://{host}"]:
            raise HttpError(403, "only pages of this server can make changes")


def security_headers(policy: str) -> Mapping[str, str]:
    """The security headers of every response."""
    return {
        "Content-Security-Policy": f"{policy}; frame-ancestors 'none'",
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
        "Referrer-Policy": "no-referrer",
        "Cache-Control": "no-store",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Cross-Origin-Opener-Policy": "same-origin",
    }


def _equal_secrets(secret: str, key: str) -> bool:
    return hmac.compare_digest(secret.encode(errors="replace"), key.encode())


def _cookie_values(headers: Message, name: str) -> list[str]:
    return [value for line in headers.get_all("Cookie", []) for cookie, value in _parse_cookies(line) if cookie == name]


def _parse_cookies(line: str) -> list[tuple[str, str]]:
    parts = (part.strip().partition("=") for part in line.split(";"))
    return [(name, value) for name, _, value in parts]


MAX_BODY_BYTES = 16 * 1024
_MAX_DRAINED_BYTES = 1024 * 1024
_DIGITS = 12


def read_json_object(headers: Message, stream: BufferedIOBase) -> dict[str, Any]:
    """The JSON object in the body of a request; size and type are checked before reading."""
    length = _content_length(headers, stream)
    if headers.get_content_type() != "application/json" or "Content-Type" not in headers:
        stream.read(length)
        raise HttpError(415, "the body must be application/json")
    return _parse_object(stream.read(length), length)


def _content_length(headers: Message, stream: BufferedIOBase) -> int:
    lengths = headers.get_all("Content-Length", [])
    if "Transfer-Encoding" in headers or len(lengths) != 1:
        raise HttpError(411, "the body needs one Content-Length")
    if not (lengths[0].isascii() and lengths[0].isdigit() and len(lengths[0]) <= _DIGITS):
        raise HttpError(400, "Content-Length is not a number")
    length = int(lengths[0])
    if length > MAX_BODY_BYTES:
        # A browser that is still sending would not see the answer.
        stream.read(min(length, _MAX_DRAINED_BYTES))
        raise HttpError(413, f"the body is larger than {MAX_BODY_BYTES} bytes")
    return length


def _parse_object(content: bytes, length: int) -> dict[str, Any]:
    if len(content) < length:
        raise HttpError(400, "the body ends early")
    try:
        value = strict_json.parse_strict_json(content.decode(), source="body")
    except (UnicodeDecodeError, InputError):
        raise HttpError(400, "the body is not valid JSON") from None
    if not isinstance(value, dict):
        raise HttpError(400, "the body is not a JSON object")
    return value


_METHODS = ("GET", "POST")
_BLOCK = 64 * 1024


class Handler(BaseHTTPRequestHandler):
    """Reads and checks one request, responds, and closes the connection."""

    timeout = 10
    protocol_version = "HTTP/1.1"

    def handle(self) -> None:
        """Handles a single request; connections are not reused."""
        self.raw_requestline = self.rfile.readline(65537)
        self.requestline, self.command = "", ""
        if len(self.raw_requestline) > 65536:
            self._send(text_response(414, "the address is too long"))
        elif self.raw_requestline and self.parse_request():
            # A request without a version has no headers; Python 3.14 does not read any.
            versioned = self.request_version != self.default_request_version
            self._send(self._answer() if versioned else text_response(400, "the request has no HTTP version"))

    def _answer(self) -> PageResponse:
        try:
            return self._checked_answer()
        except HttpError as error:
            return text_response(error.status, error.message)
        except (ConnectionError, TimeoutError):
            raise
        except Exception as error:
            self._service.report_exception(error)
            return text_response(500, "internal error; start `rankproof serve` with -v to see it")

    def _checked_answer(self) -> PageResponse:
        auth = self._service.auth
        host = auth.check_host(self.headers)
        if self.command not in _METHODS:
            return PageResponse(405, "text/plain", b"", headers={"Allow": ", ".join(_METHODS)})
        if self.command == "GET" and (redirect := auth.exchange_token(self.path)) is not None:
            return redirect
        auth.check_cookie(self.headers)
        body: dict[str, Any] | None = None
        if self.command == "POST":
            auth.check_origin(self.headers, host)
            body = read_json_object(self.headers, self.rfile)
        self._service.places.start_answer(self.connection)
        return auth.with_assessor(self._service.answer(self.path, body, auth.assessor(self.headers)))

    def _send(self, response: PageResponse) -> None:
        self._service.places.start_sending(self.connection)
        self.close_connection, self.request_version = True, self.protocol_version
        self.send_response_only(response.status)
        headers = {"Content-Type": response.kind, "Content-Length": str(len(response.body)), "Connection": "close"}
        for name, value in {**headers, **security_headers(response.policy), **response.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        body = memoryview(response.body)
        for start in range(0, len(body), _BLOCK):
            self.wfile.write(body[start : start + _BLOCK])

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Responds to a malformed request without repeating any of it."""
        self._send(text_response(code, "malformed request"))

    def log_message(self, format: str, *args: Any) -> None:
        """Logs nothing: a log would contain the token."""

    @property
    def _service(self) -> Server:
        return cast("Server", self.server)


MAX_CONNECTIONS = 64
REQUEST_TIMEOUT = 15.0
RESPONSE_TIMEOUT = 60.0
AnswerRequest = Callable[[str, dict[str, Any] | None, str | None], PageResponse]
"""The response to a path, the JSON body of a POST request, and the name that the browser chose."""


@dataclass(slots=True)
class _OpenConnection:
    """A connection, the time at which its request or its response is due, and whether the client is still sending the request."""

    due: float
    is_reading: bool = True


class Places:
    """The open connections, at most `MAX_CONNECTIONS`; where all places are taken, a client that is slow gives up its place.

    The place that was taken first among the clients that have not sent their request is freed, then that of the client that has
    been receiving its response for longest. A request that is being answered keeps its place.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._places: dict[socket.socket, _OpenConnection] = {}

    def take(self, connection: socket.socket) -> bool:
        """Takes a place for a new connection; False if every place has a request that is being answered."""
        with self._lock:
            if len(self._places) >= MAX_CONNECTIONS and not self._free_one():
                return False
            self._places[connection] = _OpenConnection(time.monotonic() + REQUEST_TIMEOUT)
        return True

    def _free_one(self) -> bool:
        slow = [(not place.is_reading, place.due, at) for at, place in enumerate(self._places.values()) if place.due < math.inf]
        if slow:
            self._end(list(self._places)[min(slow)[-1]])
        return bool(slow)

    def _end(self, connection: socket.socket) -> None:
        del self._places[connection]
        with suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)

    def start_answer(self, connection: socket.socket) -> None:
        """The request is complete: its connection keeps its place until it is answered."""
        self._set(connection, _OpenConnection(math.inf, is_reading=False))

    def start_sending(self, connection: socket.socket) -> None:
        """The response is sent, which has a deadline too."""
        self._set(connection, _OpenConnection(time.monotonic() + RESPONSE_TIMEOUT, is_reading=False))

    def _set(self, connection: socket.socket, place: _OpenConnection) -> None:
        with self._lock:
            if connection not in self._places:
                raise ConnectionAbortedError("the place of this connection was given to another one")
            self._places[connection] = place

    def give_back(self, connection: socket.socket) -> None:
        """Frees the place of a connection that ends."""
        with self._lock:
            self._places.pop(connection, None)

    def end_late(self) -> None:
        """Ends the connections whose deadline has passed."""
        now = time.monotonic()
        with self._lock:
            for connection in [open_connection for open_connection, place in self._places.items() if place.due < now]:
                self._end(connection)


class Server(ThreadingHTTPServer):
    """Serves requests; `answer` gets the path, the JSON body and the chosen name, `report_exception` gets internal errors."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 2 * MAX_CONNECTIONS
    allow_reuse_address = sys.platform != "win32"

    def __init__(self, port: int, answer: AnswerRequest, report_exception: Callable[[Exception], None]) -> None:
        self.answer, self.report_exception = answer, report_exception
        self.places = Places()
        try:
            super().__init__((LOOPBACK, port), Handler)
        except (OSError, OverflowError) as error:
            reason = error.strerror if isinstance(error, OSError) else "invalid port"
            raise UsageError(f"port {port} cannot be used ({reason})", fix="choose another with --port, or omit --port") from None
        self.auth = Auth(int(self.server_address[1]))

    def server_bind(self) -> None:
        """Binds without looking up the host name."""
        TCPServer.server_bind(self)

    def service_actions(self) -> None:
        """Ends connections whose deadline has passed."""
        self.places.end_late()

    def process_request(self, request: Any, client_address: Any) -> None:
        """Accepts a connection, or closes it if every place has a request that is being answered."""
        if not self.places.take(request):
            self.shutdown_request(request)
            return
        try:
            super().process_request(request, client_address)
        except BaseException:
            self.places.give_back(request)
            raise

    def shutdown_request(self, request: Any) -> None:
        """Ends a connection and frees its place."""
        self.places.give_back(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Reports errors except closed and slow connections."""
        error = sys.exception()
        if isinstance(error, Exception) and not isinstance(error, (ConnectionError, TimeoutError)):
            self.report_exception(error)
