"""The JSON routes: typed requests, permissions, and what no route accepts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import pytest

from rankproof._registry import Option
from rankproof._server.api import Api, ApiCall, ApiRoute
from rankproof._server.library import ResultsLibrary
from rankproof.errors import UsageError
from support.results_server import Visitor, saved, serving


@dataclass(frozen=True, slots=True)
class EchoRequest:
    text: Annotated[str, Option("what comes back")]
    count: Annotated[int, Option("how often", least=1, most=3)] = 1
    kind: Annotated[Literal["plain", "loud"], Option("how")] = "plain"
    names: Annotated[tuple[str, ...], Option("more texts")] = ()
    is_long: Annotated[bool, Option("whether it is long")] = False


@dataclass(frozen=True, slots=True)
class EchoReply:
    texts: Annotated[tuple[str, ...], Option("the texts")]
    results: Annotated[str, Option("the id of the results")] = ""


def echo(call: ApiCall, request: EchoRequest) -> EchoReply:
    if request.text == "bad":
        raise UsageError("the text is bad", fix="send another")
    text = request.text.upper() if request.kind == "loud" else request.text
    return EchoReply((*[text] * request.count, *request.names), call.found.id if call.found else "")


def routes(library: ResultsLibrary) -> Iterable[ApiRoute]:
    yield ApiRoute("GET", "/api/echo", "gives the text back", EchoRequest, EchoReply, echo)
    yield ApiRoute("POST", "/api/r/{id}/echo", "the same", EchoRequest, EchoReply, echo)
    yield ApiRoute("POST", "/api/write", "writes it", EchoRequest, EchoReply, echo, needs="edit")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved(tmp_path_factory.mktemp("api") / "results")


@pytest.fixture
def guest(folder: Path) -> Iterator[Visitor]:
    with serving([folder], routes=routes, features=lambda library, log: ()) as visitor:
        yield visitor.enter()


def test_a_get_request_is_read_from_its_query_string_by_the_types_of_its_dataclass(guest: Visitor) -> None:
    seen = guest.get("/api/echo?text=caf%C3%A9&count=2&kind=loud&names=a&names=b&is_long=true")
    assert (seen.status, seen.headers["Content-Type"]) == (200, "application/json")
    assert seen.json == {"texts": ["CAFÉ", "CAFÉ", "a", "b"], "results": ""}


def test_a_post_request_is_read_from_its_body_and_knows_its_results(guest: Visitor) -> None:
    assert guest.post("/api/r/1/echo", {"text": "x", "names": ["y"]}).json == {"texts": ["x", "y"], "results": "1"}


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("", "text is missing"),
        ("text=x&count=many", "count is not a whole number"),
        ("text=x&count=4", "count is 4"),
        ("text=x&count=0", "count is 0"),
        ("text=x&kind=other", "kind is not one of plain, loud"),
        ("text=x&is_long=yes", "is_long is not true or false"),
        ("text=x&text=y", "text is given twice"),
        ("text=x&more=1", "unknown key 'more'"),
        ("text=x&%3Cscript%3E=1", "unknown key '<script>'"),
    ],
)
def test_a_request_that_does_not_fit_its_dataclass_is_rejected(guest: Visitor, query: str, words: str) -> None:
    seen = guest.get(f"/api/echo?{query}")
    assert (seen.status, words in seen.text) == (400, True), seen.text
    assert seen.headers["Content-Type"].startswith("text/plain")


@pytest.mark.parametrize("body", [{"text": 1}, {"text": "x", "count": True}, {"text": "x", "names": "y"}, {"text": None}])
def test_a_body_of_the_wrong_types_is_rejected(guest: Visitor, body: object) -> None:
    assert guest.post("/api/r/1/echo", body).status == 400


def test_what_an_answer_refuses_is_one_line_of_text(guest: Visitor) -> None:
    seen = guest.post("/api/r/1/echo", {"text": "bad"})
    assert (seen.status, seen.text) == (422, "the text is bad; send another\n")


@pytest.mark.parametrize("path", ["/api/nothing", "/api/", "/api/r/9/echo", "/api/r/../echo", "/api/r/%2e%2e/echo", "/api/echo/"])
def test_an_address_that_is_no_route_or_names_no_results_is_not_found(guest: Visitor, path: str) -> None:
    assert guest.post(path, {"text": "x"}).status == 404


def test_another_method_is_told_which_the_route_has(guest: Visitor) -> None:
    seen = guest.post("/api/echo", {"text": "x"})
    assert (seen.status, seen.headers["Allow"]) == (405, "GET")


def test_nothing_is_written_without_the_permission(guest: Visitor, folder: Path) -> None:
    seen = guest.post("/api/write", {"text": "x"})
    assert (seen.status, seen.text) == (403, "this server is read-only; start `rankproof serve` with --edit\n")
    with serving([folder], routes=routes, permissions=["edit"]) as visitor:
        assert visitor.enter().post("/api/write", {"text": "x"}).status == 200


@pytest.mark.parametrize(
    "headers", [{"Origin": "http://evil.example"}, {"Origin": None}, {"Host": "evil.example"}, {"Cookie": ""}]
)
def test_no_route_answers_a_request_of_another_site(guest: Visitor, headers: dict[str, str | None]) -> None:
    assert guest.post("/api/r/1/echo", {"text": "x"}, headers).status in (403, 421)


def test_the_routes_describe_themselves(guest: Visitor) -> None:
    described = guest.get("/api").json
    by_path = {route["path"]: route for route in described["routes"]}
    assert described["permissions"] == []
    assert list(by_path) == ["/api", "/api/echo", "/api/r/{id}/echo", "/api/write"]
    assert by_path["/api/write"]["needs"] == "--edit"
    assert {key["key"]: key["type"] for key in by_path["/api/echo"]["request"]} == {
        "text": "text",
        "count": "a whole number",
        "kind": "plain or loud",
        "names": "a list of text",
        "is_long": "true or false",
    }
    assert [key["required"] for key in by_path["/api/echo"]["request"]] == [True, False, False, False, False]


def test_every_route_of_the_server_describes_every_key(tmp_path: Path) -> None:
    api = Api(ResultsLibrary([str(saved(tmp_path / "results"))]), (), ())
    assert len(api.routes) >= 1
    for route in api.routes:
        assert route.about
