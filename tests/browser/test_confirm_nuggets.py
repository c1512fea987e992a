"""Confirming nuggets in a real browser: by keyboard alone, on a phone, and without losing an edit."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support.claims_to_label import claim_results
from support.hostile_strings import STRINGS
from support.results_server import Visitor, serving

from .conftest import PHONE
from .test_report_page import OVERFLOW, faults_of

playwright = pytest.importorskip("playwright.sync_api")
pytestmark = pytest.mark.browser
NewPage = Callable[..., Any]
NUGGETS = [{"text": "It lasts 14 hours.", "importance": "vital"}, {"text": "It weighs 3 kg.", "importance": "okay"}]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "nuggets.jsonl"


@pytest.fixture
def served(file: Path) -> Iterator[Visitor]:
    lines = ({"query": query, "nuggets": NUGGETS, "confirmed": False} for query in ("q1", "q2"))
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    with serving([], given={str(file.with_name("results")): claim_results()}, nuggets=file) as visitor:
        yield visitor


@pytest.fixture
def page(new_page: NewPage, served: Visitor) -> Any:
    return opened(new_page(), served)


def opened(page: Any, served: Visitor) -> Any:
    page.goto(served.url)
    page.goto(f"http://{served.host}/r/1/nuggets")
    page.wait_for_selector("#question-part:not([hidden])")
    return page


def said(page: Any, words: str) -> None:
    playwright.expect(page.locator("#status")).to_have_text(re.compile(re.escape(words)))


def lines_in(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_nuggets_are_edited_dropped_added_and_confirmed_by_keyboard_alone(page: Any, file: Path) -> None:
    for key in ("j", "e", "End", "Backspace"):
        page.keyboard.press(key)
    page.keyboard.type(" at full load.")
    for key in ("Escape", "o", "j", "x", "a"):
        page.keyboard.press(key)
    page.keyboard.type("Charging takes 5 hours.")
    page.keyboard.press("Escape")
    assert page.locator(".nugget.dropped").count() == 1
    page.keyboard.press("c")
    said(page, "Confirmed: 1 vital and 1 okay.")
    assert lines_in(file)[0] == {
        "query": "q1",
        "nuggets": [
            {"text": "It lasts 14 hours at full load.", "importance": "okay"},
            {"text": "Charging takes 5 hours.", "importance": "vital"},
        ],
        "confirmed": True,
    }
    assert (page.inner_text("#name"), page.inner_text("#count")) == ("q2", "1 of 2 confirmed")
    page.keyboard.press("c")
    playwright.expect(page.locator("#done")).to_be_visible()
    assert page.evaluate("document.activeElement.id") == "done"
    assert lines_in(file)[1] == {"query": "q2", "nuggets": NUGGETS, "confirmed": True}
    page.keyboard.press("b")
    page.keyboard.press("b")
    assert (page.inner_text("#name"), page.inner_text("#state")) == ("q1", "confirmed")
    page.click("#draft")
    said(page, "Saved as a draft: 1 vital and 1 okay.")
    assert (lines_in(file)[0]["confirmed"], page.inner_text("#name")) == (False, "q1")


def test_a_dropped_nugget_is_kept_again_and_letters_in_a_text_are_no_shortcuts(page: Any, file: Path) -> None:
    for key in ("j", "x", "x", "k", "e"):
        page.keyboard.press(key)
    page.keyboard.type(" casb")
    page.keyboard.press("Escape")
    page.keyboard.press("c")
    said(page, "Confirmed: 1 vital and 1 okay.")
    assert "casb" in lines_in(file)[0]["nuggets"][0]["text"]
    page.uncheck("#keys")
    page.keyboard.press("c")
    page.click("#confirm")
    playwright.expect(page.locator("#count")).to_have_text("2 of 2 confirmed")


def test_edits_stay_while_other_questions_are_looked_at(page: Any, file: Path) -> None:
    page.keyboard.press("a")
    page.keyboard.type("New.")
    page.keyboard.press("Escape")
    page.keyboard.press("s")
    said(page, "Skipped: the changes are not saved yet.")
    assert (page.inner_text("#name"), page.locator(".nugget").count()) == ("q2", 2)
    page.keyboard.press("b")
    assert (page.inner_text("#name"), page.locator(".nugget").count()) == ("q1", 3)
    page.keyboard.press("c")
    said(page, "Confirmed: 2 vital and 1 okay.")
    assert lines_in(file)[0]["nuggets"][2]["text"] == "New."


def test_nuggets_that_were_changed_elsewhere_are_not_overwritten(page: Any, file: Path, watched: Any) -> None:
    file.write_text(file.read_text().replace("14 hours", "15 hours"))
    before = file.read_bytes()
    page.keyboard.press("c")
    words = "Not saved: the nuggets of this question were changed elsewhere; reload the page"
    playwright.expect(page.locator("#error")).to_have_text(words)
    assert file.read_bytes() == before
    page.reload()
    page.keyboard.press("c")
    said(page, "Confirmed")
    watched.said = [line for line in watched.said if "409 (Conflict)" not in line]


@pytest.mark.parametrize("colours", ["light", "dark"])
def test_everybody_can_use_the_page_and_it_fits_a_phone(new_page: NewPage, served: Visitor, colours: str) -> None:
    page = opened(new_page(viewport=PHONE, color_scheme=colours), served)
    page.keyboard.press("j")
    page.keyboard.press("x")
    assert page.evaluate(OVERFLOW) == 0
    assert faults_of(page) == []
    page.keyboard.press("c")
    said(page, "Confirmed")
    page.goto(f"http://{served.host}/")
    assert "nuggets of 1 of 2 questions confirmed" in page.inner_text("header")
    assert faults_of(page) == []


def test_nothing_hostile_runs(new_page: NewPage, file: Path) -> None:
    texts = [text for text in STRINGS if text.strip() and "\0" not in text]
    file.write_text(json.dumps({"query": texts[0], "nuggets": [{"text": text} for text in texts], "confirmed": False}))
    with serving([], given={str(file.with_name("results")): claim_results()}, nuggets=file) as visitor:
        page = opened(new_page(), visitor)
        assert page.locator(".nugget").count() == len(texts)
        assert page.locator("main img, main svg, main iframe, main form, main style, main script").count() == 0
        assert page.evaluate(OVERFLOW) == 0
        page.keyboard.press("c")
        said(page, f"Confirmed: {len(texts)} vital and 0 okay.")
