"""People in the bench: three documents graded, two people at once, notes, tags, test cases and the copy for a ticket."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rankproof._results.saved_cases import read_cases
from rankproof._server.cases.files import read_notes
from support.hostile_strings import STRINGS
from support.results_server import Visitor, judged_in, many_pairs, saved, serving
from support.small_results import small_results

from .conftest import PHONE, Watched
from .test_report_page import OVERFLOW, faults_of
from .test_serve import NewPage

playwright = pytest.importorskip("playwright.sync_api")
pytestmark = pytest.mark.browser


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Visitor]:
    with serving([saved(tmp_path / "results", many_pairs())], judge=tmp_path / "my.qrels", permissions=["edit"]) as visitor:
        yield visitor


def opened(page: Any, served: Visitor, query: str = "?q=q3") -> Any:
    page.goto(served.url)
    page.goto(f"http://{served.host}/bench{query}")
    page.wait_for_selector(".grade-button")
    return page


def grade(page: Any, doc: str, value: int) -> None:
    page.locator(f".bench-side >> nth=0 >> [data-graded={doc}] [data-grade='{value}']").click()
    playwright.expect(page.locator("#graded")).to_have_text(f"Saved: grade {value} for {doc}.")


def test_a_person_grades_three_documents_of_a_query_and_sees_what_follows(
    new_page: NewPage, served: Visitor, tmp_path: Path
) -> None:
    page = opened(new_page(), served)
    given = (("d1", 3), ("d2", 0), ("d3", 1))
    for doc, value in given:
        grade(page, doc, value)
    pressed = page.locator(".bench-side >> nth=1 >> [data-graded=d1] [aria-pressed=true]")
    assert pressed.inner_text() == "3"
    assert judged_in(tmp_path / "my.qrels") == "".join(
        f"q3 human:ann {doc} {value}\n" for doc, value in (("d1", 3), ("d2", 0), ("d3", 1))
    )
    playwright.expect(page.locator(".query-values")).to_contain_text("With the grades given here: A 0.")
    playwright.expect(page.locator("#judged-here")).to_contain_text("3 grades by ann")
    assert page.locator("#judged-here .plan").count() == 1
    page.reload()
    page.wait_for_selector(".grade-button")
    assert page.locator("[data-graded=d3] [aria-pressed=true]").first.inner_text() == "1"
    page.locator("[data-graded=d3] [data-grade='1']").first.click()
    playwright.expect(page.locator("#graded")).to_have_text("Taken back: the grade of d3.")
    playwright.expect(page.locator("#judged-here")).to_contain_text("2 grades by ann")
    assert "d3" not in judged_in(tmp_path / "my.qrels")


def test_two_people_at_once_keep_their_own_grades(new_page: NewPage, tmp_path: Path) -> None:
    folder = saved(tmp_path / "results", many_pairs())
    with serving([folder], judge=tmp_path / "my.qrels", assessors=("ann", "bob"), permissions=["edit"]) as visitor:
        both = []
        for name in ("ann", "bob"):
            page = new_page()
            page.goto(visitor.url)
            page.goto(f"http://{visitor.host}/bench?q=q3")
            page.click("text=Choose who you are")
            page.click(f"button:has-text('{name}')")
            page.wait_for_url("**/judge")
            both.append(opened(page, visitor))
        ann, bob = both
        grade(ann, "d1", 3)
        bob.reload()
        bob.wait_for_selector(".grade-button")
        assert bob.locator("[data-graded=d1] [aria-pressed=true]").count() == 0
        grade(bob, "d1", 1)
        grade(ann, "d2", 2)
        ann.reload()
        ann.wait_for_selector(".grade-button")
        assert ann.locator("[data-graded=d1] [aria-pressed=true]").first.inner_text() == "3"
    assert judged_in(tmp_path / "my.qrels") == "q3 human:ann+bob d1 1\nq3 human:ann d2 2\n"


def test_a_note_with_tags_groups_queries_and_is_never_overwritten(
    new_page: NewPage, served: Visitor, tmp_path: Path, watched: Watched
) -> None:
    page, other = opened(new_page(), served), opened(new_page(), served)
    page.fill(".query-note textarea", "no word of the query matches")
    page.fill(".query-note input", "Synonym, Typo")
    page.click("text=Save note")
    playwright.expect(page.locator(".query-note")).to_contain_text("Saved.")
    other.fill(".query-note textarea", "mine")
    other.click("text=Save note")
    playwright.expect(other.locator(".query-note")).to_contain_text("ann changed this note in the meantime; reload the page")
    assert [line for line in watched.said if "409 (Conflict)" in line] == watched.said
    watched.said.clear()
    page.reload()
    page.wait_for_selector(".grade-button")
    page.select_option("#group", "tag:synonym")
    playwright.expect(page.locator(".query")).to_have_count(1)
    assert page.input_value(".query-note textarea") == "no word of the query matches"
    (note,) = read_notes(str(tmp_path / "notes.jsonl"))
    assert (note.query, note.tags, note.who) == ("q3", ("synonym", "typo"), "ann")


def test_blind_hides_which_system_is_which_and_the_address_keeps_it(new_page: NewPage, served: Visitor) -> None:
    page = opened(new_page(), served)
    page.check("#blind")
    page.wait_for_url("**blind=1**")
    page.wait_for_selector(".grade-button")
    assert not page.locator(".bench-side select").first.is_visible()
    assert not page.locator(".bench-why").first.is_visible()
    assert page.locator(".bench-side strong:visible, .bench-side .amount:visible").all_inner_texts() in ([], ["", ""])
    texts = [f"q{at}" for at in range(200)]
    swapped = page.evaluate(
        "async (texts) => { const m = await import('/static/bench_grading.js'); return texts.map(m.isSwapped); }", texts
    )
    assert 70 < sum(swapped) < 130
    grade(page, "d1", 2)


def test_the_copy_for_a_ticket_is_markdown_in_which_no_text_is_markup(new_page: NewPage, served: Visitor) -> None:
    page = opened(new_page(), served)
    hostile = [text for text in STRINGS if text.strip()]
    cards = [{"rank": 1, "doc": "d|1", "title": "", "text": text, "grade": None} for text in hostile]
    view = {
        "bench": {"name": "@all", "dataset": "#1", "measure": "nDCG@10"},
        "query": {"id": "q|1"},
        "state": {"t": ""},
        "pair": {
            "text": "[a](javascript:x) <img src=x>",
            "why": ["because *b*"],
            "sides": [{"system": "`s`", "value": 0.5, "cards": cards}] * 2,
        },
    }
    text = page.evaluate(
        "async (view) => (await import('/static/bench_ticket.js')).ticketOf(view, "
        "{ grades: new Map(), values: [0.25, null], note: 'n\\n# h', tags: ['t'], address: 'http://x/bench?q=a b' })",
        view,
    )
    assert text.startswith("**Query:** \\[a\\]\\(javascript\\:x\\) \\<img src=x\\>\n")
    for words in ("results @\u2060all", "nDCG@\u206010 0.250", "nDCG@\u206010 0.500"):
        assert words in text
    rows = [line for line in text.splitlines() if line.startswith("| 1 |")]
    assert len(rows) == 2 * len(hostile)
    assert all(line.replace("\\|", "").count("|") == 5 for line in rows)
    assert "**Note:** n \\# h" in text.replace("\u2060", "")


@pytest.mark.parametrize("colours", ["light", "dark"])
@pytest.mark.parametrize("viewport", [None, PHONE])
def test_everybody_can_grade_in_the_bench(
    new_page: NewPage, served: Visitor, colours: str, viewport: dict[str, int] | None
) -> None:
    options = {} if viewport is None else {"viewport": viewport}
    page = opened(new_page(color_scheme=colours, **options), served)
    playwright.expect(page.locator("#judged-here")).to_contain_text("grades by ann")
    assert page.evaluate(OVERFLOW) == 0
    assert faults_of(page) == []


def test_nothing_hostile_runs_from_notes_and_cases(new_page: NewPage, tmp_path: Path) -> None:
    hostile = [text for text in STRINGS if text.strip() and not any(char in text for char in " \0\t\n\u2028\u2029")]
    results = replace(small_results(docs=hostile[:8], highest=3), name=STRINGS[0])
    with serving([saved(tmp_path / "results", results)], judge=tmp_path / "my.qrels", permissions=["edit"]) as visitor:
        visitor.enter()
        for text in hostile:
            assert visitor.post("/api/r/1/cases/grades", {"text": text, "doc": text, "grade": 1}).status == 200
        visitor.post("/api/r/1/notes", {"query": "q1", "note": "".join(hostile), "tags": [text[:60] for text in hostile[:9]]})
        page = opened(new_page(), visitor, "?q=q1")
        playwright.expect(page.locator(".case-list li")).to_have_count(len(hostile))
        page.locator(".bench-side >> nth=0 >> .grade-button >> nth=1").click()
        playwright.expect(page.locator("#graded")).to_contain_text("Saved: grade 1")
        assert page.locator("main img, main iframe, main style, main .card script, main svg").count() == 0
    assert len(read_cases(tmp_path / "cases.jsonl")) == len(hostile)
