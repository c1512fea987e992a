"""The report in a real browser: loads alone, reads in order, fits a phone, prints, and can be used by everybody."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rankproof._report.page import render_report
from rankproof._results.experiment_result import ExperimentResult
from support.explorer_pages import many_queries
from support.plot_results import wide_results

from .conftest import DESKTOP, PHONE

pytestmark = pytest.mark.browser
SECTIONS = (
    *("decision", "systems", "warnings", "queries", "pairs", "steps", "pareto", "latency", "measures", "recall", "segments"),
    *("diagnosis", "movement", "unjudged", "notes", "provenance", "definitions"),
)
OPEN = SECTIONS[:4]
OPEN_ALL = "all => all.forEach(one => { one.open = true; })"
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
Opened = Callable[..., Any]


@pytest.fixture(scope="module")
def results() -> ExperimentResult:
    return wide_results([f"system-{at}" for at in range(5)], [f"q{at}" for at in range(60)])


@pytest.fixture(scope="module")
def text(results: ExperimentResult) -> str:
    return render_report(results)


def faults_of(page: Any) -> list[str]:
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page).response["violations"]
    return [f"{one['impact']} {one['id']}: {one['nodes'][0]['html'][:200]} ({len(one['nodes'])})" for one in found]


def test_sections_are_in_order_and_have_a_question(opened: Opened, text: str) -> None:
    page = opened(text)
    assert page.eval_on_selector_all("main > section", "all => all.map(one => one.id)") == list(SECTIONS)
    assert all(page.locator(f"#{key} .question").first.inner_text().endswith(("?", ".")) for key in SECTIONS)
    assert page.title() == "small - rankproof"


def test_links_of_the_contents_lead_to_their_sections(opened: Opened, text: str) -> None:
    from playwright.sync_api import expect

    page = opened(text)
    assert page.eval_on_selector_all(".contents a", "all => all.map(one => one.hash)") == [f"#{key}" for key in SECTIONS]
    for key in ("unjudged", "systems", "definitions"):
        page.locator(f'.contents a[href="#{key}"]').click()
        expect(page.locator(".contents a[aria-current]")).to_have_attribute("href", f"#{key}")
        assert page.locator(f"#{key} h2").is_visible()
        assert page.locator(f"#{key} .table-block, #{key} .terms").first.is_visible()


def test_the_decision_is_the_first_screen_and_details_are_folded(opened: Opened, text: str) -> None:
    for size in (DESKTOP, PHONE):
        page = opened(text, viewport=size)
        box = page.locator("#decision .lead").bounding_box()
        assert box is not None
        assert box["y"] + box["height"] < size["height"]
        for key in SECTIONS:
            assert page.locator(f"#{key} > details.fold").count() == (key not in OPEN)
        assert page.locator("details.fold[open]").count() == 0


def test_a_folded_section_opens_by_key_and_by_address(opened: Opened, text: str) -> None:
    page = opened(text, "#latency")
    assert page.locator("#latency .table-block").is_visible()
    assert not page.locator("#pairs .table-block").first.is_visible()
    page.locator("#pairs > details > summary").focus()
    page.keyboard.press("Enter")
    assert page.locator("#pairs .table-block").first.is_visible()
    page.keyboard.press("Space")
    assert not page.locator("#pairs .table-block").first.is_visible()


def test_the_first_stop_of_the_tab_key_skips_to_the_report(opened: Opened, text: str) -> None:
    page = opened(text)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"


def test_colours_follow_the_colour_scheme(opened: Opened, text: str) -> None:
    page = opened(text)
    grounds = {}
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        grounds[scheme] = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert grounds["light"] == "rgb(255, 255, 255)"
    assert grounds["dark"] != grounds["light"]


def test_the_page_never_scrolls_sideways(opened: Opened, text: str) -> None:
    page = opened(text)
    page.eval_on_selector_all("details", OPEN_ALL)
    for width in (320, 390, 768, 1100, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate(OVERFLOW) <= 0, width


def test_a_column_out_of_sight_makes_no_row_tall_on_a_phone(opened: Opened, text: str) -> None:
    page = opened(text, "#diagnosis", viewport=PHONE)
    tall = "all => Math.max(...all.map(one => one.getBoundingClientRect().height))"
    assert page.eval_on_selector_all("#diagnosis .table-block:first-of-type td.wordy", tall) < 100


def test_contents_stay_in_reach_on_a_phone(opened: Opened, text: str) -> None:
    page = opened(text, viewport=PHONE)
    page.evaluate("document.getElementById('unjudged').scrollIntoView()")
    box = page.locator(".contents").bounding_box()
    assert box is not None
    assert 0 <= box["y"] < 10


def test_charts_are_named_and_drawn_for_the_width(opened: Opened, text: str) -> None:
    page = opened(text, "#steps")
    for size, shown, hidden in ((DESKTOP, ".for-wide", ".for-narrow"), (PHONE, ".for-narrow", ".for-wide")):
        page.set_viewport_size(size)
        assert page.locator(f"#steps {shown} svg").is_visible()
        assert not page.locator(f"#steps {hidden} svg").is_visible()
        named = "all => all.every(one => one.querySelector(':scope > title'))"
        assert page.eval_on_selector_all("svg[role]", named)


def test_tables_have_captions_and_heads(opened: Opened, text: str) -> None:
    page = opened(text)
    assert page.locator(".table-block table").count() > 8
    for part in ("caption", "thead th[scope=col]", "tbody th[scope=row]"):
        assert page.eval_on_selector_all(".table-block table", f"all => all.every(one => one.querySelector('{part}'))")


def test_it_prints_two_pages_and_more_on_demand_without_controls(opened: Opened, text: str) -> None:
    page = opened(text)
    assert sheets(page) <= 2
    page.evaluate("window.print = () => { window.counted = document.querySelectorAll('details[open]').length; }")
    page.get_by_role("button", name="Print everything").click()
    assert page.evaluate("counted") == page.locator("details").count()
    assert sheets(page) > 4
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert page.locator("details[open]").count() == 0
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 690, "height": 1000})
    page.eval_on_selector_all("details", OPEN_ALL)
    assert page.evaluate(OVERFLOW) <= 0
    assert not page.locator("#queries").is_visible()
    assert not page.locator(".contents").is_visible()


def sheets(page: Any) -> int:
    """The number of printed pages."""
    return len(re.findall(rb"/Type /Page\b", page.pdf(format="A4")))


def test_an_opened_query_is_printed_and_values_keep_their_colours(opened: Opened, text: str) -> None:
    page = opened(text, "#queries?query=q7", color_scheme="dark")
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 690, "height": 1000})
    assert page.locator("#queries .panel h3").is_visible()
    assert page.locator("#queries .ranking").count() == 2
    assert not page.locator("#queries .grid").is_visible()
    assert not page.locator("#queries .steps").is_visible()
    assert page.evaluate(OVERFLOW) <= 0
    colours = page.eval_on_selector_all("td.heat", "all => all.map(one => getComputedStyle(one).backgroundColor)")
    assert len(set(colours)) > 2
    assert "rgb(242, 246, 250)" in colours


def test_a_linked_query_is_there_at_once(opened: Opened, text: str) -> None:
    page = opened(text, "#queries?query=q7", reduced_motion="no-preference")
    assert page.evaluate("document.querySelector('.panel').getBoundingClientRect().top") < DESKTOP["height"]


def test_one_system_is_not_offered_as_two(opened: Opened) -> None:
    page = opened(wide_results(["alone"], ["q1", "q2"]))
    assert page.locator(".explorer .control label").all_inner_texts()[:2] == ["Find", "Measure"]
    assert page.locator(".explorer").get_by_text("System B").count() == 0
    assert page.locator(".explorer .head").get_by_text("A − B").count() == 0
    assert page.locator(".explorer .row .value").count() == 2


@pytest.mark.parametrize(
    "options",
    [{"color_scheme": "light"}, {"color_scheme": "dark", "viewport": PHONE}],
    ids=["light", "dark phone"],
)
def test_the_report_has_no_accessibility_fault(opened: Opened, text: str, options: dict[str, Any]) -> None:
    page = opened(text, **options)
    page.eval_on_selector_all("details", OPEN_ALL)
    assert faults_of(page) == []


def test_the_whole_report_of_thousands_of_queries_opens_and_sorts(opened: Opened) -> None:
    text = render_report(many_queries(2_100, 5))
    assert len(text) < 12_000_000
    page = opened(text)
    grid = page.get_by_role("grid", name="Every query")
    assert grid.get_attribute("aria-rowcount") == "2101"
    assert page.eval_on_selector_all("main > section", "all => all.map(one => one.id)")[0] == "decision"
    page.get_by_role("button", name="Worst first in A").click()
    values = page.locator(".explorer .row .cell.value[data-label='system 4']").all_inner_texts()
    assert page.locator(".explorer .row").count() < 50
    assert values == sorted(values)
    page.locator(".explorer .row").first.click()
    assert page.locator(".ranking").count() == 2


def test_one_switch_changes_the_measure_of_the_whole_page_and_its_address(opened: Opened, text: str) -> None:
    page = opened(text)
    assert page.locator("#decision figure[data-measure]:visible figcaption").inner_text().startswith("nDCG@10: difference")
    page.get_by_label("Measure").first.select_option("RR@10")
    for part in ("#decision figure[data-measure]", "#systems .table-block[data-measure]"):
        assert page.locator(f"{part}:visible").evaluate_all("all => all.map(one => one.dataset.measure)") == ["RR@10"]
    assert page.locator("#decision .waterfall figcaption").inner_text().startswith("RR@10, query by query")
    assert page.locator("#queries select").nth(0).evaluate("one => one.selectedOptions[0].label") == "RR@10"
    assert page.url.endswith("#decision?measure=RR%4010")
    again = opened(text, "#decision?measure=RR%4010")
    assert again.locator("#systems .table-block[data-measure]:visible").get_attribute("data-measure") == "RR@10"


def test_the_table_of_systems_sorts_by_every_column_in_both_directions(opened: Opened, text: str) -> None:
    page = opened(text)
    table = page.locator("#systems .sortable:visible table").first
    names = "rows => rows.map(row => row.cells[0].textContent.trim())"
    best_first = [f"system-{at}" for at in range(4, -1, -1)]
    assert table.locator("tbody tr").evaluate_all(names) == best_first
    for order, direction in ((best_first[::-1], "ascending"), (best_first, "descending")):
        table.locator("th button").first.click()
        assert table.locator("tbody tr").evaluate_all(names) == order
        assert table.locator("th").first.get_attribute("aria-sort") == direction
    table.get_by_role("button", name="nDCG@10").click()
    assert table.locator("tbody tr").evaluate_all(names)[0] == "system-4"


def test_numbers_of_the_page_lead_to_the_queries_behind_them(opened: Opened, text: str) -> None:
    page = opened(text)
    page.locator("#systems .sortable:visible tbody a").nth(1).click()
    assert page.get_by_label("System A").evaluate("one => one.selectedOptions[0].label") == "system-4"
    row = page.locator("#decision figure[data-measure]:visible a").nth(2)
    row.click()
    assert page.get_by_label("System A").evaluate("one => one.selectedOptions[0].label") == "system-2"
    assert page.get_by_label("System B").evaluate("one => one.selectedOptions[0].label") == "system-4"
    differences = page.locator(".row .cell.difference").all_inner_texts()
    assert differences[0].startswith("−")
    links = page.eval_on_selector_all("main a[href^='#queries?']", "all => all.map(one => one.getAttribute('href'))")
    assert len(links) > 60
    page.evaluate("hash => { window.location.hash = hash; }", next(link for link in links if "sort=time" in link))
    page.locator(".head .cell.time").wait_for()
    times = [float(number) for number in page.locator(".row .cell.time").all_inner_texts()]
    assert times == sorted(times, reverse=True)


NO_QUERIES = {
    "What the bands of the profile": "says what a range of values means",
    "Rules of the diagnosis": "says which values a rule is about",
    "Which measures matter at which stage": "says which measures there are",
    "Notes": "texts",
    "Provenance": "versions, dates and settings",
    "Every system: stages and facts": "settings",
}
"""Tables whose numbers are not computed from queries, by the beginning of their titles."""
OTHER_ROWS = ("random ranking",)
"""Rows of no system."""
NUMBERS = """() => [...document.querySelectorAll("main .table-block table")].map((table) => ({
  title: table.caption.textContent,
  rows: [...table.tBodies[0].rows].map((row) => ({
    name: row.cells[0].textContent.trim(),
    numbers: [...row.cells].slice(1).filter((cell) => /^[<>[(]?[-+−]?\\d/.test(cell.textContent.trim()))
      .map((cell) => cell.querySelector("a") ? cell.querySelector("a").getAttribute("href") : ""),
  })),
}))"""
MARKS = """() => {
  const drawn = [...document.querySelectorAll("main figure svg")].filter((svg) => svg.getBoundingClientRect().width);
  return drawn.map((svg) => {
    const areas = [...svg.querySelectorAll("a .reach-area")].map((area) => area.getBoundingClientRect());
    const first = areas.length ? Math.min(...areas.map((area) => area.top)) : -Infinity;
    const inside = ({ left, top, width, height }) => areas.some((area) => left + width / 2 >= area.left
      && left + width / 2 <= area.right && top + height / 2 >= area.top && top + height / 2 <= area.bottom);
    const marks = [...svg.querySelectorAll(".dot, .stage, .move, path[class^='series-']:not([class*='interval'])")]
      .filter((mark) => mark.tagName !== "path" || mark.getAttribute("d").endsWith("Z") || mark.classList.contains("move"))
      .map((mark) => ({ mark, box: mark.getBoundingClientRect() })).filter(({ box }) => box.bottom > first);
    return { title: svg.querySelector("title").textContent, count: marks.length,
      missed: marks.filter(({ box }) => !inside(box)).map(({ mark }) => mark.outerHTML.slice(0, 120)) };
  });
}"""
"""The marks of each chart and those without a link; what is above all links says what colours mean."""
VISIT = """async (links) => {
  const empty = [];
  for (const link of links) {
    await new Promise((done) => { window.addEventListener("hashchange", done, { once: true }); window.location.hash = link; });
    if (/^0 of/.test(document.querySelector("#queries [role=status]").textContent)) {
      empty.push(link);
    }
  }
  return empty;
}"""


def test_every_number_and_mark_of_the_page_leads_to_its_queries(opened: Opened, text: str) -> None:
    page = opened(text)
    page.eval_on_selector_all("details", OPEN_ALL)
    tables = page.evaluate(NUMBERS)
    assert len(tables) >= 25
    shown = [table for table in tables if not table["title"].startswith(tuple(NO_QUERIES))]
    assert len(tables) - len(shown) == len(NO_QUERIES)
    rows = [(table["title"], row) for table in shown for row in table["rows"] if row["name"] not in OTHER_ROWS]
    numbers = [(title, row["name"], link) for title, row in rows for link in row["numbers"]]
    assert len(numbers) > 500
    assert [number for number in numbers if not number[2].startswith("#queries?")] == []
    charts = page.evaluate(MARKS)
    assert sum(chart["count"] for chart in charts) > 150
    assert [chart for chart in charts if chart["missed"]] == []
    links = page.eval_on_selector_all("main a[href^='#queries?']", "all => all.map(one => one.getAttribute('href'))")
    assert {link for _, _, link in numbers} <= set(links)
    assert page.evaluate(VISIT, sorted(set(links))) == []


def test_a_browser_that_cannot_expand_the_data_says_so_and_shows_the_rest(
    new_page: Callable[..., Any], text: str, tmp_path: Path
) -> None:
    (tmp_path / "report.html").write_text(text, encoding="utf-8")
    page = new_page()
    page.add_init_script("delete window.DecompressionStream")
    page.goto((tmp_path / "report.html").as_uri())
    assert "use a browser of 2023 or later" in page.locator("#queries [role=status]").inner_text()
    assert page.locator("#decision .lead").is_visible()
    assert page.locator("#systems .table-block table").first.is_visible()


def test_counts_of_moved_documents_lead_to_the_queries_with_such_a_document(opened: Opened, text: str) -> None:
    page = opened(text, "#movement")
    page.locator("#movement figcaption a", has_text="promoted").first.click()
    assert page.get_by_label("Relevant documents", exact=True).input_value() == "promoted"
    shown = page.locator(".explorer .row").count()
    assert 0 < shown < 60
    page.locator(".explorer .row").first.click()
    assert page.locator("#queries .panel").get_by_text("▲").count() > 0
    again = opened(text, "#" + page.url.partition("#")[2])
    assert again.get_by_label("Relevant documents", exact=True).input_value() == "promoted"


def test_a_click_on_the_differences_opens_the_query(opened: Opened, text: str) -> None:
    page = opened(text)
    bars = page.locator("#decision .waterfall .bars")
    bars.hover(position={"x": 3, "y": 20})
    assert "+" in page.locator("#decision .waterfall .hint").inner_text()
    bars.click(position={"x": 3, "y": 20})
    assert page.locator(".panel h3").is_visible()
    page.locator("#decision .waterfall a.worse").click()
    assert page.get_by_label("Only").input_value() == "worse"
    shown = page.locator("#decision .waterfall a").all_inner_texts()
    assert sum(int(words.split()[0]) for words in shown) == 60
