"""Who may come in, and what is refused before it is looked at."""

import re
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from support.results_server import Visitor, saved, serving

SECRET = "what is 0?"
PAGES = ("/", "/r/1", "/r/1/compare", "/r/1/judge", "/nothing")
PAIR = {"query": "q1", "doc": "d2", "grade": 1}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved(tmp_path_factory.mktemp("auth") / "results")


@pytest.fixture
def stranger(folder: Path, tmp_path: Path) -> Iterator[Visitor]:
    """Somebody who has the address and has not opened it."""
    with serving([folder], judge=tmp_path / "my.qrels") as visitor:
        yield visitor


@pytest.fixture
def guest(stranger: Visitor) -> Visitor:
    return stranger.enter()


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize(
    "cookie", ["", "rankproof-{port}=", "rankproof-{port}=wrong", "other={right}", "rankproof-{port}={right}x"]
)
def test_a_request_without_the_cookie_gets_no_data(stranger: Visitor, path: str, cookie: str) -> None:
    right = Visitor(stranger.url).enter().cookie.partition("=")[2]
    stranger.cookie = cookie.format(port=stranger.port, right=right)
    seen = stranger.get(path)
    assert seen.status == 403
    assert seen.text == "open the address that `rankproof serve` printed at its start\n"


@pytest.mark.parametrize(
    "query", ["?token=", "?token=wrong", "?token={t}x", "?token={t}&token={t}", "?token=%00", "?token=%F0%9F"]
)
def test_a_wrong_token_is_rejected_even_with_a_cookie(guest: Visitor, query: str) -> None:
    seen = guest.get("/" + query.format(t=guest.url.partition("token=")[2]))
    assert (seen.status, "Set-Cookie" in seen.headers) == (403, False)


def test_the_token_works_only_at_the_start_page(stranger: Visitor) -> None:
    token = stranger.url.partition("?")[2]
    assert stranger.get(f"/r/1?{token}").status == 403
    assert stranger.post(f"/r/1/judge?{token}", PAIR).status == 403


def test_the_token_is_exchanged_for_a_cookie_that_no_script_and_no_other_site_has(stranger: Visitor) -> None:
    seen = stranger.get("/?" + stranger.url.partition("?")[2])
    assert (seen.status, seen.headers["Location"], seen.text) == (303, "/", "")
    assert re.fullmatch(rf"rankproof-{stranger.port}=[\w-]{{43}}; Path=/; HttpOnly; SameSite=Strict", seen.headers["Set-Cookie"])
    assert stranger.url.partition("token=")[2] not in seen.headers["Set-Cookie"]


def test_every_server_has_another_token(folder: Path) -> None:
    with serving([folder]) as one, serving([folder]) as other:
        assert one.url.partition("token=")[2] != other.url.partition("token=")[2]


@pytest.mark.parametrize(
    "host",
    [
        *("evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "localhost", "localhost:{port}.evil.example", "[::1]:{port}", ""),
        *("127.0.0.1:{port}@evil.example", "127.1:{port}", "0.0.0.0:{port}", "LOCALHOST:{port}x", None),
    ],
)
def test_a_foreign_host_name_is_rejected(guest: Visitor, host: str | None) -> None:
    given = None if host is None else host.format(port=guest.port)
    for path in ("/", "/?" + guest.url.partition("?")[2]):
        seen = guest.get(path, {"Host": given})
        assert (seen.status, "Set-Cookie" in seen.headers, SECRET in seen.text) == (421, False, False)
    assert guest.post("/r/1/judge", PAIR, {"Host": given}).status == 421


def test_two_host_headers_are_rejected(guest: Visitor) -> None:
    head = f"GET / HTTP/1.1\r\nHost: {guest.host}\r\nHost: {guest.host}\r\nCookie: {guest.cookie}\r\n\r\n"
    assert raw(guest, head.encode()).startswith(b"HTTP/1.1 421 ")


def test_localhost_is_accepted(guest: Visitor) -> None:
    host = f"localhost:{guest.port}"
    assert guest.get("/", {"Host": host}).status == 200
    assert guest.post("/r/1/judge", PAIR, {"Host": host, "Origin": f"http://{host}"}).status == 200


@pytest.mark.parametrize(
    "origin", [None, "", "null", "http://evil.example", "https://127.0.0.1:{port}", "http://localhost:{port}", "http://127.0.0.1"]
)
def test_only_pages_of_the_server_can_make_changes(guest: Visitor, origin: str | None, tmp_path: Path) -> None:
    given = None if origin is None else origin.format(port=guest.port)
    assert guest.post("/r/1/judge", PAIR, {"Origin": given}).status == 403
    assert not (tmp_path / "my.qrels").exists()


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_request_from_another_site_is_rejected_even_with_the_cookie(guest: Visitor, site: str) -> None:
    assert guest.get("/", {"Sec-Fetch-Site": site}).status == 403
    assert guest.post("/r/1/judge", PAIR, {"Sec-Fetch-Site": site}).status == 403
    assert guest.get("/", {"Sec-Fetch-Site": "same-origin"}).status == 200


@pytest.mark.parametrize(
    ("headers", "body", "status"),
    [
        ({"Content-Type": "text/plain"}, b"{}", 415),
        ({"Content-Type": None}, b"{}", 415),
        ({"Content-Type": "application/x-www-form-urlencoded"}, b"grade=1", 415),
        ({"Content-Length": None}, b"", 411),
        ({"Content-Length": None, "Transfer-Encoding": "chunked"}, b"0\r\n\r\n", 411),
        ({"Content-Length": "-1"}, b"{}", 400),
        ({"Content-Length": "1_0"}, b"{}", 400),
        ({"Content-Length": "9" * 13}, b"{}", 400),
        ({}, b" " * 16385, 413),
        ({}, b"x" * 500_000, 413),
        ({}, b"", 400),
        ({}, b"{", 400),
        ({}, b"[]", 400),
        ({}, b"\xff", 400),
        ({}, b'{"grade": NaN}', 400),
        ({}, b'{"grade": 1, "grade": 2}', 400),
        ({}, b"[" * 16000, 400),
        ({}, b'{"query": "q1", "doc": "d2", "grade": ' + b"9" * 5000 + b"}", 400),
    ],
)
def test_a_body_that_is_not_a_small_json_object_is_rejected(
    guest: Visitor, headers: Mapping[str, str | None], body: bytes, status: int, tmp_path: Path
) -> None:
    seen = guest.request(
        "POST", "/r/1/judge", body, {"Content-Type": "application/json", "Origin": f"http://{guest.host}", **headers}
    )
    assert seen.status == status
    assert len(seen.text) < 200
    assert not (tmp_path / "my.qrels").exists()


@pytest.mark.parametrize("method", ["HEAD", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "CONNECT", "get", "NONSENSE"])
def test_only_get_and_post_are_allowed(guest: Visitor, method: str) -> None:
    seen = guest.request(method, "/")
    assert (seen.status, seen.headers["Allow"], seen.text) == (405, "GET, POST", "")


def test_a_page_cannot_be_posted_to(guest: Visitor) -> None:
    seen = guest.post("/r/1", {})
    assert (seen.status, seen.headers["Allow"]) == (405, "GET")
    assert guest.get("/r/1/undo").headers["Allow"] == "POST"


@pytest.mark.parametrize("path", ["/", "/r/1", "/nothing", "/r/1/undo"])
def test_every_response_has_the_security_headers(guest: Visitor, path: str) -> None:
    for visitor in (guest, Visitor(guest.url)):
        headers = visitor.get(path).headers
        assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
        assert "unsafe" not in headers["Content-Security-Policy"]
        assert {name: headers[name] for name in headers if name.startswith(("X-", "Referrer", "Cache", "Cross"))} == {
            "X-Content-Type-Options": "nosniff",
            "X-Frame-Options": "DENY",
            "Referrer-Policy": "no-referrer",
            "Cache-Control": "no-store",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Cross-Origin-Opener-Policy": "same-origin",
        }
        assert not [name for name in headers if name.startswith("Access-Control") or name == "Server"]


@pytest.mark.parametrize(
    "path",
    [
        *("/r/..", "/r/../..", "/r/%2e%2e", "/r/1/", "/r//1", "/r/0", "/r/2", "/r/01", "/r/-1", "/r/1%00", "/r/1/../1"),
        *(
            "/etc/passwd",
            "/r/1/result.json",
            "/r/1/compare/../../etc",
            "/r/" + "9" * 400,
            "/r/\u0661",
            "/static/serve.css",
            "/..;/",
        ),
        *("http://evil.example/", "http://[", "*", "/r/1\\..\\..", "/r/one", "/favicon.ico"),
    ],
)
def test_an_unknown_id_is_not_found(guest: Visitor, path: str) -> None:
    head = f"GET {path} HTTP/1.1\r\nHost: {guest.host}\r\nCookie: {guest.cookie}\r\n\r\n"
    answer = raw(guest, head.encode())
    assert answer.startswith(b"HTTP/1.1 404 ")
    assert b"root:" not in answer
    assert SECRET.encode() not in answer


@pytest.mark.parametrize(
    "sent",
    [
        *(
            b"GET / HTTP/9.9\r\n\r\n",
            b"nonsense\r\n\r\n",
            b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 200 + b"\r\n",
            b"\x16\x03\x01\r\n\r\n",
        ),
        *(b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n", b"GET / HTTP/1.1\r\nno colon\r\n\r\n", b"GET /<script>\r\n\r\n"),
    ],
)
def test_a_malformed_request_is_rejected_without_an_echo(stranger: Visitor, sent: bytes) -> None:
    answer = raw(stranger, sent)
    assert re.match(rb"HTTP/1.1 4\d\d |HTTP/1.1 505 ", answer)
    assert b"script" not in answer
    assert stranger.enter().get("/").status == 200


def test_the_server_listens_only_on_loopback(stranger: Visitor) -> None:
    for address in {each[4][0] for each in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)}:
        if not str(address).startswith("127."):
            with socket.socket() as outside, pytest.raises(OSError, match="refused"):
                outside.connect((address, stranger.port))


def raw(visitor: Visitor, sent: bytes) -> bytes:
    """What comes back to bytes that no browser would send."""
    with socket.create_connection(("127.0.0.1", visitor.port), timeout=60) as connection:
        connection.sendall(sent)
        answer = b""
        try:
            while block := connection.recv(65536):
                answer += block
        except ConnectionResetError:
            pass
    return answer
