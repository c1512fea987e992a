"""The page on two results in a real browser: the answer first, the queries that changed, and the two rankings of a query."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from playwright.sync_api import expect

from rankproof import evaluate
from rankproof._analysis.changes.changed_queries import changed_queries
from rankproof._analysis.changes.changes import Changes, compare_before_after
from rankproof._report.changes_page import render_changes
from rankproof.errors import escape_invisible
from support.answering_results import answering_results
from support.before_after import before_after, without_judgements
from support.claim_results import claim_results
from support.hostile_results import harmful_results
from support.hostile_strings import STRINGS

from .conftest import DESKTOP, PHONE
from .test_report_hostile import ATTRIBUTES, FOREIGN, LINKS
from .test_report_page import OPEN_ALL, OVERFLOW, faults_of

pytestmark = pytest.mark.browser
Opened = Callable[..., Any]
SECTIONS = ("settings", "changes", "decision", "systems", "moved", "queries", "measures")


@pytest.fixture(scope="module")
def changes() -> Changes:
    return compare_before_after(*before_after())


@pytest.fixture(scope="module")
def text(changes: Changes) -> str:
    return render_changes(changes)


@pytest.fixture(scope="module")
def hostile() -> str:
    results = harmful_results()
    first = results.system_runs[0].run
    runs = {one.name: first if at else results.system_runs[1].run for at, one in enumerate(results.system_runs)}
    after = replace(
        results,
        system_runs=tuple(replace(one, stored_run=runs[one.name]) for one in results.system_runs),
        result=evaluate(results.qrels, runs, ["nDCG@10", "RR@10", "R@20"]),
    )
    return render_changes(compare_before_after(results, after))


def test_settings_and_the_answer_begin_on_the_first_screen_and_sections_are_in_order(opened: Opened, text: str) -> None:
    for size in (DESKTOP, PHONE):
        page = opened(text, viewport=size)
        assert page.eval_on_selector_all("main > section", "all => all.map(one => one.id)") == list(SECTIONS)
        lead = page.locator("#changes .lead")
        assert lead.inner_text().startswith("After is better than before in nDCG@10 for hybrid, and worse for dense")
        box = lead.bounding_box()
        assert box is not None
        assert box["y"] < size["height"]
        assert page.evaluate(OVERFLOW) == 0
    assert page.title() == "shop: what changed - rankproof"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_everybody_can_use_the_page(opened: Opened, text: str, viewport: dict[str, int], scheme: str) -> None:
    page = opened(text, viewport=viewport, color_scheme=scheme)
    page.eval_on_selector_all("details", OPEN_ALL)
    assert faults_of(page) == []
    assert page.evaluate(OVERFLOW) == 0


def test_the_largest_changes_are_those_of_the_analysis(opened: Opened, text: str, changes: Changes) -> None:
    page = opened(text)
    system = page.locator("#moved .changed-system", has=page.locator("h3", has_text="hybrid"))
    assert system.get_attribute("open") is not None
    found = changed_queries(changes.joined, "before/hybrid", "after/hybrid", "nDCG@10")
    shown = system.locator(".changed-query > summary .id").all_inner_texts()
    assert shown == [one.query for one in (*found.losses, *found.gains)]
    first = system.locator(".changed-query").first
    one = found.losses[0]
    assert first.locator(".values").inner_text() == f"{one.before:.4f} → {one.after:.4f} {100 * one.difference:.2f} pp"
    first.locator("summary").click()
    documents = first.locator("li.document")
    assert documents.count() == min(len(one.moves), 12)
    move = one.moves[0]
    assert documents.first.locator(".shift").inner_text() == move.kind
    assert documents.first.locator(".name").inner_text() == move.doc
    assert documents.first.locator(".where").inner_text() == f"{move.before or 'not retrieved'} → {move.after or 'not retrieved'}"


def test_a_query_opens_by_keyboard_and_leads_to_both_rankings(opened: Opened, text: str, changes: Changes) -> None:
    page = opened(text)
    first = page.locator("#moved .changed-query").first
    first.locator("summary").focus()
    page.keyboard.press("Enter")
    assert first.get_attribute("open") is not None
    first.locator("a").focus()
    page.keyboard.press("Enter")
    panel = page.locator("#queries .panel")
    names = panel.locator(".ranking").evaluate_all("all => all.map(one => one.getAttribute('aria-label'))")
    assert names == ["before/hybrid", "after/hybrid"]
    query = changed_queries(changes.joined, "before/hybrid", "after/hybrid", "nDCG@10").losses[0]
    assert panel.locator("h3 .id").inner_text() == query.query
    left = panel.locator(".ranking").nth(1).locator("h5", has_text="Left the top 10").locator("xpath=following-sibling::ul/li")
    gone = {move.doc for move in query.moves if move.kind == "left"}
    assert {one.locator(".name").inner_text() for one in left.all()} == gone


def test_the_table_starts_with_the_largest_difference_and_filters(opened: Opened, text: str, changes: Changes) -> None:
    page = opened(text)
    found = changed_queries(changes.joined, "before/hybrid", "after/hybrid", "nDCG@10", most=100)
    every = sorted((*found.losses, *found.gains), key=lambda one: -abs(one.difference))
    rows = page.locator("#queries [role=row][aria-rowindex='2'] .cell").all_inner_texts()
    assert rows[0] == every[0].query
    page.get_by_role("button", name="Largest losses").click()
    assert page.locator("#queries [role=row][aria-rowindex='2'] .cell").first.inner_text() == found.losses[0].query
    page.get_by_role("button", name="Largest gains").click()
    assert page.locator("#queries [role=row][aria-rowindex='2'] .cell").first.inner_text() == found.gains[0].query
    page.locator("#queries-only").select_option("worse")
    assert page.locator("#queries .count").inner_text() == f"{found.lost} of 60 queries"
    page.locator("#queries-system").select_option(label="bm25")
    assert page.locator("#queries .count").inner_text() == "0 of 60 queries"
    page.locator("#queries-only").select_option("equal")
    assert page.locator("#queries .count").inner_text() == "60 of 60 queries"
    page.locator("#queries-only").select_option("")
    page.locator("#queries-find").fill("q17")
    assert page.locator("#queries .count").inner_text() == "1 of 60 queries"


def test_the_address_keeps_the_view(opened: Opened, text: str) -> None:
    page = opened(text)
    page.locator("#queries-system").select_option(label="dense")
    page.get_by_role("button", name="Largest gains").click()
    hash = page.evaluate("location.hash")
    first = page.locator("#queries [role=row][aria-rowindex='2'] .cell").first.inner_text()
    page.evaluate("location.hash = '#queries?'")
    page.evaluate("hash => { location.hash = hash; }", hash)
    assert page.locator("#queries-system option:checked").inner_text() == "dense"
    assert page.locator("#queries [role=row][aria-rowindex='2'] .cell").first.inner_text() == first
    page.get_by_role("button", name="Reset").click()
    assert page.locator("#queries-system option:checked").inner_text() == "hybrid"


def test_no_hostile_text_becomes_an_element_an_attribute_or_a_link(opened: Opened, hostile: str) -> None:
    page = opened(hostile)
    page.eval_on_selector_all("details", OPEN_ALL)
    assert page.eval_on_selector_all("body *", ATTRIBUTES) == []
    assert page.locator("body").locator(FOREIGN).count() == 0
    assert page.eval_on_selector_all("a[href]", LINKS) == []
    assert page.evaluate("window.harmed") is None
    rows = page.locator("#systems tbody th").all_inner_texts()
    assert {escape_invisible(name) for name in STRINGS[:-1]} <= {*rows}
    page.set_viewport_size(PHONE)
    assert page.evaluate(OVERFLOW) == 0


def test_every_link_to_a_hostile_query_opens_it(opened: Opened, hostile: str) -> None:
    page = opened(hostile)
    links = page.locator("#moved .changed-query a")
    assert links.count()
    for at in range(min(links.count(), 8)):
        page.eval_on_selector_all("details", OPEN_ALL)
        wanted = links.nth(at).locator("xpath=ancestor::details[1]/summary").locator(".id").inner_text()
        links.nth(at).click()
        expect(page.locator("#queries .panel h3 .id")).to_have_text(wanted, use_inner_text=True)


def test_other_results_have_their_own_sections(opened: Opened) -> None:
    pages = {
        "no judgements": compare_before_after(*map(without_judgements, before_after())),
        "answers": compare_before_after(answering_results(["wrong"] * 12), answering_results()),
        "answers alone": compare_before_after(claim_results(), claim_results()),
    }
    expected = {
        "no judgements": ["settings", "changes", "systems", "moved"],
        "answers": ["settings", "changes", "decision", "systems", "warnings", "moved", "queries", "measures", "answers"],
        "answers alone": ["settings", "changes", "systems", "moved", "queries", "answers"],
    }
    for name, found in pages.items():
        page = opened(render_changes(found))
        assert page.eval_on_selector_all("main > section", "all => all.map(one => one.id)") == expected[name], name
        page.eval_on_selector_all("details", OPEN_ALL)
        assert faults_of(page) == []
