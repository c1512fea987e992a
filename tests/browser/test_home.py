"""The home page in a real browser: sorted, filtered, two results compared, and trends in which a slow leak is seen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from support.dated_results import saved_series
from support.hostile_strings import STRINGS
from support.results_server import Visitor, saved, serving
from support.small_results import small_results

from .conftest import PHONE
from .test_report_page import OVERFLOW, faults_of
from .test_serve import NewPage

playwright = pytest.importorskip("playwright.sync_api")
pytestmark = pytest.mark.browser


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Visitor]:
    paths = saved_series(tmp_path, (0, 3, 6, 8, 8), rejudged=4)
    other = saved(
        tmp_path / "elsewhere", name="another dataset", provenance={"created": "2025-12-01T00:00:00Z", "dataset": "tiny"}
    )
    with serving([*paths, other]) as visitor:
        yield visitor


def opened(page: Any, served: Visitor, query: str = "") -> Any:
    page.goto(served.url)
    if query:
        page.goto(f"http://{served.host}/{query}")
    page.wait_for_selector(".trend svg")
    return page


def names(page: Any) -> list[str]:
    return [link.inner_text() for link in page.locator(".result:not([hidden]) .name").all()]


def test_a_person_filters_sorts_and_compares_two_results(new_page: NewPage, served: Visitor) -> None:
    page = opened(new_page(), served)
    assert names(page) == ["nightly 5", "nightly 4", "nightly 3", "nightly 2", "nightly 1", "another dataset"]
    page.fill("#filter", "shop")
    assert names(page) == ["nightly 5", "nightly 4", "nightly 3", "nightly 2", "nightly 1"]
    assert page.inner_text("#shown") == "5 of 6 shown"
    page.click("th button:has-text('Value')")
    assert names(page)[0] == "nightly 1"
    page.click("th button:has-text('Value')")
    assert names(page)[-1] == "nightly 1"
    assert page.get_attribute("th[data-sort=value]", "aria-sort") == "ascending"
    page.check("[aria-label='Tick nightly 4, folder run-4']")
    assert page.inner_text("#ticked") == "nightly 4: tick a second result to compare"
    page.check("[aria-label='Tick nightly 1, folder run-1']")
    assert page.locator(".result:not([hidden]) input:disabled").count() == 3
    address = page.url
    page.click("#changes")
    assert page.inner_text("h1") == "nightly 1 → nightly 4: what changed"
    page.goto(address)
    assert (names(page)[-1], page.input_value("#filter")) == ("nightly 1", "shop")
    assert page.locator(".result.ticked").count() == 2
    page.click("#untick")
    assert page.locator("#pair").is_hidden()


def test_a_slow_leak_is_seen_and_a_line_never_joins_other_judgements(new_page: NewPage, served: Visitor) -> None:
    page = opened(new_page(), served)
    figure = page.locator(".trend")
    assert figure.count() == 1
    words = figure.locator(".trend-words").inner_text()
    assert words.startswith("Since the judgements changed: ")
    assert figure.locator(".point").count() == 5
    assert figure.locator(".whisker-band").count() >= 4
    assert [len(line.get_attribute("points").split()) for line in figure.locator(".line").all()] == [4, 1]
    assert figure.locator("text=judgements changed").first.is_visible()
    figure.locator("select").select_option("base")
    assert page.url.endswith("=base") or "=base&" in page.url
    figure.locator("summary").click()
    assert figure.locator("tbody tr").count() == 5
    assert set(figure.locator("tbody tr td:nth-child(3)").all_inner_texts()) == {"base"}
    page.reload()
    page.wait_for_selector(".trend svg")
    assert page.locator(".trend select").input_value() == "base"


def test_a_leak_on_the_same_judgements_is_a_difference_with_a_test(new_page: NewPage, tmp_path: Path) -> None:
    with serving(saved_series(tmp_path, (0, 3, 6, 9))) as visitor:
        page = opened(new_page(), visitor)
        words = page.inner_text(".trend-words")
        assert words.startswith("1.000 on 2026-01-01, 0.872 on 2026-04-01: −12.8 pp over 4 results.")
        page.click("text=Test the first against the last")
        assert page.inner_text("h1") == "nightly 1 → nightly 4: what changed"


@pytest.mark.parametrize("colours", ["light", "dark"])
@pytest.mark.parametrize("viewport", [None, PHONE])
def test_everybody_can_use_the_home_page(
    new_page: NewPage, served: Visitor, colours: str, viewport: dict[str, int] | None
) -> None:
    options = {} if viewport is None else {"viewport": viewport}
    page = opened(new_page(color_scheme=colours, **options), served)
    page.locator(".trend summary").click()
    page.check("[aria-label='Tick nightly 4, folder run-4']")
    page.check("[aria-label='Tick nightly 1, folder run-1']")
    assert page.evaluate(OVERFLOW) == 0
    assert faults_of(page) == []


def test_nothing_hostile_runs_in_the_table_or_in_a_trend(new_page: NewPage, tmp_path: Path) -> None:
    hostile = [text for text in STRINGS if text.strip() and "\0" not in text]
    paths = [
        saved(
            tmp_path / f"r{at}",
            replace(
                small_results((text, "dense")), name=text, provenance={"dataset": text, "created": f"2026-01-{1 + at % 28:02}"}
            ),
        )
        for at, text in enumerate(hostile)
        if "/" not in text
    ]
    assert len(paths) > 15
    with serving(paths) as visitor:
        page = opened(new_page(), visitor)
        page.locator(".trend summary").first.click()
        assert page.locator("main img, main iframe, main form, main style, main script").count() == 0
        assert page.locator(".result").count() == len(paths)
