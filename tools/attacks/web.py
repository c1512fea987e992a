"""Hostile requests to `rankproof serve`: `python -m tools.attacks.web`.

Every request gets a status below 500 or a closed connection, none without the right Host, Origin and cookie changes a file, and
the server answers a good request afterwards.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tools.attacks.files import make_home

_SECONDS = 30
_DEEP = 5000
_BODIES: tuple[bytes, ...] = (
    *(b"", b"{", b"[]", b"null", b"1", b'"x"', b"NaN", b'{"a": NaN}', b'{"a": Infinity}', b'{"a": 1e999}', b"\xff\xfe{}", b"\0"),
    *(
        b'{"query": "q1", "query": "q2"}',
        b'{"a": ' + b"[" * _DEEP,
        b"[" * _DEEP + b"]" * _DEEP,
        b'{"__proto__": {}}',
        b'{"a": "\\ud800"}',
    ),
    *(
        b'{"text": "\\ud800", "doc": "d1", "grade": 1}',
        b'{"query": 1' + b"0" * 5000 + b"}",
        b'{"query": "' + b"x" * 15_000 + b'"}',
    ),
)
_VALUES: tuple[Any, ...] = (
    None,
    True,
    -1,
    1.5,
    10**30,
    "",
    "x",
    "q1",
    "../../x",
    "\ud800",
    "\0",
    "<script>",
    [],
    {},
    [[]],
    "a:b",
    "x" * 3000,
)
_PATHS = (
    *(
        "/../../etc/passwd",
        "/r/../../etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/r/1/..%2f..%2fresult.json",
        "/static/../server.py",
    ),
    *(
        "/modules/../server.py",
        "/modules/%2e%2e/server.py",
        "//etc/passwd",
        "/r/999999999999",
        "/r/-1",
        "/r/1%00",
        "/r/\u0661",
        "/r/1e0",
    ),
    *(
        "/api/r/1/bench/../../..",
        "/api/r/0",
        "/api/%72/1",
        "/?token=",
        "/?token=a&token=b",
        "/r/1?x=" + "a" * 60_000,
        "http://evil/",
        "*",
    ),
    *(
        "/r/1/%ff%fe",
        "/r/1/judge#x",
        "\\..\\..\\x",
        "/r/1;/judge",
        "/favicon.ico",
        "/.well-known/x",
        "/r/1/bench?a=%00&b=%0d%0aX:y",
    ),
)
_METHODS = ("HEAD", "OPTIONS", "PUT", "DELETE", "PATCH", "TRACE", "CONNECT", "get", "PROPFIND", "X" * 5000)
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_SMUGGLED = b"GET /r/1 HTTP/1.1\r\nHost: evil\r\n\r\n"


@dataclass(frozen=True)
class Site:
    """The server: its port, the cookie of a person, and the folder that it may change."""

    port: int
    cookie: str
    home: Path

    @property
    def host(self) -> str:
        """Its own name."""
        return f"127.0.0.1:{self.port}"

    def send(self, content: bytes, *, slowly: bool = False) -> bytes:
        """The reply to these bytes; empty if the connection was closed without any."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=_SECONDS) as connection:
            try:
                for part in (content[at : at + 1] for at in range(len(content))) if slowly else [content]:
                    connection.sendall(part)
                connection.shutdown(socket.SHUT_WR)
                return b"".join(iter(lambda: connection.recv(1 << 16), b""))
            except OSError:
                return b""

    def request(
        self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str | None] | None = None
    ) -> bytes:
        """The reply to a request like that of the page; a header of None is left out."""
        usual: dict[str, str | None] = {"Host": self.host, "Cookie": self.cookie, "Origin": f"http://{self.host}"}
        if body is not None:
            usual |= {"Content-Type": "application/json", "Content-Length": str(len(body))}
        lines = [f"{name}: {value}" for name, value in {**usual, **(headers or {})}.items() if value is not None]
        head = "\r\n".join([f"{method} {path} HTTP/1.1", *lines, "", ""])
        return self.send(head.encode(errors="surrogateescape") + (body or b""))

    def digest(self) -> str:
        """Changes with any file of the folder."""
        parts = [
            f"{path}:{hashlib.sha256(path.read_bytes()).hexdigest()}" for path in sorted(self.home.rglob("*")) if path.is_file()
        ]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()

    def routes(self) -> list[dict[str, Any]]:
        """The JSON routes as the server lists them, for the first results."""
        reply = self.request("GET", "/api").partition(b"\r\n\r\n")[2]
        routes: list[dict[str, Any]] = json.loads(reply)["routes"]
        return [{**route, "path": route["path"].replace("{id}", "1")} for route in routes]


Attack = tuple[str, bytes]


def unauthorised(site: Site) -> Iterator[Attack]:
    """Requests of a page of another site, of another host, or without the cookie, to every route; all are rejected."""
    others: Mapping[str, Mapping[str, str | None]] = {
        "another Host": {"Host": "evil.example"},
        "no Host": {"Host": None},
        "another port": {"Host": "127.0.0.1:1"},
        "a Host with a user": {"Host": f"x@{site.host}"},
        "no cookie": {"Cookie": None},
        "another cookie": {"Cookie": site.cookie[:-3] + "abc"},
        "another site": {"Sec-Fetch-Site": "cross-site"},
        "another Origin": {"Origin": "http://evil.example"},
        "Origin null": {"Origin": "null"},
        "no Origin": {"Origin": None},
        "Origin of another scheme": {"Origin": f"https://{site.host}"},
        "a form": {"Content-Type": "application/x-www-form-urlencoded"},
        "plain text": {"Content-Type": "text/plain"},
    }
    for route, (name, headers) in itertools.product(site.routes(), others.items()):
        is_post = route["method"] == "POST"
        if is_post or not ("Origin" in name or name in ("a form", "plain text")):
            body = b'{"query": "q1", "text": "a", "doc": "d1", "grade": 1, "note": "x"}' if is_post else None
            yield f"{name}: {route['method']} {route['path']}", site.request(route["method"], route["path"], body, headers)


def bodies(site: Site) -> Iterator[Attack]:
    """Bodies that are no request, to every route that takes one, and each key with values of other types."""
    for route in site.routes():
        if route["method"] != "POST" or route["path"].endswith(("/prove", "/rebuild")):
            continue
        for body in _BODIES:
            yield f"{route['path']} {body[:30]!r}", site.request("POST", route["path"], body)
        for key, value in itertools.product((row["key"] for row in route["request"]), _VALUES):
            values = {**dict.fromkeys((row["key"] for row in route["request"] if row["required"]), "q1"), key: value}
            yield f"{route['path']} {key} {str(value)[:20]!r}", site.request("POST", route["path"], json.dumps(values).encode())


def addresses(site: Site) -> Iterator[Attack]:
    """Paths out of the folder, other methods, and queries of other types."""
    for path in _PATHS:
        yield path[:60], site.request("GET", path)
    for method, path in itertools.product(_METHODS, ("/", "/r/1", "/api/r/1/notes")):
        yield f"{method[:10]} {path}", site.request(method, path, b"{}" if method in ("PUT", "PATCH") else None)
    for route in site.routes():
        if route["method"] == "GET":
            for text in (
                "?",
                "?x=1",
                "?query=%00",
                "?query=a&query=b",
                "?depth=1e9",
                "?job=-1",
                "?a=%ff",
                "?query=" + "x" * 9000,
            ):
                yield f"GET {route['path']}{text[:20]}", site.request("GET", route["path"] + text)


def wires(site: Site) -> Iterator[Attack]:
    """Broken, doubled and smuggled requests, upgrades, and bodies that are larger or smaller than they say."""
    good = f"POST /api/r/1/notes HTTP/1.1\r\nHost: {site.host}\r\nCookie: {site.cookie}\r\nOrigin: http://{site.host}\r\n"
    start, body = f"{good}Content-Type: application/json\r\n", '{"query": "q1", "note": "smuggled"}'
    for name, text in {
        "two lengths": f"{start}Content-Length: 0\r\nContent-Length: {len(body)}\r\n\r\n{body}",
        "chunks": f"{start}Transfer-Encoding: chunked\r\n\r\n{len(body):x}\r\n{body}\r\n0\r\n\r\n",
        "chunks and length": f"{start}Content-Length: {len(body)}\r\nTransfer-Encoding: chunked\r\n\r\n{body}",
        "a negative length": f"{start}Content-Length: -1\r\n\r\n{body}",
        "a hexadecimal length": f"{start}Content-Length: 0x10\r\n\r\n{body}",
        "a plus": f"{start}Content-Length: +{len(body)}\r\n\r\n{body}",
        "a long length": f"{start}Content-Length: {'9' * 5000}\r\n\r\n{body}",
        "too long a body": f"{start}Content-Length: 99999999\r\n\r\n" + "x" * 200_000,
        "too short a body": f"{start}Content-Length: 16000\r\n\r\n{body}",
        "two hosts": f"{start}Host: evil\r\nContent-Length: {len(body)}\r\n\r\n{body}",
        "two origins": f"{start}Origin: http://evil\r\nContent-Length: {len(body)}\r\n\r\n{body}",
        "a folded header": f"{start}X: a\r\n b\r\n\tc\r\nHost : evil\r\nContent-Length: {len(body)}\r\n\r\n{body}",
        "100,000 headers": good + "".join(f"X{number}: a\r\n" for number in range(100_000)) + "\r\n",
        "a header of 1 MB": f"{good}X: {'a' * 1_000_000}\r\n\r\n",
        "an address of 1 MB": f"GET /{'a' * 1_000_000} HTTP/1.1\r\nHost: {site.host}\r\n\r\n",
        "a websocket": f"GET / HTTP/1.1\r\nHost: {site.host}\r\nCookie: {site.cookie}\r\nConnection: Upgrade\r\n"
        "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n",
        "HTTP/2": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "HTTP/0.9": "GET /\r\n",
        "HTTP/9.9": f"GET / HTTP/9.9\r\nHost: {site.host}\r\n\r\n",
        "no version": "GET\r\n\r\n",
        "nothing": "\r\n\r\n\r\n",
        "a bare line feed": f"GET / HTTP/1.1\nHost: {site.host}\nCookie: {site.cookie}\n\n",
        "expect": f"{start}Expect: 100-continue\r\nContent-Length: 99999999\r\n\r\n",
    }.items():
        yield name, site.send(text.encode())
    yield (
        "a pipelined request",
        site.send(f"GET / HTTP/1.1\r\nHost: {site.host}\r\nCookie: {site.cookie}\r\n\r\n".encode() + _SMUGGLED),
    )
    yield "TLS", site.send(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(range(256)))
    yield "zeros", site.send(bytes(70_000))
    yield "one byte at a time", site.send(f"{good}\r\n"[:300].encode(), slowly=True)


KINDS = {"unauthorised": unauthorised, "bodies": bodies, "addresses": addresses, "wires": wires}


def fault(kind: str, name: str, reply: bytes) -> str:
    """What is wrong with the reply; empty if nothing is."""
    head = reply.partition(b"\r\n")[0].decode(errors="replace")
    status = int(head.split()[1]) if re.match(r"HTTP/1\.[01] \d{3} ", head) else 0
    if reply and not status:
        return f"no status: {head[:80]!r}"
    if (status >= 500 and status != 505) or status == 101 or b"Traceback" in reply:
        return f"{status}: {reply[-200:]!r}"
    if kind == "unauthorised" and status not in (400, 403, 415, 421):
        return f"an unauthorised request got {status}"
    if (
        b"root:x:0" in reply
        or b"evil" in reply.partition(b"\r\n\r\n")[0]
        or reply.removeprefix(_CONTINUE).count(b"HTTP/1.1 ") > 1
    ):
        return "a file outside, an echoed header or a second reply"
    return ""


@contextmanager
def site_of(home: Path) -> Iterator[Site]:
    """A server on the good results of the folder, that may write everything."""
    judging = ["--judge", str(home / "people.qrels"), "--assessor", "ann", "--edit"]
    command = [sys.executable, "-m", "rankproof", "serve", "good", *judging, "--port", "0"]
    with (
        open(home.parent / "server.log", "w", encoding="utf-8") as log,
        subprocess.Popen(command, cwd=home, stdout=subprocess.PIPE, stderr=log, text=True) as server,
    ):
        try:
            assert server.stdout is not None
            found = next(
                found for line in server.stdout if (found := re.search(r"http://127\.0\.0\.1:(\d+)/(\?token=\S+)", line))
            )
            threading.Thread(target=server.stdout.read, daemon=True).start()
            site = Site(int(found[1]), "", home)
            cookie = re.search(rb"Set-Cookie: ([^;]+)", site.request("GET", f"/{found[2]}", headers={"Cookie": None}))
            assert cookie is not None
            yield Site(site.port, cookie[1].decode(), home)
            assert server.poll() is None, "the server ended"
        finally:
            server.terminate()


def main() -> int:
    """Prints the requests of each kind, and how many replies were wrong."""
    failures = 0
    print("| requests | sent | rejected | answered | closed | failures |\n|---|---:|---:|---:|---:|---:|")
    with TemporaryDirectory(prefix="rankproof-web-") as folder:
        home = Path(folder) / "home"
        home.mkdir()
        make_home(home)
        with site_of(home) as site:
            before = site.digest()
            for kind, attacks in KINDS.items():
                failures += _row(site, kind, list(attacks(site)))
                if kind == "unauthorised" and site.digest() != before:
                    print("an unauthorised request changed a file", file=sys.stderr)
                    failures += 1
        if "Traceback" in (text := (home.parent / "server.log").read_text(encoding="utf-8")):
            print(text, file=sys.stderr)
            failures += 1
    return 1 if failures else 0


def _row(site: Site, kind: str, attacks: list[Attack]) -> int:
    wrong = [(name, words) for name, reply in attacks if (words := fault(kind, name, reply))]
    for name, words in wrong:
        print(f"{kind}: {name}: {words}", file=sys.stderr, flush=True)
    closed = sum(not reply for _, reply in attacks)
    answered = sum(bool(re.match(rb"HTTP/1\.1 [23]", reply)) for _, reply in attacks)
    began = time.monotonic()
    if not site.request("GET", "/").startswith(b"HTTP/1.1 200") or time.monotonic() - began > _SECONDS:
        wrong.append(("", "the server no longer answers"))
    print(
        f"| {kind} | {len(attacks):,} | {len(attacks) - answered - closed:,} | {answered:,} | {closed} | {len(wrong)} |",
        flush=True,
    )
    return len(wrong)


if __name__ == "__main__":
    sys.exit(main())
