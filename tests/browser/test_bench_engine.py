"""The bench with an HTTP engine in a real browser: its side answers, fails or is late, and the page lives."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.bench_systems import ENGINE, saved_systems
from support.results_server import Visitor, serving
from support.scripted_server import NEVER, Request, ScriptedServer, Sent

from .test_report_page import faults_of
from .test_serve import NewPage

playwright = pytest.importorskip("playwright.sync_api")
pytestmark = pytest.mark.browser
HOSTILE = "<img src=x onerror='window.harmed=1'>"
SYSTEMS = '\n[systems.bm25]\nstage = "bm25"\n'
REFUSED = "status of 422"


def answer(request: Request) -> Sent:
    return Sent(body={"ids": ["ing-agar", "other"], "scores": [2.5, 0.5], "texts": ["agar sets jelly", HOSTILE]})


@pytest.fixture
def engine() -> Iterator[ScriptedServer]:
    with ScriptedServer(answer) as server:
        yield server


@pytest.fixture
def served(engine: ScriptedServer, tmp_path: Path) -> Iterator[Visitor]:
    folder = saved_systems(tmp_path / "results", ENGINE.format(url=engine.url), systems=SYSTEMS)
    with serving([folder], permissions=["edit"]) as visitor:
        yield visitor


def opened(page: Any, served: Visitor) -> Any:
    page.goto(served.url)
    page.goto(f"http://{served.host}/bench?a=bm25&b=engine")
    page.wait_for_selector(".bench-side .card")
    return page


def typed(page: Any, text: str) -> Any:
    """The side of the engine, after the other side has answered."""
    page.fill("#text", text)
    page.keyboard.press("Enter")
    page.wait_for_url(f"**t={text.replace(' ', '+')}**")
    playwright.expect(page.locator(".bench-side").first.locator(".card").first).to_be_visible()
    return page.locator(".bench-side").nth(1)


def test_a_typed_query_is_answered_by_the_engine_and_its_texts_stay_text(
    new_page: NewPage, served: Visitor, engine: ScriptedServer
) -> None:
    page = opened(new_page(), served)
    side = typed(page, "jelly without gelatine")
    playwright.expect(side.locator(".card")).to_have_count(2)
    assert engine.requests[-1].body == {"query": "jelly without gelatine", "boost": 1}
    assert side.locator(".card").nth(1).locator(".text").inner_text() == HOSTILE
    assert page.locator("main img").count() == 0
    assert faults_of(page) == []


@pytest.mark.parametrize("fault", [NEVER, Sent(503), Sent(body=b"no json")])
def test_an_engine_that_hangs_or_fails_says_so_on_its_side_and_answers_the_next_query(
    new_page: NewPage, served: Visitor, engine: ScriptedServer, watched: Any, fault: Sent
) -> None:
    page = opened(new_page(), served)
    engine.answer = lambda request: fault
    side = typed(page, "wobbly jelly")
    playwright.expect(side).to_contain_text("the engine did not answer", timeout=30_000)
    assert side.locator(".card").count() == 0
    assert page.locator(".bench-side").first.locator(".card").count() > 0
    assert faults_of(page) == []
    engine.answer = answer
    playwright.expect(typed(page, "firm jelly").locator(".card")).to_have_count(2)
    assert all(REFUSED in line for line in watched.said)
    watched.said.clear()
