"""Two answers in a real browser: evidence, labels in place, and blind preferences by keyboard."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from support.claims_to_label import SYSTEMS, claim_results, with_claims
from support.hostile_strings import STRINGS
from support.results_server import Visitor, saved, serving

from .conftest import PHONE
from .test_report_page import OVERFLOW, faults_of
from .test_serve import NewPage

playwright = pytest.importorskip("playwright.sync_api")
pytestmark = pytest.mark.browser


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Visitor]:
    results = claim_results(["q1", "q2", "q3"])
    results = with_claims(results, [replace(verdict, evidence=((1, 2),)) for verdict in results.claims])
    with serving([saved(tmp_path / "results", results)], permissions=["edit"]) as visitor:
        yield visitor


def test_a_claim_shows_its_evidence_and_takes_a_label(new_page: NewPage, served: Visitor, tmp_path: Path) -> None:
    page = new_page()
    page.goto(served.url)
    page.click("text=Answers side by side")
    side = page.locator(".answer-side").first
    side.locator(".claim >> nth=1").click()
    assert side.locator(".source mark").all_inner_texts() == ["At full load they last 14 hours."]
    assert "contradicted by overlap" in side.locator(".claim-detail").inner_text()
    side.locator("[data-label=supported]").click()
    playwright.expect(page.locator("#status")).to_contain_text("Saved: supported.")
    assert side.locator(".claim.supported").count() == 1
    assert '"label": "supported"' in (tmp_path / "results.chosen.jsonl").read_text()
    page.click(".query >> nth=2")
    page.wait_for_url("**q=q3**")
    page.select_option("[aria-label='System A'] select", SYSTEMS[1])
    page.wait_for_url(f"**a={SYSTEMS[1]}**")
    assert faults_of(page) == []


def test_preferences_are_given_blind_by_keyboard(new_page: NewPage, served: Visitor, tmp_path: Path) -> None:
    page = new_page(viewport=PHONE)
    page.goto(served.url)
    page.goto(f"http://{served.host}/r/1/answers?mode=prefer")
    page.wait_for_selector(".duel-buttons")
    assert "secret" not in page.inner_text("main")
    assert page.evaluate(OVERFLOW) == 0
    assert faults_of(page) == []
    for done, key in enumerate(("1", "u", "2", "0", "1")):
        count = page.inner_text("#answers .beside")
        page.keyboard.press(key)
        playwright.expect(page.locator("#answers .beside")).not_to_have_text(count)
        assert done < 5
    playwright.expect(page.locator("#answers h2")).to_have_text("All pairs are decided")
    page.click("text=Show the counts")
    playwright.expect(page.locator(".preference-counts li")).to_have_count(1)
    assert len((tmp_path / "preferences.jsonl").read_text().splitlines()) == 3


@pytest.mark.parametrize("colours", ["light", "dark"])
def test_nothing_hostile_runs_beside_answers_and_everybody_can_use_the_page(
    new_page: NewPage, tmp_path: Path, colours: str
) -> None:
    text = " ".join(text for text in STRINGS if "\0" not in text)
    results = claim_results(question=text, answers=(f"{text}. A.", f"{text}. B."), reference=text, contexts={"c": text})
    with serving([saved(tmp_path / "results", results)], permissions=["edit"]) as visitor:
        page = new_page(color_scheme=colours)
        page.goto(visitor.url)
        page.goto(f"http://{visitor.host}/r/1/answers")
        page.locator(".claim").first.click()
        assert page.locator("main img, main iframe, main style, main svg, #answers script").count() == 0
        assert faults_of(page) == []
        page.click("#prefer")
        page.wait_for_selector(".duel-buttons")
        assert page.locator("main img, main iframe, main style, main svg, #answers script").count() == 0
