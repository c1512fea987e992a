"""The report in a real browser: loads alone, reads in order, fits a phone, prints, and can be used by everybody."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from plot_cases import wide_climb
from rankproof.experiment import Climb
from rankproof.report import page_of

from .conftest import DESKTOP, PHONE

pytestmark = pytest.mark.browser
SECTIONS = (
    *("verdict", "ladder", "pareto", "latency", "measures", "segments", "diagnosis", "movement", "holes", "queries"),
    *("notes", "provenance", "definitions"),
)
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
Opened = Callable[..., Any]


@pytest.fixture(scope="module")
def climb() -> Climb:
    return wide_climb([f"system-{at}" for at in range(5)], [f"q{at}" for at in range(60)])


@pytest.fixture(scope="module")
def text(climb: Climb) -> str:
    return page_of(climb)


def faults_of(page: Any) -> list[str]:
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page).response["violations"]
    return [
        f"{one['id']}: {one['nodes'][0]['html'][:200]} ({len(one['nodes'])})"
        for one in found
        if one["impact"] in ("serious", "critical")
    ]


def test_sections_stand_in_their_order_and_each_answers_a_question(opened: Opened, text: str) -> None:
    page = opened(text)
    assert page.eval_on_selector_all("main > section", "all => all.map(one => one.id)") == list(SECTIONS)
    assert all(page.locator(f"#{key} .question").first.inner_text().endswith(("?", ".")) for key in SECTIONS)
    assert page.title() == "small - rankproof"


def test_links_of_the_contents_lead_to_their_sections(opened: Opened, text: str) -> None:
    from playwright.sync_api import expect

    page = opened(text)
    assert page.eval_on_selector_all(".contents a", "all => all.map(one => one.hash)") == [f"#{key}" for key in SECTIONS]
    for key in ("holes", "ladder", "definitions"):
        page.locator(f'.contents a[href="#{key}"]').click()
        expect(page.locator(".contents a[aria-current]")).to_have_attribute("href", f"#{key}")
        assert page.locator(f"#{key} h2").is_visible()


def test_the_first_stop_of_the_tab_key_skips_to_the_report(opened: Opened, text: str) -> None:
    page = opened(text)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"


def test_dark_and_light_follow_the_reader(opened: Opened, text: str) -> None:
    grounds = {
        scheme: opened(text, color_scheme=scheme).evaluate("getComputedStyle(document.body).backgroundColor")
        for scheme in ("light", "dark")
    }
    assert grounds["light"] == "rgb(255, 255, 255)"
    assert grounds["dark"] != grounds["light"]


@pytest.mark.parametrize("width", [320, 390, 768, 1100, 1280])
def test_the_page_never_scrolls_sideways(opened: Opened, text: str, width: int) -> None:
    page = opened(text, viewport={"width": width, "height": 800})
    page.eval_on_selector_all("details", "all => all.forEach(one => { one.open = true; })")
    assert page.evaluate(OVERFLOW) <= 0


def test_contents_stay_in_reach_on_a_phone(opened: Opened, text: str) -> None:
    page = opened(text, viewport=PHONE)
    page.evaluate("document.getElementById('holes').scrollIntoView()")
    box = page.locator(".contents").bounding_box()
    assert box is not None
    assert 0 <= box["y"] < 10


def test_charts_are_named_and_drawn_for_the_width(opened: Opened, text: str) -> None:
    for size, shown, hidden in ((DESKTOP, ".for-wide", ".for-narrow"), (PHONE, ".for-narrow", ".for-wide")):
        page = opened(text, viewport=size)
        assert page.locator(f"#ladder {shown} svg").is_visible()
        assert not page.locator(f"#ladder {hidden} svg").is_visible()
        named = "all => all.every(one => one.querySelector(':scope > title') && one.querySelector(':scope > desc'))"
        assert page.eval_on_selector_all("svg[role=img]", named)


def test_tables_have_captions_and_heads(opened: Opened, text: str) -> None:
    page = opened(text)
    assert page.locator(".sheet table").count() > 8
    for part in ("caption", "thead th[scope=col]", "tbody th[scope=row]"):
        assert page.eval_on_selector_all(".sheet table", f"all => all.every(one => one.querySelector('{part}'))")


def test_it_prints_with_folded_parts_open_and_without_controls(opened: Opened, text: str, tmp_path: Path) -> None:
    page = opened(text)
    count = "counted = document.querySelectorAll('details[open]').length"
    page.evaluate(f"window.counted = 0; addEventListener('beforeprint', () => {{ {count}; }})")
    printed = page.pdf(format="A4", path=tmp_path / "report.pdf")
    assert printed.startswith(b"%PDF")
    assert page.evaluate("counted") == page.locator("details").count()
    assert page.locator("details[open]").count() == 0
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 690, "height": 1000})
    page.eval_on_selector_all("details", "all => all.forEach(one => { one.open = true; })")
    assert page.evaluate(OVERFLOW) <= 0
    assert not page.locator("#queries").is_visible()
    assert not page.locator(".contents").is_visible()


@pytest.mark.parametrize(
    "options",
    [{"color_scheme": "light"}, {"color_scheme": "dark"}, {"viewport": PHONE}],
    ids=["light", "dark", "phone"],
)
def test_nothing_keeps_people_out(opened: Opened, text: str, options: dict[str, Any]) -> None:
    page = opened(text, **options)
    page.eval_on_selector_all("details", "all => all.forEach(one => { one.open = true; })")
    assert faults_of(page) == []
