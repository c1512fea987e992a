"""Every query, in a real browser: sorted, filtered, opened, linked, by keyboard, and with strings that mean harm."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from support.explorer_pages import EXPLAINED, kitchen_results, many_queries, page_alone, unusual_results, written
from support.hostile_strings import STRINGS
from support.small_results import small_results

from .conftest import READY

pytestmark = pytest.mark.browser

Page = Any
Look = Callable[..., Page]
FIRST_ROW = ".explorer .row[aria-rowindex='2']"


@pytest.fixture(scope="module")
def kitchen(tmp_path_factory: pytest.TempPathFactory) -> str:
    return written(page_alone(kitchen_results()), tmp_path_factory.mktemp("kitchen"))


@pytest.fixture(scope="module")
def half_judged(tmp_path_factory: pytest.TempPathFactory) -> str:
    results = kitchen_results(["nDCG@10", "Unjudged@10"], half_judged=("q002", "q003", "q005"))
    return written(page_alone(results), tmp_path_factory.mktemp("half"))


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> str:
    return written(page_alone(many_queries(10_000, 10)), tmp_path_factory.mktemp("many"))


@pytest.fixture(scope="module")
def strange(tmp_path_factory: pytest.TempPathFactory) -> str:
    return written(page_alone(unusual_results(STRINGS)), tmp_path_factory.mktemp("strange"))


@pytest.fixture
def look(new_page: Callable[..., Page]) -> Look:
    """Opens an address at a width, in dark or light."""

    def opened(address: str, *, width: int = 1280, dark: bool = False) -> Page:
        page = new_page(viewport={"width": width, "height": 900}, color_scheme="dark" if dark else "light")
        page.set_default_timeout(15_000)
        page.goto(address)
        page.evaluate(READY)
        return page

    return opened


def ids(page: Page) -> list[str]:
    return list(page.locator(".explorer .row .id").all_inner_texts())


def count(page: Page) -> str:
    return str(page.get_by_role("status").inner_text())


def head(page: Page, name: str) -> Page:
    return page.get_by_role("columnheader").filter(has_text=re.compile(f"^{re.escape(name)}"))


def focused(page: Page, selector: str) -> bool:
    return bool(page.evaluate("selector => document.activeElement.matches(selector)", selector))


def tab_to(page: Page, selector: str) -> None:
    for _ in range(60):
        if focused(page, selector):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"the Tab key does not reach {selector}")


def test_a_column_sorts_in_both_directions(kitchen: str, look: Look) -> None:
    page = look(kitchen)
    header = head(page, "bm25")
    for direction in ("ascending", "descending"):
        header.get_by_role("button").click()
        values = [float(text) for text in page.locator(".row .cell.value[data-label='bm25']").all_inner_texts()]
        assert values == sorted(values, reverse=direction == "descending")
        assert header.get_attribute("aria-sort") == direction
        assert focused(page, ".head button")
    assert head(page, "text").get_attribute("aria-sort") == "none"


def test_ids_sort_by_their_numbers(look: Look, many: str) -> None:
    page = look(many)
    head(page, "query").get_by_role("button").click()
    assert ids(page)[:2] == ["q00000", "q00001"]
    head(page, "query").get_by_role("button").click()
    assert ids(page)[0] == "q09999"


def test_presets_sort_the_rows(kitchen: str, look: Look) -> None:
    page = look(kitchen)
    page.get_by_role("button", name="Largest difference").click()
    shown = page.locator(".row .cell.difference").all_inner_texts()
    sizes = [abs(float(text.replace("−", "-"))) for text in shown]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > 0
    assert head(page, "A − B").get_attribute("aria-sort") == "other"
    page.get_by_role("button", name="Worst first in A").click()
    assert page.locator(f"{FIRST_ROW} .cell.value[data-label='hybrid']").inner_text() == "0.000"
    assert page.get_by_role("button", name="Worst first in A").get_attribute("aria-pressed") == "true"
    page.get_by_role("button", name="Largest spread").click()
    values = [float(text) for text in page.locator(f"{FIRST_ROW} .cell.value").all_inner_texts()]
    assert max(values) - min(values) == 1.0


def test_filters_combine_and_the_count_is_shown(kitchen: str, look: Look) -> None:
    page = look(kitchen)
    assert count(page) == "124 of 124 queries"
    page.get_by_label("Find").fill("PRESSURE cooker")
    assert count(page) == "4 of 124 queries"
    assert all("pressure" in text for text in page.locator(".row .cell.text").all_inner_texts())
    page.get_by_label("Find").fill("q01")
    assert count(page) == "10 of 124 queries"
    page.get_by_label("Segment").select_option(label="technique")
    assert count(page) == "0 of 124 queries"
    page.get_by_label("Find").fill("")
    assert set(page.locator(".row .cell.segment").all_inner_texts()) == {"technique"}
    page.get_by_role("button", name="Reset").click()
    assert count(page) == "124 of 124 queries"


def test_better_equal_and_worse_partition_the_queries(kitchen: str, look: Look) -> None:
    page = look(kitchen)
    counts = []
    for choice, sign in (("better", "+"), ("equal", "0"), ("worse", "−")):
        page.get_by_label("Only").select_option(choice)
        counts.append(int(count(page).split()[0]))
        assert {text[0] for text in page.locator(".row .cell.difference").all_inner_texts()} == {sign}
    assert sum(counts) == 124
    assert min(counts) > 0


def test_unjudged_documents_can_be_filtered_and_are_marked(half_judged: str, look: Look) -> None:
    page = look(half_judged)
    page.get_by_label("unjudged documents").check()
    assert count(page) == "3 of 124 queries"
    assert ids(page) == ["q002", "q003", "q005"]
    page.locator(FIRST_ROW).click()
    assert "unjudged" in page.locator(".ranking ol .grade").all_text_contents()


def test_the_worst_comes_first_also_if_lower_is_better(half_judged: str, look: Look) -> None:
    page = look(half_judged)
    page.get_by_label("Measure").select_option(label="Unjudged@10")
    page.get_by_role("button", name="Worst first in A").click()
    assert set(ids(page)[:3]) == {"q002", "q003", "q005"}
    assert head(page, "hybrid").get_attribute("aria-sort") == "descending"


def test_systems_can_be_hidden_but_never_all(kitchen: str, look: Look) -> None:
    page = look(kitchen)
    page.get_by_text("Systems shown: 3 of 3").click()
    page.get_by_label("bm25", exact=True).click()
    assert page.get_by_text("Systems shown: 2 of 3").is_visible()
    assert page.locator(f"{FIRST_ROW} .cell.value").count() == 2
    assert page.get_by_label("hybrid", exact=True).is_disabled()
    page.get_by_role("button", name="+1 system").click()
    assert page.locator(f"{FIRST_ROW} .cell.value").count() == 3
    page.get_by_role("button", name="A and B alone").click()
    assert page.locator(f"{FIRST_ROW} .cell.value").count() == 2


def test_a_and_b_are_the_first_columns_and_stay_in_view(kitchen: str, look: Look) -> None:
    page = look(kitchen + "#queries?a=bm25&b=static", width=1000)
    heads = page.locator(".head .cell").all_inner_texts()
    assert [head.split("\n")[0].strip() for head in heads[:4]] == ["query", "bm25A", "staticB", "A − B"]
    first = page.locator(f"{FIRST_ROW} .cell.value").first
    before = first.bounding_box()
    page.locator(".explorer .grid").evaluate("node => { node.style.width = '420px'; node.scrollLeft = 300; }")
    assert page.locator(".explorer .grid").evaluate("node => node.scrollLeft") > 0
    assert abs(first.bounding_box()["x"] - before["x"]) <= 1


def test_letters_go_from_query_to_query_but_not_while_a_person_types(kitchen: str, look: Look) -> None:
    page = look(kitchen)
    for key in "jjk":
        page.keyboard.press(key)
    assert focused(page, ".row[aria-rowindex='3']")
    page.keyboard.press("Enter")
    assert page.locator(".panel h3 .id").inner_text() == "q002"
    page.keyboard.press("j")
    assert page.locator(".panel h3 .id").inner_text() == "q003"
    page.get_by_label("Find").fill("")
    page.get_by_label("Find").press("j")
    assert page.get_by_label("Find").input_value() == "j"


def test_a_row_opens_its_rankings_side_by_side(kitchen: str, look: Look) -> None:
    page = look(kitchen)
    page.get_by_text("blinking E1 on Tarn mixer").click()
    panel = page.get_by_role("region", name="Open query")
    assert panel.get_by_role("heading", level=3).inner_text() == "q003 blinking E1 on Tarn mixer"
    assert panel.locator(".ranking h4 bdi").all_inner_texts() == ["hybrid", "static", "bm25"]
    assert panel.locator(".ranking:first-child ol .document").count() == 10
    grades = panel.locator(".ranking ol .grade").all_text_contents()
    assert set(grades) <= {"grade 0", "grade 1", "grade 2", "grade 3", "unjudged"}
    assert "grade 3" in grades
    assert panel.locator(".ranking:last-child .shift").count() == 0
    assert panel.locator(".ranking:first-child .shift").count() == 10
    assert "Tarn" in panel.locator("mark").all_inner_texts()
    assert page.locator(".row[aria-selected=true] .id").inner_text() == "q003"


def test_a_relevant_document_below_the_top_is_listed_with_its_rank(kitchen: str, look: Look) -> None:
    page = look(kitchen + "#queries?query=q001")
    missed = page.locator(".ranking:first-child .missed")
    assert missed.count() == 2
    assert all(re.search(r"grade [123].*(rank \d+|not retrieved)", text) for text in missed.all_text_contents())


def test_a_document_under_the_mouse_is_highlighted_in_the_other_rankings(kitchen: str, look: Look) -> None:
    page = look(kitchen + "#queries?query=q003")
    document = page.locator(".ranking:first-child .document").first
    document.hover()
    lit = page.locator(".document.alike")
    assert lit.count() > 1
    assert set(lit.locator(".name").all_inner_texts()) == {document.locator(".name").inner_text()}


def test_a_link_opens_the_same_view(kitchen: str, look: Look) -> None:
    page = look(kitchen)
    page.get_by_label("Measure").select_option(label="AP")
    page.get_by_label("System A").select_option("static")
    page.get_by_label("Segment").select_option(label="technique")
    page.get_by_label("Find").fill("a")
    head(page, "A − B").get_by_role("button").click()
    page.locator(FIRST_ROW).click()
    again = look(page.url)
    for shown in (ids, count, lambda one: one.locator(".panel h3").inner_text()):
        assert shown(again) == shown(page)
    assert again.get_by_label("Measure").evaluate("node => node.selectedOptions[0].label") == "AP"
    assert head(again, "A − B").get_attribute("aria-sort") == "descending"


def test_the_back_button_undoes_step_by_step(kitchen: str, look: Look) -> None:
    page = look(kitchen)
    head(page, "bm25").get_by_role("button").click()
    page.locator(FIRST_ROW).click()
    assert page.locator(".panel").is_visible()
    page.go_back()
    page.locator(".panel").wait_for(state="hidden")
    assert head(page, "bm25").get_attribute("aria-sort") == "ascending"
    page.go_back()
    page.locator(".head [aria-sort=ascending]").wait_for(state="detached")
    page.go_forward()
    page.locator(".head [aria-sort=ascending]").wait_for()


def test_a_link_to_the_section_leaves_the_table_unchanged(kitchen: str, look: Look) -> None:
    page = look(kitchen)
    page.get_by_label("Find").fill("pressure cooker")
    page.get_by_role("link", name="Every query").click()
    assert page.url.endswith("#queries")
    assert count(page) == "4 of 124 queries"


def test_a_query_without_a_relevant_document_sorts_last(kitchen: str, look: Look) -> None:
    page = look(kitchen + "#queries?a=bm25&sort=first&down=1")
    assert set(page.locator(".row .cell.first").all_text_contents()[:3]) == {"–not found"}
    ordered = page.evaluate(
        "() => { const { model, view } = rankproof.explorer; return model.rows(view()).map((at) => model.data.first[0][at]); }"
    )
    ranks = [rank or 10**6 for rank in ordered]
    assert ranks == sorted(ranks, reverse=True)
    assert ranks[0] == 10**6 > ranks[-1]


@pytest.mark.parametrize(
    "said",
    [
        "measure=nope&a=nope&b=__proto__&system=constructor&sort=toString&of=x&down=maybe&query=nope",
        "field=category&segment=nope&only=toString&unjudged=yes",
        "query=%E0%A4%A&text=%",
        "?&&==&query",
        "query=" + quote("<img src=x onerror=window.harmed=1>") + "&measure=" + quote("<script>window.harmed=1</script>"),
    ],
)
def test_invalid_parameters_of_the_address_are_ignored(kitchen: str, look: Look, said: str) -> None:
    page = look(f"{kitchen}#queries?{said}")
    assert re.fullmatch(r"\d+ of 124 queries", count(page))
    assert page.locator(".panel").is_hidden()
    assert page.evaluate("window.harmed") is None
    page.get_by_role("button", name="Reset").click()
    assert ids(page)[0] == "q001"


def test_the_page_works_with_the_keyboard_alone(kitchen: str, look: Look) -> None:
    page = look(kitchen)
    tab_to(page, ".explorer .row")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert focused(page, ".row[aria-rowindex='4']")
    page.keyboard.press("Enter")
    assert focused(page, ".panel h3")
    tab_to(page, ".document")
    page.keyboard.press("ArrowDown")
    assert focused(page, ".ranking:first-child .document:nth-child(2)")
    page.keyboard.press("ArrowRight")
    assert focused(page, ".ranking:nth-child(2) .document:nth-child(2)")
    assert page.locator(".document.alike").count() >= 1
    page.keyboard.press("Escape")
    assert page.locator(".panel").is_hidden()
    assert focused(page, ".row[aria-rowindex='4']")


def test_the_next_query_is_the_next_of_the_rows_as_they_are_sorted(kitchen: str, look: Look) -> None:
    page = look(kitchen)
    page.get_by_role("button", name="Largest difference").click()
    first, second = ids(page)[:2]
    page.locator(FIRST_ROW).click()
    assert page.get_by_role("button", name="Previous").is_disabled()
    page.get_by_role("button", name="Next").click()
    assert page.locator(".panel h3 .id").inner_text() == second != first


def test_ten_thousand_queries_of_ten_systems_keep_few_rows_in_the_page(look: Look, many: str) -> None:
    page = look(many)
    assert page.get_by_role("grid").get_attribute("aria-rowcount") == "10001"
    assert page.locator(".explorer .row").count() < 50
    page.locator(".explorer .grid").evaluate("node => { node.scrollTop = node.scrollHeight; }")
    page.locator(".row[aria-rowindex='10001']").wait_for()
    assert page.locator(".row[aria-rowindex='10001'] .id").inner_text() == "q09999"
    assert page.locator(".explorer .row").count() < 50
    page.get_by_role("button", name="Largest spread").click()
    assert page.locator(".explorer .row").count() < 50


def test_the_keys_of_the_table_reach_both_ends(look: Look, many: str) -> None:
    page = look(many)
    page.locator(FIRST_ROW).focus()
    page.keyboard.press("End")
    assert focused(page, ".row[aria-rowindex='10001']")
    page.keyboard.press("PageUp")
    assert page.evaluate("Number(document.activeElement.getAttribute('aria-rowindex'))") in range(9_980, 10_000)
    page.keyboard.press("Home")
    assert focused(page, FIRST_ROW)
    page.keyboard.press("PageDown")
    assert page.evaluate("Number(document.activeElement.getAttribute('aria-rowindex'))") > 5
    rows = [int(row.get_attribute("aria-rowindex")) for row in page.locator(".explorer .row").all()]
    assert rows == sorted(rows)


COUNTED = """() => {
  const { data } = rankproof.explorer.model;
  const details = rankproof.details();
  const found = [];
  data.systems.forEach((_, system) => data.measures.forEach((measure, at) => data.queries.ids.forEach((_, query) => {
    const counted = rankproof.measures.counted(measure, details.ranked(system, query));
    found.push([measure.name, data.values[system][at][query], counted ? counted.value : null]);
  })));
  return found;
}"""


def test_the_page_computes_every_value_of_the_sample_as_in_the_result(kitchen: str, look: Look) -> None:
    counted = look(kitchen).evaluate(COUNTED)
    explained = [(name, known, value) for name, known, value in counted if value is not None]
    assert len({name for name, _, _ in explained}) == len(EXPLAINED)
    assert len(explained) == len(EXPLAINED) * 3 * 124
    assert [row for row in explained if abs(row[1] - row[2]) > 1e-4] == []


def test_the_explanation_adds_up_to_the_value_of_the_row(kitchen: str, look: Look) -> None:
    page = look(kitchen + "#queries?query=q003")
    shown = page.locator(".explained[open] .sum").inner_text()
    value = page.locator(".explained[open] summary .number").inner_text()
    assert re.fullmatch(rf"nDCG@10 = .* / .* \(the DCG of the ideal ranking\) = {re.escape(value)}", shown)
    assert page.locator(".explained .warning").count() == 0
    page.get_by_label("Measure").select_option(label="ERR@10")
    assert "rankproof explain RESULTS --system=hybrid -m ERR@10 --query=q003" in page.locator(".panel").inner_text()


def test_a_query_whose_id_looks_like_an_option_is_in_the_command(look: Look, tmp_path: Path) -> None:
    results = small_results(("-a", "b"), ("-q", "it's"), measures=["ERR@10"])
    page = look(written(page_alone(results), tmp_path) + "#queries?query=-q&a=-a")
    assert "--system=-a -m ERR@10 --query=-q" in page.locator(".explained code").first.inner_text()
    page.get_by_role("button", name="Next").click()
    assert "--query='it'\\''s'" in page.locator(".explained code").first.inner_text()


def test_only_the_title_is_shown_as_title(look: Look, tmp_path: Path) -> None:
    snippets = {"d1": "Salt · pepper · both are", "d2": "no title · but a dot", "d3": "\U0001f9c2 · salt", "d4": "alone"}
    results = small_results(("one",), ("q1",))
    results = replace(results, snippets=snippets, titles={"d1": len("Salt · pepper"), "d3": 1, "d4": 5})
    page = look(written(page_alone(results), tmp_path) + "#queries?query=q1")
    shown = {one.locator(".name").inner_text(): one.locator(".snippet") for one in page.locator("ol .document").all()}
    heads = {doc: snippet.locator("strong").all_text_contents() for doc, snippet in shown.items()}
    assert heads == {"d1": ["Salt · pepper"], "d2": [], "d3": ["\U0001f9c2"], "d4": ["alone"]}
    rests = {doc: snippet.locator("span").text_content() for doc, snippet in shown.items()}
    assert rests == {"d1": "both are", "d2": "no title · but a dot", "d3": "salt", "d4": ""}


def test_a_document_shows_its_fields_and_its_link(look: Look, tmp_path: Path) -> None:
    fields = {"d1": {"category": "tea", "notes": "<img src=x onerror='window.harmed=1'>"}, "d2": {"category": "pans"}}
    results = replace(small_results(("one",), ("q1",)), document_fields=fields, urls={"d1": "https://shop.example/1"})
    page = look(written(page_alone(results), tmp_path) + "#queries?query=q1")
    shown = {one.locator(".name").inner_text(): one.locator(".fields span") for one in page.locator("ol .document").all()}
    texts = {doc: spans.all_inner_texts() for doc, spans in shown.items()}
    assert texts["d1"] == ["category: tea", "notes: <img src=x onerror='window.harmed=1'>"]
    assert (texts["d2"], texts["d3"]) == (["category: pans"], [])
    assert page.locator("#queries .address a").get_attribute("href") == "https://shop.example/1"


def test_answers_are_shown_with_citations_and_references(look: Look, strange: str) -> None:
    page = look(strange + "#queries?query=constructor")
    assert page.locator(".answer").count() == 3
    assert page.locator(".answer blockquote").first.inner_text() == "constructor"
    assert page.locator(".answer .cited .name").first.inner_text() == "constructor"


def test_the_sample_shows_the_reference_answer(kitchen: str, look: Look) -> None:
    page = look(kitchen + "#queries?query=q002")
    assert page.locator(".references").inner_text() == "No suitable pan was found."


def test_hostile_strings_are_text_everywhere(look: Look, strange: str) -> None:
    page = look(strange)
    page.get_by_text("Systems shown").click()
    for query in STRINGS:
        page.evaluate("hash => { window.location.hash = hash; }", f"#queries?query={quote(query)}")
        page.wait_for_function(
            "query => rankproof.explorer.model.data.queries.ids[rankproof.explorer.view().query] === query", arg=query
        )
        assert page.locator(".panel .document").count() > 0
    assert page.evaluate("window.harmed") is None
    assert page.locator("#queries > :not(.waterfall)").locator("script, img, iframe, svg, style, math, b, a").count() == 0
    shown = str(page.locator("#queries").inner_text())
    assert not set("\x1b\u202e\u2066\u200b\ufeff\u2028") & set(shown)
    texts = page.locator("#queries").evaluate("node => node.textContent")
    assert "a\\u202edesrever\\u202c" in texts
    assert "\\x1b[31mred" in texts
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280


def test_the_table_has_the_attributes_for_screen_readers(kitchen: str, look: Look) -> None:
    page = look(kitchen)
    grid = page.get_by_role("grid", name="Every query")
    assert grid.get_attribute("aria-rowcount") == "125"
    assert int(grid.get_attribute("aria-colcount")) == page.get_by_role("columnheader").count() == 8
    row = page.locator(FIRST_ROW)
    assert [cell.get_attribute("aria-colindex") for cell in row.get_by_role("gridcell").all()] == list("12345678")
    assert page.locator(".explorer .row[tabindex='0']").count() == 1
    page.get_by_label("Find").fill("no such words")
    assert grid.get_attribute("aria-rowcount") == "1"
    assert count(page) == "0 of 124 queries"


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
def test_there_is_no_serious_accessibility_fault(kitchen: str, look: Look, width: int, dark: bool) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page = look(kitchen + "#queries?query=q003&sort=gap&down=1", width=width, dark=dark)
    found = axe.run(page).response["violations"]
    serious = [(one["id"], [node["html"] for node in one["nodes"]]) for one in found if one["impact"] in ("serious", "critical")]
    assert serious == []


def test_a_phone_shows_cards_without_overflow(kitchen: str, look: Look) -> None:
    page = look(kitchen + "#queries?query=q003", width=390)
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    assert page.locator(f"{FIRST_ROW} .cell.other").first.is_hidden()
    assert page.locator(".row .cell.difference").first.is_visible()
    boxes = [row.bounding_box() for row in page.locator(".explorer .row").all()]
    tops = sorted(box["y"] for box in boxes)
    assert min(below - above for above, below in pairwise(tops)) >= min(box["height"] for box in boxes)


def test_the_page_defines_one_global_name(kitchen: str, look: Look, tmp_path: Path) -> None:
    (tmp_path / "empty.html").write_text("<!DOCTYPE html><title>empty</title>", encoding="utf-8")
    names = "Object.getOwnPropertyNames(window)"
    added = set(look(kitchen).evaluate(names)) - set(look((tmp_path / "empty.html").as_uri()).evaluate(names))
    assert added == {"rankproof"}
