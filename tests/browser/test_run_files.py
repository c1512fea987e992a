"""The report of run files in a real browser: rankings and texts are there, latency is not, and nothing hostile runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import rankproof as rp
from rankproof.errors import escape_invisible
from support.hostile_strings import STRINGS

pytestmark = pytest.mark.browser
Opened = Callable[..., Any]
CELLS = "all => all.map(one => one.textContent)"


def test_a_query_of_run_files_opens_with_its_rankings_and_texts_and_without_a_time(opened: Opened) -> None:
    from playwright.sync_api import expect

    runs = {name: f"sample:{name}" for name in ("bm25", "hybrid")}
    page = opened(rp.report("sample", runs, dataset="sample").html, "#queries?query=q001")
    expect(page.locator("#queries")).to_contain_text("my cooker top drones whenever I use the cheap pots")
    shown = page.locator("#queries").inner_text()
    assert "moxley-m57" in shown
    assert " ms" not in shown
    assert page.locator("#latency, #pareto").count() == 0


def test_hostile_names_of_run_files_stay_in_their_cells(opened: Opened) -> None:
    qrels = {query: {f"d {query}": 1, "e": 0} for query in STRINGS}
    runs = {name: {query: {f"d {query}": 2.0, "e": 1.0, name: 3.0} for query in STRINGS} for name in STRINGS}
    page = opened(rp.report(qrels, runs).html)
    rows = page.locator("table", has=page.locator("#measures-1-caption")).locator("tbody th")
    assert rows.evaluate_all(CELLS) == [escape_invisible(name) for name in STRINGS]
    assert page.evaluate("window.harmed") is None
