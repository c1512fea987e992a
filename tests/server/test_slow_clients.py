"""A server whose places are all taken by slow clients still answers a person."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from rankproof._server import server
from rankproof._server.responses import PageResponse
from rankproof._server.server import Server
from support.results_server import Visitor, data_of, judged_in, many_pairs, saved, serving

QUICK = 5.0
"""Seconds within which a person has an answer: less than the deadline of any slow client."""


def idle(visitor: Visitor) -> bytes:
    """Sends nothing, as a browser that opens a connection in advance."""
    return b""


def half_a_header(visitor: Visitor) -> bytes:
    return f"GET / HTTP/1.1\r\nHost: {visitor.host}\r\nX-Slow: ".encode()


def half_a_body(visitor: Visitor) -> bytes:
    """Stops in the middle of a judgement, with the cookie of the person."""
    lines = [
        "POST /r/1/judge HTTP/1.1",
        *(f"Host: {visitor.host}", f"Origin: http://{visitor.host}", f"Cookie: {visitor.cookie}"),
        *("Content-Type: application/json", "Content-Length: 1000"),
    ]
    return ("\r\n".join(lines) + '\r\n\r\n{"query": ').encode()


SLOW: list[Callable[[Visitor], bytes]] = [idle, half_a_header, half_a_body]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved(tmp_path_factory.mktemp("slow") / "results", many_pairs())


def connect(port: int, sent: bytes) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port), timeout=60)
    connection.sendall(sent)
    return connection


@pytest.mark.parametrize("slow", SLOW)
def test_a_person_judges_while_slow_clients_take_all_places(
    slow: Callable[[Visitor], bytes], folder: Path, tmp_path: Path
) -> None:
    with serving([folder], judge=tmp_path / "my.qrels") as visitor, ExitStack() as held:
        visitor.enter()
        for _ in range(2 * server.MAX_CONNECTIONS):
            held.enter_context(connect(visitor.port, slow(visitor)))
        start = time.monotonic()
        for query, doc, *_ in data_of(visitor)["pairs"][:5]:
            assert visitor.post("/r/1/judge", {"query": query, "doc": doc, "grade": 1}).status == 200
        assert time.monotonic() - start < QUICK
    assert judged_in(tmp_path / "my.qrels").count("\n") == 5


@contextmanager
def flood(visitor: Visitor) -> Iterator[None]:
    """Opens slow connections without end, each held until the server ends it."""
    stopped = threading.Event()

    def run() -> None:
        held: list[socket.socket] = []
        while not stopped.is_set():
            held.append(connect(visitor.port, half_a_header(visitor)))
            if len(held) > 3 * server.MAX_CONNECTIONS:
                held.pop(0).close()
            time.sleep(0.002)
        for each in held:
            each.close()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()


@pytest.mark.slow
def test_a_person_is_answered_while_new_slow_clients_come_without_end(folder: Path) -> None:
    with serving([folder]) as visitor:
        visitor.enter()
        with flood(visitor):
            time.sleep(0.5)
            assert [visitor.get("/").status for _ in range(30)] == [200] * 30


BIG = PageResponse(200, "text/plain", b"x" * (1 << 25))
SMALL = PageResponse(200, "text/plain", b"small")


@contextmanager
def plain_server(answer: server.AnswerRequest) -> Iterator[Visitor]:
    """A server with pages of any size."""
    with Server(0, answer, lambda error: None) as service:
        thread = threading.Thread(target=service.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield Visitor(service.auth.url).enter()
        finally:
            service.shutdown()
            thread.join()


def asking(visitor: Visitor, path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: {visitor.host}\r\nCookie: {visitor.cookie}\r\n\r\n".encode()


@pytest.mark.slow
def test_a_person_is_answered_while_clients_that_do_not_read_take_all_places() -> None:
    with plain_server(lambda path, body, assessor: BIG if path == "/big" else SMALL) as visitor, ExitStack() as held:
        for _ in range(server.MAX_CONNECTIONS):
            held.enter_context(connect(visitor.port, asking(visitor, "/big")))
        start = time.monotonic()
        assert [visitor.get("/").text for _ in range(5)] == ["small"] * 5
        assert time.monotonic() - start < QUICK


def test_a_request_that_is_being_answered_keeps_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "MAX_CONNECTIONS", 2)
    asked, answer = threading.Semaphore(0), threading.Event()

    def slowly(path: str, body: object, assessor: object) -> PageResponse:
        asked.release()
        assert answer.wait(60)
        return SMALL

    with plain_server(slowly) as visitor:
        # One after the other: a request that no thread has read yet may still lose its place.
        first = connect(visitor.port, asking(visitor, "/"))
        assert asked.acquire(timeout=60)
        second = connect(visitor.port, asking(visitor, "/"))
        assert asked.acquire(timeout=60)
        with connect(visitor.port, b"") as refused:
            assert refused.recv(100) == b""
        answer.set()
        for each in (first, second):
            with each, each.makefile("rb") as file:
                assert file.read().endswith(b"small")
        with connect(visitor.port, asking(visitor, "/")) as later, later.makefile("rb") as file:
            assert file.read().endswith(b"small")


def test_the_client_that_waits_longest_gives_up_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "MAX_CONNECTIONS", 2)
    with plain_server(lambda path, body, assessor: SMALL) as visitor, ExitStack() as held:
        first, second, third = (held.enter_context(connect(visitor.port, b"")) for _ in range(3))
        assert first.recv(100) == b""
        for each in (second, third):
            each.sendall(asking(visitor, "/"))
            with each.makefile("rb") as file:
                assert file.read().endswith(b"small")


@pytest.mark.parametrize("name", ["REQUEST_TIMEOUT", "RESPONSE_TIMEOUT"])
def test_a_slow_client_is_ended_after_its_deadline(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with plain_server(lambda path, body, assessor: BIG) as visitor:
        monkeypatch.setattr(server, name, 0.1)
        slow = b"GET / HTTP/1.1\r\n" if name == "REQUEST_TIMEOUT" else asking(visitor, "/")
        start = time.monotonic()
        with connect(visitor.port, slow) as late, late.makefile("rb") as file:
            time.sleep(0.4)
            assert len(file.read()) < len(BIG.body)
        assert time.monotonic() - start < server.Handler.timeout
