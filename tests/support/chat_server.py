"""A chat server on loopback with real sockets: a test sets its responses and reads the log of requests."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from rankproof.models._chat.openai import OpenAIChat

TOKENS_OUT = 3
"""The tokens of the reply that every completion reports, more for a long text."""
_BYTES_PER_TOKEN = 5


@dataclass(frozen=True)
class Request:
    """What a client sent; `number` counts from 1 those with the same messages, or without messages the same path and body."""

    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]
    number: int

    @property
    def tokens(self) -> int:
        """The tokens of its messages, as the server counts them."""
        return sum(len(message["content"].encode()) for message in self.body.get("messages", ())) // _BYTES_PER_TOKEN + 1


@dataclass(frozen=True)
class Sent:
    """An answer: as it stands, or by a function that writes to the connection itself.

    A completion costs tokens: where its body reports no usage, the server adds it.
    """

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    by: Callable[[Handler], None] | None = None
    is_completion: bool = False


Answering = Callable[[Request], Sent]


def body_of(text: str | None, *, finish: str = "stop", message: Mapping[str, Any] | None = None, **choice: Any) -> dict[str, Any]:
    """A completion as OpenAI writes it."""
    written = {"role": "assistant", "content": text, **(message or {})}
    return {
        "id": "c-1",
        "object": "chat.completion",
        "model": "loopback-1",
        "choices": [{"index": 0, "message": written, "finish_reason": finish, **choice}],
    }


def completion(text: str | None, **parts: Any) -> Sent:
    """A good answer with that text."""
    return Sent(body=json.dumps(body_of(text, **parts)).encode(), is_completion=True)


def _with_usage(sent: Sent, read: int, written: int) -> Sent:
    """The completion with these tokens, unless it reports some."""
    used = {"prompt_tokens": read, "completion_tokens": written}
    return replace(sent, body=json.dumps({"usage": used, **json.loads(sent.body)}).encode())


def _reply_tokens(sent: Sent) -> int:
    text = json.loads(sent.body)["choices"][0]["message"]["content"] or ""
    return max(TOKENS_OUT, len(text.encode(errors="replace")) // _BYTES_PER_TOKEN)


def _silent(handler: Handler) -> None:
    handler.server.owner.stopped.wait()


NEVER = Sent(by=_silent)
"""No answer at all, until the server is stopped."""


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Listener

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        sent = self.server.owner.answered(self.path, dict(self.headers.items()), json.loads(content or b"{}"))
        if sent.by is not None:
            self.close_connection = True
            sent.by(self)
            return
        self.send_response(sent.status)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(sent.body)), **sent.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(sent.body)

    def do_GET(self) -> None:
        self.do_POST()

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is printed."""


class _Listener(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    owner: ChatServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no error of the test."""


class ChatServer:
    """`with ChatServer(answer) as server:`; `answer` may be changed on the way."""

    def __init__(self, answer: Answering) -> None:
        self.answer = answer
        self.requests: list[Request] = []
        self.completions = self.tokens_in = self.tokens_out = 0
        self.stopped = threading.Event()
        self._counts: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._listener = _Listener(("127.0.0.1", 0), Handler)
        self._listener.owner = self
        self._thread = threading.Thread(target=self._listener.serve_forever, args=(0.01,), daemon=True)

    @property
    def address(self) -> str:
        """What a client takes for its base_url."""
        return f"http://127.0.0.1:{self._listener.server_port}/v1"

    @property
    def repeated(self) -> int:
        """Requests whose messages were sent before."""
        return len(self.requests) - len(self._counts)

    def model(self, **settings: Any) -> OpenAIChat:
        """The model on this server, without a key."""
        return OpenAIChat(**{"model": "loopback", "base_url": self.address, "api_key_env": "", "timeout": 20.0, **settings})

    def answered(self, path: str, headers: Mapping[str, str], body: Mapping[str, Any]) -> Sent:
        """What the test says to this request."""
        key = json.dumps(body.get("messages", [path, body]))
        with self._lock:
            self._counts[key] += 1
            request = Request(path, headers, body, self._counts[key])
            self.requests.append(request)
        sent = self.answer(request)
        if not sent.is_completion or "messages" not in body:
            return sent
        written = _reply_tokens(sent)
        with self._lock:
            self.completions += 1
            self.tokens_in += request.tokens
            self.tokens_out += written
        return _with_usage(sent, request.tokens, written)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stopped.set()
        self._listener.shutdown()
        self._listener.server_close()
        self._thread.join()
