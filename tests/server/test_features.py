"""Features of the server: their pages, routes and links, and the JavaScript modules of pages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pytest

from rankproof._registry import Option
from rankproof._server.api import ID_PATTERN, ApiCall, ApiRoute, Feature, NoRequest, Route, module_names
from rankproof._server.library import LibraryEntry, ResultsLibrary
from rankproof._server.responses import PageResponse, text_response
from support.results_server import Visitor, saved, serving


@dataclass(frozen=True, slots=True)
class Count:
    systems: Annotated[int, Option("the number of systems")]


class Counting(Feature):
    """A page, a route and a link."""

    def __init__(self, library: ResultsLibrary) -> None:
        self._library = library

    def pages(self) -> Iterable[Route]:
        yield Route(re.compile(f"/r/{ID_PATTERN}/count"), {"GET": self._page})

    def routes(self) -> Iterable[ApiRoute]:
        yield ApiRoute("GET", "/api/r/{id}/count", "counts the systems", NoRequest, Count, self._count)

    def actions(self, id: str) -> Iterable[tuple[str, str]]:
        yield f"/r/{id}/count", "Count"

    def _page(self, entry: LibraryEntry) -> PageResponse:
        return text_response(200, f"counted {entry.id}")

    def _count(self, call: ApiCall, request: NoRequest) -> Count:
        return Count(len(self._library.results(call.entry).system_runs))


@pytest.fixture(scope="module")
def guest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visitor]:
    folder = saved(tmp_path_factory.mktemp("features") / "results")
    with serving([folder], features=lambda library, log: [Counting(library)]) as visitor:
        yield visitor.enter()


def test_a_feature_adds_pages_routes_and_links(guest: Visitor) -> None:
    assert guest.get("/r/1/count").text == "counted 1\n"
    assert guest.get("/api/r/1/count").json == {"systems": 4}
    assert "/api/r/{id}/count" in [route["path"] for route in guest.get("/api").json["routes"]]
    assert '<a href="/r/1/count"' in guest.get("/").text
    assert '<a href="/r/1/count"' in guest.get("/r/1").text


def test_every_module_is_served_as_javascript(guest: Visitor) -> None:
    assert {"dom.js", "api.js", "address.js"} <= set(module_names())
    for name in module_names():
        seen = guest.get(f"/static/{name}")
        assert (seen.status, seen.headers["Content-Type"]) == (200, "text/javascript; charset=utf-8")
        assert seen.headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize(
    "path", ["/static/", "/static/other.js", "/static/../server.py", "/static/%2e%2e/server.py", "/static/dom.js/"]
)
def test_nothing_else_is_served_below_static(guest: Visitor, path: str) -> None:
    assert guest.get(path).status == 404


def test_a_module_needs_the_session_cookie(guest: Visitor) -> None:
    assert guest.get("/static/dom.js", {"Cookie": None}).status == 403


def test_modules_import_only_modules_of_this_server() -> None:
    folder = Path(__file__).parents[2] / "src/rankproof/_server/modules"
    sources = {source for name in module_names() for source in re.findall(r'from "(.*?)"', (folder / name).read_text())}
    assert sources <= {f"./{name}" for name in module_names()}
    texts = [(folder / name).read_text() for name in module_names()]
    assert not [text for text in texts if re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", text)]
