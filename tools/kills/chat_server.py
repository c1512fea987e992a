"""A chat server on loopback whose reply is a function of the request, and which counts each request."""

from __future__ import annotations

import hashlib
import json
import re
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

_DELAY = 0.02
"""Seconds until a reply, so that kills meet requests in progress."""
_CLAIMS = re.compile(r"each of the (\d+) claims")


class CountingServer(ThreadingHTTPServer):
    """`asked` counts the requests by the digest of their last message."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: Counter[str] = Counter()
        self.lock = threading.Lock()

    @property
    def base_url(self) -> str:
        """The address for `--base-url`."""
        return f"http://127.0.0.1:{self.server_port}/v1"

    def repeated(self) -> int:
        """The number of requests that were sent before."""
        with self.lock:
            return sum(self.asked.values()) - len(self.asked)

    def forget(self) -> None:
        """Sets all counts to zero."""
        with self.lock:
            self.asked.clear()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignores a client that was killed."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: CountingServer

    def do_POST(self) -> None:
        """Counts the request and replies."""
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        prompt = request["messages"][-1]["content"]
        digest = hashlib.sha256(prompt.encode()).hexdigest()
        with self.server.lock:
            self.server.asked[digest] += 1
        time.sleep(_DELAY)
        text = json.dumps(_reply(prompt, int(digest, 16)))
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
        usage = {"prompt_tokens": max(len(prompt) // 4, 1), "completion_tokens": 10}
        self._send({"model": "counting", "choices": [choice], "usage": usage})

    def log_message(self, format: str, *args: Any) -> None:
        """Logs nothing."""

    def _send(self, value: Any) -> None:
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _reply(prompt: str, digest: int) -> dict[str, Any]:
    """Verdicts, an answer or a grade, whichever the prompt asks for."""
    if '"verdicts"' in prompt:
        found = _CLAIMS.search(prompt)
        count = int(found[1]) if found else 1
        verdicts = ("contradicted", "not_stated", "nothing_to_check")
        return {
            "verdicts": [{"claim": at + 1, "evidence": [], "verdict": verdicts[(digest >> at) % 3]} for at in range(count)],
        }
    if '"sources"' in prompt:
        return {"answer": f"answer {digest % 1000}", "sources": [1 + digest % 3]}
    return {"reason": "by digest", "grade": digest % 4}


@contextmanager
def chat_server() -> Iterator[CountingServer]:
    """A server that runs as long as the block."""
    with CountingServer() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
