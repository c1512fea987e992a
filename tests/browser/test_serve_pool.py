"""Judging the pool of results without judgements in a real browser, up to the decision, by keyboard alone."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rankproof._formats.read import read_qrels
from support.results_server import data_of, many_pairs, saved, serving, unjudged

from .conftest import PHONE
from .test_report_page import OVERFLOW, faults_of

playwright = pytest.importorskip("playwright.sync_api")
pytestmark = pytest.mark.browser
NewPage = Callable[..., Any]


def test_a_pool_is_judged_and_decided_by_keyboard_alone(new_page: NewPage, tmp_path: Path) -> None:
    results = saved(tmp_path / "results", unjudged(many_pairs(queries=31, docs=2)))
    with serving([results], judge=tmp_path / "my.qrels") as visitor:
        for query, doc, *_ in data_of(visitor.enter())["pairs"][4:]:
            visitor.post("/r/1/judge", {"query": query, "doc": doc, "grade": 3 * (doc == "d0")})
        page = new_page()
        page.goto(visitor.url)
        page.goto(f"http://{visitor.host}/r/1/judge")
        for done in range(59, 63):
            grade = 3 * (page.inner_text("#doc-id") == "d0")
            assert not re.search("one|two", page.inner_text("#pair"))
            page.keyboard.press(str(grade))
            playwright.expect(page.locator("#count")).to_have_text(f"{done} of 62 judged")
            assert not re.search(r"Ranks|\bone\b|\btwo\b", page.inner_text("#status"))
        assert page.locator("#done").is_visible()
        with page.expect_navigation():
            page.keyboard.press("d")
        assert page.inner_text(".lead").startswith("Ship one")
        assert "ann" in page.inner_text("#judges")
    assert sum(map(len, read_qrels(tmp_path / "my.qrels").values())) == 62


def test_a_long_pool_goes_on_with_its_next_part(new_page: NewPage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rankproof._server.judging_page.MAX_QUEUE_ITEMS", 2)
    results = saved(tmp_path / "results", unjudged(many_pairs(queries=2, docs=2)))
    with serving([results], judge=tmp_path / "my.qrels") as visitor:
        page = new_page()
        page.goto(visitor.url)
        page.goto(f"http://{visitor.host}/r/1/judge")
        for done in (1, 2, 3, 4):
            page.keyboard.press("1")
            playwright.expect(page.locator("#count")).to_have_text(f"{done} of 4 judged")
            if done == 2:
                page.wait_for_load_state()
                playwright.expect(page.locator("#pair")).to_be_visible()
        assert page.locator("#done").is_visible()


def test_the_report_of_results_without_judgements_has_no_faults(new_page: NewPage, tmp_path: Path, watched: Any) -> None:
    with serving([saved(tmp_path / "results", unjudged(many_pairs(queries=3)))]) as visitor:
        page = new_page()
        page.goto(visitor.url)
        page.goto(f"http://{visitor.host}/r/1")
        assert page.inner_text("h2") == "Rankings without judgements"
        assert "RBO" in page.inner_text("#rankings")
    assert watched.faults == []


@pytest.mark.parametrize("path", ["/", "/r/1", "/r/1/judge", "/r/1/decision"])
def test_everybody_can_use_the_pages_without_judgements_and_they_fit_a_phone(
    new_page: NewPage, tmp_path: Path, path: str
) -> None:
    results = saved(tmp_path / "results", unjudged(many_pairs(queries=3)))
    with serving([results], judge=tmp_path / "my.qrels") as visitor:
        visitor.enter().post("/r/1/judge", {"query": "q1", "doc": "d1", "grade": 2})
        page = new_page(viewport=PHONE)
        page.goto(visitor.url)
        page.goto(f"http://{visitor.host}{path}")
        assert page.evaluate(OVERFLOW) == 0
        assert faults_of(page) == []
