"""The bench in a real browser: a person finds a failing query and compares two systems on it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rankproof._data.corpus import TextRecord
from support.dated_results import saved_series
from support.hostile_strings import STRINGS
from support.results_server import Visitor, saved, serving
from support.small_results import small_results

from .conftest import PHONE
from .test_report_page import OVERFLOW, faults_of
from .test_serve import NewPage

playwright = pytest.importorskip("playwright.sync_api")
pytestmark = pytest.mark.browser
MEGABYTES = 10
LONG = TextRecord("d1", "agar sets at room temperature. " * (MEGABYTES * 1_000_000 // 31), "Agar")


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Visitor]:
    find = {"d1": LONG}
    with serving(saved_series(tmp_path, (2, 8)), documents=lambda entry, results, doc: find.get(doc)) as visitor:
        yield visitor


def opened(page: Any, served: Visitor, query: str = "") -> Any:
    page.goto(served.url)
    page.goto(f"http://{served.host}/bench{query}")
    page.wait_for_selector(".card")
    return page


def listed(page: Any) -> list[str]:
    texts: list[str] = page.locator(".bench-queries .query bdi").all_inner_texts()
    return texts


def test_a_person_finds_a_query_that_was_lost_and_sends_the_view(new_page: NewPage, served: Visitor) -> None:
    page = opened(new_page(), served)
    page.select_option("#group", "lost")
    playwright.expect(page.locator(".query")).to_have_count(6)
    page.click(".query >> nth=1")
    playwright.expect(page.locator(".bench-query")).to_have_text("what is 3?")
    page.select_option("[aria-label='System A'] select", "base")
    page.wait_for_url("**a=base**")
    other = new_page()
    other.goto(served.url)
    other.goto(page.evaluate("document.getElementById('link').href"))
    other.wait_for_selector(".card")
    assert other.inner_text(".bench-query") == "what is 3?"
    assert listed(other) == [f"what is {at}?" for at in range(2, 8)]
    assert other.locator(".bench-side select").first.input_value() == "base"
    page.go_back()
    playwright.expect(page.locator(".bench-side select").first).to_have_value("main")


def test_a_document_of_10_megabytes_is_read_part_by_part(new_page: NewPage, served: Visitor) -> None:
    page = opened(new_page(), served, "?r=2&q=q30")
    card = page.locator("[data-doc=d1]").first
    card.locator("text=Whole text").click()
    card.locator("button:has-text('More (50,000')").click()
    card.locator("button:has-text('More (100,000')").wait_for()
    assert len(card.locator(".text").inner_text()) == 100_000


@pytest.mark.parametrize("colours", ["light", "dark"])
@pytest.mark.parametrize("viewport", [None, PHONE])
def test_everybody_can_use_the_bench(new_page: NewPage, served: Visitor, colours: str, viewport: dict[str, int] | None) -> None:
    options = {} if viewport is None else {"viewport": viewport}
    page = opened(new_page(color_scheme=colours, **options), served)
    assert page.evaluate(OVERFLOW) == 0
    assert faults_of(page) == []


def test_nothing_hostile_runs_in_the_bench(new_page: NewPage, tmp_path: Path) -> None:
    hostile = [text for text in STRINGS if text.strip() and not any(char in text for char in " \0\t\n\u2028\u2029")]
    assert len(hostile) > 8
    results = small_results((hostile[0], hostile[1]), hostile, docs=hostile)
    folder = saved(tmp_path / "results", replace(results, name=STRINGS[0], snippets=dict.fromkeys(hostile, "".join(STRINGS))))
    fields = {name: name for name in STRINGS[:8]} | {"url": "javascript:window.harmed=1"}
    find = {doc: TextRecord(doc, "".join(STRINGS), STRINGS[2], fields) for doc in hostile[:3]}
    with serving([folder], documents=lambda entry, results, doc: find.get(doc)) as visitor:
        page = opened(new_page(), visitor)
        page.locator("text=Whole text").first.click()
        assert page.locator("main img, main iframe, main style, main .card script, main .card svg").count() == 0
        assert page.locator(".card a[href^='javascript']").count() == 0
