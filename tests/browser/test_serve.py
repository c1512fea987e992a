"""`rankproof serve` in a real browser: from the list to five judgements without a mouse."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rankproof._data.corpus import TextRecord
from support.hostile_strings import STRINGS
from support.results_server import Visitor, judged_in, saved, serving
from support.small_results import small_results

from .conftest import PHONE
from .test_report_page import OVERFLOW, faults_of

playwright = pytest.importorskip("playwright.sync_api")
pytestmark = pytest.mark.browser
FOCUSED = "document.activeElement.getAttribute('aria-label') || document.activeElement.textContent"
NewPage = Callable[..., Any]


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Visitor]:
    paths = [
        saved(tmp_path / "old", name="older", provenance={"created": "2026-01-01T00:00:00Z", "dataset": "tiny"}),
        saved(
            tmp_path / "new",
            small_results(("bm25", "dense"), highest=3),
            name="newer",
            provenance={"created": "2026-02-01T00:00:00Z"},
        ),
    ]
    with serving(paths, judge=tmp_path / "my.qrels") as visitor:
        yield visitor


@pytest.fixture
def page(new_page: NewPage, served: Visitor) -> Any:
    found = new_page()
    found.goto(served.url)
    return found


def follow(page: Any, words: str) -> None:
    """Goes to the link by the tabulator, and through it."""
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate(FOCUSED) == words:
            break
    else:
        pytest.fail(f"no {words} by the tabulator")
    with page.expect_navigation():
        page.keyboard.press("Enter")


def press(page: Any, key: str, said: str) -> None:
    """Presses the key and waits until the page says so."""
    page.keyboard.press(key)
    playwright.expect(page.locator("#status")).to_have_text(re.compile(re.escape(said)))


def shown(page: Any) -> tuple[str, str]:
    return page.inner_text("#query-id"), page.inner_text("#doc-id")


def test_from_the_list_to_five_judgements_by_keyboard_alone(page: Any, served: Visitor, tmp_path: Path) -> None:
    assert page.url == f"http://{served.host}/"
    assert page.locator(".name").all_inner_texts() == ["newer", "older"]
    follow(page, "Report of older, folder old")
    assert page.inner_text("h1") == "older"
    follow(page, "Compare")
    follow(page, "newer")
    assert page.inner_text("h1") == "older and newer"
    assert page.inner_text(".lead").startswith("Not decided: a decision needs at least 30 queries")
    follow(page, "All results")
    follow(page, "Judge older, folder old")
    expected = []
    for grade in (3, 2, 1, 0, 2):
        query, doc = shown(page)
        expected.append(f"{query} human:ann {doc} {grade}\n")
        assert "bm25" not in page.inner_text("#pair")
        press(page, str(grade), f"Saved: grade {grade} for {doc}, query {query}.")
        assert "bm25" in page.inner_text("#status")
    assert judged_in(tmp_path / "my.qrels") == "".join(expected)
    assert page.inner_text("#count") == "5 of 6 judged"
    left = shown(page)
    page.reload()
    assert (page.inner_text("#count"), shown(page)) == ("5 of 6 judged", left)
    press(page, "0", "Saved: grade 0")
    assert page.locator("#done").is_visible()
    assert page.evaluate("document.activeElement.id") == "done"


def test_undo_and_skip_and_what_comes_back(page: Any, served: Visitor, tmp_path: Path) -> None:
    page.goto(f"http://{served.host}/r/1/judge")
    first = shown(page)
    assert page.locator("#undo").is_disabled()
    press(page, "s", f"Skipped: {first[1]}")
    second = shown(page)
    assert second != first
    press(page, "2", "Saved")
    page.reload()
    press(page, "u", f"Undone: {second[1]} has no grade")
    assert shown(page) == second
    assert (tmp_path / "my.qrels").read_text() == ""
    for done in range(1, 7):
        press(page, "1", "Saved: grade 1")
        playwright.expect(page.locator("#count")).to_have_text(f"{done} of 6 judged")


def test_a_held_key_grades_one_pair_and_keys_can_be_turned_off(page: Any, served: Visitor) -> None:
    page.goto(f"http://{served.host}/r/1/judge")
    page.keyboard.down("3")
    page.keyboard.down("3")
    page.keyboard.down("3")
    playwright.expect(page.locator("#status")).to_have_text(re.compile("Saved: grade 3"))
    page.keyboard.up("3")
    assert page.inner_text("#count") == "1 of 6 judged"
    page.uncheck("#keys")
    page.keyboard.press("2")
    page.click("[data-grade='1']")
    playwright.expect(page.locator("#count")).to_have_text("2 of 6 judged")
    assert page.inner_text("#status").startswith("Saved: grade 1")


def test_what_is_judged_in_another_tab_does_not_come_again(page: Any, new_page: NewPage, served: Visitor) -> None:
    page.goto(f"http://{served.host}/r/1/judge")
    other = new_page()
    other.goto(served.url)
    other.goto(f"http://{served.host}/r/1/judge")
    press(other, "1", "Saved: grade 1")
    theirs = shown(other)
    press(other, "2", "Saved: grade 2")
    press(page, "3", "Saved: grade 3")
    assert page.inner_text("#count") == "2 of 6 judged"
    assert shown(page) != theirs


def test_a_page_that_keeps_asking_is_closed_before_its_server_stops(new_page: NewPage, tmp_path: Path) -> None:
    kept = new_page()
    with serving([saved(tmp_path / "results")]) as visitor:
        page = new_page()
        page.goto(visitor.url)
        page.evaluate("setInterval(() => fetch('/').catch((error) => console.error(error.message)), 1)")
    assert page.is_closed()
    assert not kept.is_closed()


def test_a_grade_that_is_not_saved_is_told_and_the_pair_stays(new_page: NewPage, watched: Any, tmp_path: Path) -> None:
    with serving([saved(tmp_path / "results")], judge=tmp_path / "my.qrels") as visitor:
        page = new_page()
        page.goto(visitor.url)
        page.goto(f"http://{visitor.host}/r/1/judge")
        before = shown(page)
        page.route("**/judge", lambda route: route.abort())
        page.keyboard.press("2")
        page.wait_for_selector("#error:not([hidden])")
        assert page.inner_text("#error") == "Not saved: the server does not respond"
        assert shown(page) == before
        page.unroute("**/judge")
        press(page, "2", "Saved: grade 2")
        assert page.locator("#error").is_hidden()
        watched.said = [line for line in watched.said if "net::ERR_FAILED" not in line]


@pytest.mark.parametrize("path", ["/", "/r/1", "/r/1/compare", "/r/1/compare/2", "/r/1/changes/2", "/r/1/judge"])
@pytest.mark.parametrize("colours", ["light", "dark"])
def test_everybody_can_use_every_page_and_it_fits_a_phone(new_page: NewPage, served: Visitor, path: str, colours: str) -> None:
    page = new_page(viewport=PHONE, color_scheme=colours)
    page.goto(served.url)
    page.goto(f"http://{served.host}{path}")
    assert page.evaluate(OVERFLOW) == 0
    assert faults_of(page) == []


def test_nothing_hostile_runs_on_any_page(new_page: NewPage, tmp_path: Path) -> None:
    names = [text for text in STRINGS if text.strip() and "\0" not in text]
    results = small_results(
        ("a", "b"), queries=[f"q{at}" for at in range(len(names))], docs=[*(f"d{at}" for at in range(4)), *names]
    )
    results = replace(
        results,
        name=names[0],
        provenance={"dataset": names[1], "created": names[2]},
        snippets={doc: names[at % len(names)] for at, doc in enumerate(results.snippets)},
    )
    with serving([saved(tmp_path / "one", results), saved(tmp_path / "two", results)], judge=tmp_path / "my.qrels") as visitor:
        page = new_page()
        page.goto(visitor.url)
        for path in ("/", "/r/1/compare", "/r/1/compare/2", "/r/1/judge"):
            page.goto(f"http://{visitor.host}{path}")
        for _ in range(40):
            press(page, "s", "Skipped")
        assert page.locator("main img, main svg, main iframe, main form, main style").count() == 0


def test_a_passage_that_goes_on_is_said_to_beside_it_and_no_other(new_page: NewPage, tmp_path: Path) -> None:
    snippets = {**small_results().snippets, "d2": f"{'x' * 300}…"}
    with serving([saved(tmp_path / "results", snippets=snippets)], judge=tmp_path / "my.qrels") as visitor:
        page = new_page()
        page.goto(visitor.url)
        page.goto(f"http://{visitor.host}/r/1/judge")
        seen = set()
        for _ in range(6):
            doc = shown(page)[1]
            seen.add((doc, page.locator("#beginning").is_visible()))
            press(page, "s", f"Skipped: {doc}")
    assert seen == {("d2", True), ("d3", False)}


def test_the_report_shows_whole_texts_and_leads_to_the_query_in_the_bench(new_page: NewPage, tmp_path: Path) -> None:
    folder = saved(tmp_path / "results", snippets={doc: f"the start of {doc}…" for doc in small_results().snippets})
    texts = {"d1": f"the start of d1 and {'more ' * 30_000}the end"}
    with serving(
        [folder], documents=lambda entry, results, doc: TextRecord(doc, texts[doc]) if doc in texts else None
    ) as visitor:
        page = new_page()
        page.goto(visitor.url)
        page.goto(f"http://{visitor.host}/r/1#queries?query=q2")
        card = page.locator("#queries li", has_text="the start of d1").first
        card.locator("text=Whole text").click()
        expect = playwright.expect
        expect(card.locator(".whole")).to_have_text(re.compile(r"^the start of d1 and (more )+the end$"))
        page.click("text=Open in the bench")
        page.wait_for_selector(".bench-side .card")
        expect(page.locator(".bench-query")).to_have_text(small_results().texts["q2"].text)
