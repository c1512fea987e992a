"""Hostile text on the page: shown where it belongs, as it is, and nothing of it runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from hostile import STRINGS
from hostile_climbs import TEXTS, harmful_climb
from rankproof.errors import visible
from rankproof.report import page_of

from .conftest import Watched, pages

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
    path.write_bytes(page_of(harmful_climb()).encode(errors="backslashreplace"))
    watched = Watched()
    with pages(browser, watched) as make:
        found = make()
        found.goto(path.as_uri())
        found.eval_on_selector_all("details", "all => all.forEach(one => { one.open = true; })")
        yield found
    assert watched.requests == [path.as_uri()]


def test_no_hostile_text_becomes_an_element_an_attribute_or_a_link(page: Any) -> None:
    assert page.eval_on_selector_all("body *", ATTRIBUTES) == []
    assert page.locator("body").locator(FOREIGN).count() == 0
    assert page.eval_on_selector_all("a[href]", LINKS) == []
    assert page.eval_on_selector_all("script", "all => all.map(one => one.type)") == ["application/json"] * 2 + [""]


def test_every_name_stays_in_its_cell(page: Any) -> None:
    names = [visible(name) for name in STRINGS]
    ranking = names[:-1]
    for table, shown in (("measures", names), ("latency", names), ("pareto", ranking)):
        rows = page.locator("table", has=page.locator(f"#{table}-1-caption")).locator("tbody th")
        assert rows.evaluate_all(CELLS) == shown
    heads = page.locator("table", has=page.locator("#segments-1-caption")).locator("thead th")
    assert heads.evaluate_all(CELLS)[2:] == names


def test_every_note_stays_in_its_cell(page: Any) -> None:
    cells = page.locator("#notes tbody td").evaluate_all(CELLS)
    assert cells[: len(TEXTS)] == [visible(text) for text in TEXTS]


def test_the_experiment_file_is_shown_as_it_is(page: Any) -> None:
    lines = page.locator("#provenance pre").evaluate_all(CELLS)[0]
    assert lines == "\n".join(visible(text) for text in TEXTS)


def test_titles_show_names_as_people_can_see_them(page: Any) -> None:
    assert page.locator("h1").inner_text() == visible(STRINGS[1])
    assert page.title() == f"{visible(STRINGS[1])} - rankproof"
    texts = page.locator("#ladder svg text").evaluate_all(CELLS)
    assert visible(STRINGS[-2])[:5] in {text[:5] for text in texts}
