"""A chat server on loopback that grades by a digest of the request and counts each request."""

from __future__ import annotations

import argparse
import hashlib
import json
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class CountingServer(ThreadingHTTPServer):
    """Replies after so many seconds; `asked` counts requests by the digest of their last message."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, delay: float) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.delay = delay
        self.asked: Counter[str] = Counter()
        self.lock = threading.Lock()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Whoever asked was killed, which is what this is for."""


class Handler(BaseHTTPRequestHandler):
    """POST asks, GET gives the counts, DELETE forgets them."""

    protocol_version = "HTTP/1.1"
    server: CountingServer

    def do_POST(self) -> None:
        """A grade from 0 to 3."""
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        digest = hashlib.sha256(request["messages"][-1]["content"].encode()).hexdigest()
        with self.server.lock:
            self.server.asked[digest] += 1
        time.sleep(self.server.delay)
        text = json.dumps({"reason": "by digest", "grade": int(digest, 16) % 4})
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
        self._send({"model": "counting", "choices": [choice], "usage": {"prompt_tokens": 100, "completion_tokens": 10}})

    def do_GET(self) -> None:
        """How often each was asked."""
        with self.server.lock:
            self._send(dict(self.server.asked))

    def do_DELETE(self) -> None:
        """As if nothing had been asked."""
        with self.server.lock:
            self.server.asked.clear()
        self._send({})

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is logged."""

    def _send(self, value: Any) -> None:
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def main() -> None:
    """Says its port on the first line, and serves until it is ended."""
    parser = argparse.ArgumentParser(prog="python -m tools.fuzz.counting_chat_server", description=__doc__)
    parser.add_argument("--delay", type=float, default=0.02)
    server = CountingServer(parser.parse_args().delay)
    print(server.server_port, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
