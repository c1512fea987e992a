"""Two people judge in two browsers at the same time, differ, and one adjudicates; all by keyboard."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import rankproof as rp
from support.results_server import Visitor, judged_in, saved, serving

from .conftest import PHONE
from .test_report_page import OVERFLOW, faults_of
from .test_serve import FOCUSED, NewPage, press, shown

playwright = pytest.importorskip("playwright.sync_api")
pytestmark = pytest.mark.browser
SCRIPT = "<script>window.harmed = 1</script><img src=x onerror='window.harmed = 1'>"
GRADES = {"ann": (3, 2, 1, 0, 2, 0), "bob": (0, 2, 1, 1, 2, 0)}


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Visitor]:
    with serving([saved(tmp_path / "old")], judge=tmp_path / "my.qrels", assessors=("ann", "bob", "eve")) as visitor:
        yield visitor


def tab_to(page: Any, words: str) -> None:
    """Moves the focus to what has these words."""
    for _ in range(60):
        page.keyboard.press("Tab")
        if words in page.evaluate(FOCUSED):
            return
    pytest.fail(f"no {words} by the tabulator")


def enter(new_page: NewPage, served: Visitor, name: str, **options: Any) -> Any:
    """A browser of its own, which chooses the name by keyboard."""
    page = new_page(**options)
    page.goto(served.url)
    page.goto(f"http://{served.host}/r/1/judge")
    assert page.inner_text("h1").startswith("Who judges")
    tab_to(page, name)
    with page.expect_navigation():
        page.keyboard.press("Enter")
    assert f"assessor {name}" in page.inner_text("header")
    return page


def judge(page: Any, grade: int, note: str = "") -> tuple[str, str]:
    pair = shown(page)
    if note:
        page.keyboard.press("n")
        page.keyboard.type(note)
        page.keyboard.press("Escape")
    press(page, str(grade), f"Saved: grade {grade} for {pair[1]}, query {pair[0]}.")
    return pair


def test_two_people_judge_differ_and_adjudicate(new_page: NewPage, served: Visitor, tmp_path: Path) -> None:
    ann, bob = enter(new_page, served, "ann"), enter(new_page, served, "bob")
    pairs = []
    for at, (one, other) in enumerate(zip(*GRADES.values(), strict=True)):
        note = SCRIPT if at == 0 else ""
        assert shown(ann) == shown(bob)
        assert [page.inner_text("#count") for page in (ann, bob)] == [f"{at} of 6 judged"] * 2
        pairs.append(judge(ann, one, note))
        assert SCRIPT not in bob.content()
        judge(bob, other)
        assert ann.input_value("#note") == ""
    for page in (ann, bob):
        playwright.expect(page.locator("#done")).to_be_visible()
    bob.keyboard.press("a")
    bob.wait_for_url("**/agreement")
    check_agreement(bob, tmp_path)
    cards = bob.locator(".disputed")
    assert [card.locator("code").all_inner_texts() for card in cards.all()] == [list(pairs[0]), list(pairs[3])]
    said = cards.first.locator(".judgements li").all_inner_texts()
    assert re.match(r"ann gave grade 3 at 20\d\d-\d\d-\d\d \d\d:\d\d:\d\d UTC: ", said[0])
    assert SCRIPT in said[0]
    assert said[1].startswith("bob gave grade 0 at")
    adjudicate(bob, tmp_path, pairs)


def check_agreement(page: Any, tmp_path: Path) -> None:
    """The figures on the page are those of the function on the same file."""
    found = rp.agreement(str(tmp_path / "my.qrels"))
    assert page.inner_text(".lead").replace("\u00a0", " ") == found.sentences[0]
    alpha = found.records()[0]["value"]
    row = page.locator("table tbody tr").first
    assert row.locator("td, th").all_inner_texts()[:2] == ["Krippendorff's alpha, ordinal", f"{alpha:.4f}"]
    kappa = found.records("agreement-pairs")[0]["quadratic"]
    assert f"{kappa:.4f}" in page.locator("table").nth(1).inner_text()


def adjudicate(page: Any, tmp_path: Path, pairs: list[tuple[str, str]]) -> None:
    """Bob adjudicates the first pair with a note, undoes it, and adjudicates it again."""
    file, (query, doc) = tmp_path / "my.qrels", pairs[0]
    card = page.locator(".disputed").first
    assert f"{query} human:ann+bob {doc} 0\n" in judged_in(file)
    page.keyboard.press("j")
    page.keyboard.press("n")
    page.keyboard.type(f"half {SCRIPT}")
    page.keyboard.press("Escape")
    press(page, "2", f"Saved: grade 2 counts for {doc}.")
    assert SCRIPT in card.locator(".adjudicated").inner_text()
    assert f"{query} human:bob:adjudicated {doc} 2\n" in judged_in(file)
    press(page, "u", f"Undone: grade 0 counts for {doc}.")
    assert card.locator(".adjudicated").inner_text() == "Not adjudicated: grade 0 counts."
    assert f"{query} human:ann+bob {doc} 0\n" in judged_in(file)
    press(page, "1", f"Saved: grade 1 counts for {doc}.")
    page.reload()
    last = page.locator(".disputed").last
    assert last.locator("code").all_inner_texts() == [query, doc]
    assert last.locator(".adjudicated").inner_text().startswith("Adjudicated: grade 1 by bob at")
    records = [json.loads(line) for line in Path(f"{file}.log.jsonl").read_text().splitlines()[1:]]
    decided = [(one["what"], one["assessor"], one["grade"]) for one in records if "adjudicat" in one["what"]]
    assert decided == [("adjudicated", "bob", 2), ("adjudication undone", "bob", None), ("adjudicated", "bob", 1)]


def test_keys_in_a_note_are_text_and_a_note_stays_with_its_pair(new_page: NewPage, served: Visitor) -> None:
    page = enter(new_page, served, "ann")
    first = shown(page)
    page.keyboard.press("n")
    page.keyboard.type("3 s u d a")
    assert (page.input_value("#note"), shown(page)) == ("3 s u d a", first)
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.id") == "pair"
    press(page, "1", "Saved: grade 1")
    assert page.input_value("#note") == ""
    assert page.get_attribute("#note", "maxlength") == "1000"


def test_a_tab_of_another_person_saves_nothing(new_page: NewPage, served: Visitor, watched: Any, tmp_path: Path) -> None:
    page = enter(new_page, served, "ann")
    other = page.context.new_page()
    other.goto(f"http://{served.host}/r/1/assessor")
    other.click("text=bob")
    other.wait_for_url("**/judge")
    page.keyboard.press("2")
    playwright.expect(page.locator("#error")).to_contain_text("another tab of this browser chose another assessor")
    assert not (tmp_path / "my.qrels").exists()
    watched.said = [line for line in watched.said if "409" not in line]


@pytest.mark.parametrize("path", ["/r/1/assessor", "/r/1/judge", "/r/1/agreement", "/r/1/agreement/all", "/r/1/decision"])
@pytest.mark.parametrize("colours", ["light", "dark"])
def test_everybody_can_use_every_page_of_two_people(new_page: NewPage, served: Visitor, path: str, colours: str) -> None:
    for name, grade in (("ann", 3), ("bob", 1)):
        judge(enter(new_page, served, name), grade, "a note of some words")
    page = enter(new_page, served, "bob", viewport=PHONE, color_scheme=colours)
    page.goto(f"http://{served.host}{path}")
    assert page.evaluate(OVERFLOW) == 0
    assert faults_of(page) == []


def test_an_adjudicator_who_did_not_judge_asks_for_all_pairs(new_page: NewPage, served: Visitor) -> None:
    for name, grade in (("ann", 3), ("bob", 1)):
        judge(enter(new_page, served, name), grade)
    page = enter(new_page, served, "eve")
    page.goto(f"http://{served.host}/r/1/agreement")
    assert page.locator(".disputed").count() == 0
    assert "the grades of the others are hidden" in page.inner_text("#hidden")
    page.click("text=Show all")
    page.locator(".disputed [data-grade='2']").click()
    playwright.expect(page.locator("#status")).to_contain_text("Saved: grade 2 counts")
