"""Connections to hostile servers: compressed bodies, certificates and proxies."""

from __future__ import annotations

import gzip
import socketserver
import threading
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rankproof._io.http import Connection, ConnectionLostError
from rankproof._io.secrets import Secret
from rankproof.models._api.settings import ModelRequestError, ModelUnavailableError
from rankproof.models._chat.base import ChatRequest, Message
from rankproof.models._chat.openai import OpenAIChat
from support.chat_server import ChatServer
from support.examples import sampled
from support.key_spellings import KEY, KEY_SPELLINGS, has_key
from support.scripted_server import CERTIFICATE, ScriptedServer, Sent, write_certificate

ASK = ChatRequest((Message("user", "Two and two?"),), 16)


def body_from(sent: Sent, max_bytes: int) -> str:
    with ChatServer(lambda request: sent) as server:
        connection = Connection(server.address, {}, Secret(), 20.0, max_bytes=max_bytes)
        try:
            return connection.send("POST", server.address, b"{}").body
        finally:
            connection.close()


@pytest.mark.parametrize("size", [0, 1, 65_536, (1 << 20) - 1, 1 << 20])
def test_a_compressed_body_is_unpacked_up_to_the_limit(size: int) -> None:
    sent = Sent(body=gzip.compress(b"a" * size), headers={"Content-Encoding": "gzip"})
    assert body_from(sent, 1 << 20) == "a" * size


def test_a_compressed_body_above_the_limit_is_refused_before_it_takes_memory() -> None:
    bomb = Sent(body=gzip.compress(b" " * 100_000_000, 1), headers={"Content-Encoding": "gzip"})
    tracemalloc.start()
    try:
        with pytest.raises(ConnectionLostError, match="the response is longer than 1 MiB"):
            body_from(bomb, 1 << 20)
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()


class _Refusing(socketserver.StreamRequestHandler):
    """A proxy that refuses each connection with a reason of its own."""

    reason = ""

    def handle(self) -> None:
        self.rfile.readline()
        self.wfile.write(f"HTTP/1.1 407 {self.reason}\r\nContent-Length: 0\r\n\r\n".encode("latin-1", "replace"))


@contextmanager
def refusing_proxy(reason: str) -> Iterator[str]:
    handler = type("Refusing", (_Refusing,), {"reason": reason})
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), handler) as proxy:
        thread = threading.Thread(target=proxy.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield f"127.0.0.1:{proxy.server_address[1]}"
        proxy.shutdown()
        thread.join()


@pytest.mark.parametrize("spelling", sampled([name for name, spell in KEY_SPELLINGS.items() if spell(KEY).isascii()], 6))
def test_the_reason_of_a_proxy_shows_no_key(spelling: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_KEY", KEY)
    with refusing_proxy(f"Bad key {KEY_SPELLINGS[spelling](KEY)}, try again") as address:
        monkeypatch.setenv("HTTPS_PROXY", f"http://user:pass-word-77@{address}")
        chat = OpenAIChat("m", base_url="https://host.invalid/v1", api_key_env="SOME_KEY").load()
        with pytest.raises(ModelRequestError, match=r"Bad key .*\*\*\*.*, try again") as caught:
            chat.reply(ASK)
        chat.close()
    assert not has_key(str(caught.value))


def test_the_password_of_a_proxy_is_not_shown_and_not_sent_as_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    with refusing_proxy("pass%2Fword-77 and pass/word-77 are wrong " + "!" * 5000) as address:
        monkeypatch.setenv("HTTPS_PROXY", f"http://user:pass%2Fword-77@{address}")
        chat = OpenAIChat("m", base_url="https://host.invalid/v1", api_key_env="").load()
        with pytest.raises(ModelRequestError, match=r"\*\*\* and \*\*\* are wrong !!!!") as caught:
            chat.reply(ASK)
        chat.close()
    assert len(str(caught.value)) < 600


@pytest.fixture(scope="module")
def tls_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, Path]]:
    """The port of an https server on loopback, and its certificate, which is for 127.0.0.1 and signed by itself."""
    folder = write_certificate(tmp_path_factory.mktemp("tls"))
    with ScriptedServer(lambda request: Sent(), tls=folder) as server:
        yield int(server.url.rpartition(":")[2]), folder / CERTIFICATE


@pytest.mark.parametrize(
    ("host", "is_trusted", "message"),
    [
        ("127.0.0.1", False, "(self-signed certificate); set SSL_CERT_FILE to the certificate of the server"),
        (
            "localhost",
            True,
            "(Hostname mismatch, certificate is not valid for 'localhost'); use the host name that the certificate has",
        ),
    ],
)
def test_the_reason_of_a_rejected_certificate_is_shown_whole_and_ends_the_run(
    host: str, is_trusted: bool, message: str, tls_server: tuple[int, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    port, certificate = tls_server
    if is_trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    chat = OpenAIChat("m", base_url=f"https://{host}:{port}/v1", api_key_env="").load()
    with pytest.raises(ModelUnavailableError) as caught:
        chat.reply(ASK)
    chat.close()
    assert str(caught.value) == f"https://{host}:{port}/v1: the certificate of the server is not trusted {message}"
