"""Hostile text on the page: shown where it belongs, as it is, and nothing of it runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from rankproof._report.page import render_report
from rankproof.errors import escape_invisible
from support.hostile_results import TEXTS, harmful_results
from support.hostile_strings import STRINGS

from .conftest import READY, Watched, pages

pytestmark = pytest.mark.browser
CELLS = "all => all.map(one => one.textContent)"
FOREIGN = "img, iframe, object, embed, style, math, b, audio, video, form, base, link, meta, foreignObject, animate, image"
ATTRIBUTES = """all => all.flatMap(one => Array.from(one.attributes))
  .filter(one => one.name.startsWith("on") || one.name === "src" || one.name === "srcdoc")
  .map(one => one.name)"""
LINKS = "all => all.map(one => one.getAttribute('href')).filter(one => !one.startsWith('#'))"


@pytest.fixture(scope="module")
def page(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """One page for all that only look at it."""
    path = tmp_path_factory.mktemp("hostile") / "report.html"
    path.write_bytes(render_report(harmful_results()).encode(errors="backslashreplace"))
    watched = Watched()
    with pages(browser, watched) as make:
        found = make()
        found.goto(path.as_uri())
        found.evaluate(READY)
        found.eval_on_selector_all("details", "all => all.forEach(one => { one.open = true; })")
        yield found
    assert watched.requests == [path.as_uri()]


def test_no_hostile_text_becomes_an_element_an_attribute_or_a_link(page: Any) -> None:
    assert page.eval_on_selector_all("body *", ATTRIBUTES) == []
    assert page.locator("body").locator(FOREIGN).count() == 0
    assert page.eval_on_selector_all("a[href]", LINKS) == []
    assert page.eval_on_selector_all("script", "all => all.map(one => one.type)") == ["text/plain"] * 2 + [""]


def test_every_name_stays_in_its_cell(page: Any) -> None:
    names = [escape_invisible(name) for name in STRINGS]
    ranking = names[:-1]
    for table, shown in (("measures", names), ("latency", names), ("pareto", ranking)):
        rows = page.locator("table", has=page.locator(f"#{table}-1-caption")).locator("tbody th")
        assert rows.evaluate_all(CELLS) == shown
    heads = page.locator("table", has=page.locator("#segments-1-caption")).locator("thead th")
    assert heads.evaluate_all(CELLS)[2:] == names


def test_every_note_stays_in_its_cell(page: Any) -> None:
    cells = page.locator("#notes tbody td").evaluate_all(CELLS)
    assert cells[: len(TEXTS)] == [escape_invisible(text) for text in TEXTS]


def test_the_experiment_file_is_shown_as_it_is(page: Any) -> None:
    lines = page.locator("#provenance pre").evaluate_all(CELLS)[0]
    assert lines == "\n".join(escape_invisible(text) for text in TEXTS)


def test_titles_show_names_as_people_can_see_them(page: Any) -> None:
    assert page.locator("h1").inner_text() == escape_invisible(STRINGS[1])
    assert page.title() == f"{escape_invisible(STRINGS[1])} - rankproof"
    texts = page.locator("#steps svg text").evaluate_all(CELLS)
    assert escape_invisible(STRINGS[-2])[:5] in {text[:5] for text in texts}
