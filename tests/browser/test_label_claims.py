"""Labelling claims in a real browser: by keyboard alone, on a phone, with hostile texts, and without losing a label."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rankproof._results.experiment_result import ExperimentResult
from rankproof._server.labelling import LabelOptions
from support.claims_to_label import claim_results, with_claims
from support.hostile_strings import STRINGS
from support.results_server import Visitor, data_of, saved, serving

from .conftest import PHONE
from .test_report_page import OVERFLOW, faults_of

playwright = pytest.importorskip("playwright.sync_api")
pytestmark = pytest.mark.browser
NewPage = Callable[..., Any]
LABELS = ("supported", "contradicted", "not_stated", "nothing_to_check")


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Visitor]:
    with serving([saved(tmp_path / "results", answer_claims())], labels=LabelOptions("ann", questions=1)) as visitor:
        yield visitor


def answer_claims() -> ExperimentResult:
    """Results with five claims of each question."""
    results = claim_results()
    return with_claims(results, [verdict for verdict in results.claims if verdict.claim.side == "answer"])


def progress(done: int) -> str:
    left = f"{5 - done} claim{'' if done == 4 else 's'} left"
    return f"Question 1 of 1 complete; you can stop. {left}" if done == 5 else f"Question 1 of 1: {done} of 5. {left}"


@pytest.fixture
def people(tmp_path: Path) -> Path:
    return tmp_path / "results.people.jsonl"


@pytest.fixture
def page(new_page: NewPage, served: Visitor) -> Any:
    return opened(new_page(), served)


def opened(page: Any, served: Visitor) -> Any:
    page.goto(served.url)
    page.goto(f"http://{served.host}/r/1/label")
    page.wait_for_selector("#claim:not([hidden])")
    playwright.expect(page.locator("#grades button[aria-disabled]")).to_have_count(0)
    return page


def press(page: Any, key: str, said: str) -> None:
    """Presses the key, waits until the page says so, and until the next claim is there."""
    page.keyboard.press(key)
    playwright.expect(page.locator("#status")).to_have_text(re.compile(re.escape(said)))
    playwright.expect(page.locator("#grades button[aria-disabled]")).to_have_count(0)


def shown(page: Any) -> str:
    """The claim and what it is checked against."""
    return f"{page.inner_text('#text mark')} {page.inner_text('#asked')} {page.inner_text('#sources')}"


def labels_in(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_five_claims_are_labelled_by_keyboard_alone_from_the_list(page: Any, served: Visitor, people: Path) -> None:
    page.goto(f"http://{served.host}/")
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent") == "Label claims":
            break
    with page.expect_navigation():
        page.keyboard.press("Enter")
    page.wait_for_selector("#claim:not([hidden])")
    assert page.inner_text("#count") == progress(0)
    assert "secret" not in page.content()
    seen = []
    for at, name in enumerate(("Supported", "Contradicted", "Not stated", "Nothing to check", "Supported")):
        seen.append(shown(page))
        press(page, str(at % 4 + 1), f"Saved: {name.lower()}.")
        playwright.expect(page.locator("#count")).to_have_text(progress(at + 1))
    assert len(set(seen)) == 5
    assert page.locator("#done").is_visible()
    assert page.evaluate("document.activeElement.id") == "done"
    assert f"--labels {people}" in page.inner_text(".command")
    by_claim = dict.fromkeys(
        (line["query"], line["side"], line["n"], line["against"], line["label"]) for line in labels_in(people)
    )
    assert [label for *_, label in by_claim] == [*LABELS, "supported"]


def test_sentences_are_marked_by_keys_and_by_click_and_saved_as_evidence(page: Any, people: Path) -> None:
    focused = "document.activeElement.dataset.at"
    for key, at in (("j", "1.1"), ("j", "1.2"), ("k", "1.1"), ("k", "1.1"), ("ArrowDown", "1.2")):
        page.keyboard.press(key)
        assert page.evaluate(focused) == at
    page.keyboard.press("x")
    page.keyboard.press("k")
    page.keyboard.press(" ")
    page.keyboard.press(" ")
    page.keyboard.press("End")
    last = page.evaluate(focused)
    page.click(f"[data-at='{last}']")
    assert page.locator("[role=option][aria-selected=true]").count() == 2
    assert page.evaluate("document.querySelectorAll('[role=option][tabindex=\"0\"]').length") == 1
    press(page, "2", "Saved: contradicted, with 2 sentences.")
    assert labels_in(people)[0]["evidence"] == [[1, 2], [int(part) for part in last.split(".")]]
    page.keyboard.press("j")
    page.keyboard.press("x")
    press(page, "3", "Saved: not stated.")
    assert "evidence" not in labels_in(people)[-1]


def test_back_shows_the_own_label_which_another_replaces_and_undo_restores(page: Any, people: Path) -> None:
    assert page.locator("#back").is_disabled()
    assert page.locator("#undo").is_disabled()
    first = shown(page)
    page.keyboard.press("j")
    page.keyboard.press("x")
    press(page, "1", "Saved: supported")
    second = shown(page)
    press(page, "b", "Back: your label is supported.")
    assert shown(page) == first
    assert page.locator("[aria-pressed=true]").get_attribute("data-label") == "supported"
    assert page.locator("[aria-selected=true]").get_attribute("data-at") == "1.1"
    press(page, "4", "Saved: nothing to check.")
    assert (shown(page), labels_in(people)[0]["label"]) == (second, "nothing_to_check")
    press(page, "u", "Undone: the claim is supported again.")
    assert (shown(page), labels_in(people)[0]["evidence"]) == (first, [[1, 1]])
    press(page, "u", "Undone: the claim has no label.")
    assert (shown(page), people.read_text()) == (first, "")
    assert page.locator("#undo").is_disabled()


def test_a_skipped_claim_comes_last_and_a_reload_continues(page: Any, people: Path) -> None:
    first = shown(page)
    press(page, "s", "Skipped: the claim comes last.")
    for _ in range(4):
        assert shown(page) != first
        press(page, "3", "Saved")
    assert shown(page) == first
    page.reload()
    page.wait_for_selector("#claim:not([hidden])")
    assert (page.inner_text("#count"), shown(page)) == (progress(4), first)
    press(page, "u", "Undone: the claim has no label.")
    playwright.expect(page.locator("#count")).to_have_text(progress(3))


def test_a_held_key_labels_one_claim_and_keys_can_be_turned_off(page: Any) -> None:
    for _ in range(3):
        page.keyboard.down("3")
    playwright.expect(page.locator("#status")).to_have_text("Saved: not stated.")
    page.keyboard.up("3")
    page.uncheck("#keys")
    for key in ("1", "s", "b", "u", "j"):
        page.keyboard.press(key)
    page.click("[data-label='supported']")
    playwright.expect(page.locator("#status")).to_have_text("Saved: supported.")
    assert page.inner_text("#count") == progress(2)


def test_a_label_that_is_not_saved_is_told_and_the_claim_stays(page: Any, watched: Any, people: Path) -> None:
    before = shown(page)
    page.keyboard.press("j")
    page.keyboard.press("x")
    page.route("**/label", lambda route: route.abort())
    page.keyboard.press("1")
    playwright.expect(page.locator("#error")).to_have_text("Not saved: the server does not respond")
    assert (shown(page), people.exists()) == (before, False)
    page.unroute("**/label")
    press(page, "1", "Saved: supported, with 1 sentence.")
    assert page.locator("#error").is_hidden()
    page.route("**/claim/*", lambda route: route.abort())
    page.keyboard.press("1")
    playwright.expect(page.locator("#error")).to_have_text("Not loaded: the server does not respond")
    assert len({line["text"] for line in labels_in(people)}) >= 1
    page.unroute("**/claim/*")
    page.reload()
    playwright.expect(page.locator("#count")).to_have_text(progress(2))
    watched.said = [line for line in watched.said if "net::ERR_FAILED" not in line]


def test_a_second_person_sees_the_same_claims_and_no_label_of_the_first(page: Any, served: Visitor, tmp_path: Path) -> None:
    order = data_of(served.enter(), "/r/1/label")["claims"]
    press(page, "1", "Saved")
    other = tmp_path / "other"
    with serving([saved(other / "results", answer_claims())], labels=LabelOptions("bob", questions=1)) as visitor:
        found = data_of(visitor.enter(), "/r/1/label")
    assert (found["claims"], found["labels"]) == (order, {})


@pytest.mark.parametrize("colours", ["light", "dark"])
@pytest.mark.parametrize("path", ["/", "/r/1/label"])
def test_everybody_can_use_the_page_and_it_fits_a_phone(new_page: NewPage, served: Visitor, colours: str, path: str) -> None:
    page = opened(new_page(viewport=PHONE, color_scheme=colours), served)
    page.evaluate("parts.count.textContent = 'Question 17 of 30 complete; you can stop. 5,115 claims left'")
    page.keyboard.press("j")
    page.keyboard.press("x")
    if path == "/":
        press(page, "1", "Saved")
        press(page, "b", "Back")
        assert faults_of(page) == []
        page.goto(f"http://{served.host}/")
    assert page.evaluate(OVERFLOW) == 0
    assert faults_of(page) == []


def test_labels_stay_in_reach_on_a_phone_and_never_cover_a_focused_sentence(new_page: NewPage, tmp_path: Path) -> None:
    contexts = {f"c{at}": "One sentence of many that fill the page. " * 12 for at in range(5)}
    results = saved(tmp_path / "results", claim_results(["q1"], contexts=contexts))
    with serving([results]) as visitor:
        page = opened(new_page(viewport=PHONE), visitor)
        while page.locator("[role=option]").count() < 60:
            page.keyboard.press("s")
            page.wait_for_timeout(100)
        for _ in range(30):
            page.keyboard.press("j")
        top = page.locator("#grades").bounding_box()["y"]
        assert top < PHONE["height"] - 60
        box = page.evaluate("document.activeElement.getBoundingClientRect().bottom")
        assert box <= top


def test_a_claim_of_a_long_answer_is_in_sight(new_page: NewPage, tmp_path: Path) -> None:
    long = "This sentence is one of many in a long answer. " * 60
    results = claim_results(["q1"], answers=(f"{long}The end is near. {long}", "Yes."), contexts={"c1": "The end is near."})
    claims = [one for one in results.claims if one.claim.text == "The end is near."]
    with serving([saved(tmp_path / "results", with_claims(results, claims))]) as visitor:
        page = opened(new_page(), visitor)
        inside, mark = (page.locator(name).bounding_box() for name in ("#text", "#text mark"))
        assert inside["height"] < 300
        assert inside["y"] < mark["y"] < mark["y"] + mark["height"] < inside["y"] + inside["height"]
        assert faults_of(page) == []


def test_a_text_from_right_to_left_is_written_so(new_page: NewPage, tmp_path: Path) -> None:
    text = "تدوم البطاريات 14 ساعة."
    results = claim_results(["q1"], question=text, answers=(text, text), reference=text, contexts={"c1": text})
    with serving([saved(tmp_path / "results", results)]) as visitor:
        page = opened(new_page(), visitor)
        direction = "all => all.map(one => getComputedStyle(one).direction)"
        assert set(page.eval_on_selector_all("#question, #text, .words", direction)) == {"rtl"}


def test_nothing_hostile_runs_and_hostile_texts_stay_texts(new_page: NewPage, tmp_path: Path) -> None:
    text = " ".join(STRINGS).replace("\0", "")
    results = claim_results(["q1"], question=text, answers=(text, text), reference=text, contexts={"c": text})
    with serving([], given={str(tmp_path / "results"): results}) as visitor:
        page = opened(new_page(), visitor)
        for _ in range(10):
            press(page, "s", "Skipped")
        assert page.locator("main img, main svg, main iframe, main form, main style, main script").count() == 0
        assert page.evaluate(OVERFLOW) == 0
        press(page, "1", "Saved")
