"""Answers with their claims, in a real browser: marked by verdict, with the evidence beside them, by keyboard and in print."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from rankproof._data.answers import Answer, Answers
from rankproof._data.claims import Claim, ClaimVerdict
from rankproof._report.page import render_report
from support.claim_results import JUDGE, claim_results
from support.hostile_strings import STRINGS

from .test_report_page import OPEN_ALL, OVERFLOW, faults_of

pytestmark = pytest.mark.browser

Page = Any
Opened = Callable[..., Page]
FIRST = ".claim-check >> nth=0"
QUERY = "#queries?query=q1"


@pytest.fixture(scope="module")
def text() -> str:
    return render_report(claim_results())


def test_each_verdict_has_its_sign_its_line_and_its_word(opened: Opened, text: str) -> None:
    page = opened(text, QUERY)
    marks = page.locator(FIRST).locator("mark.claim")
    assert marks.locator("sup").all_inner_texts() == ["–1", "✓2", "?3", "✗4"]
    style = (
        "all => all.map(one => [getComputedStyle(one).textDecorationLine, getComputedStyle(one).textDecorationStyle].join(' '))"
    )
    assert marks.evaluate_all(style) == ["none solid", "underline solid", "underline dashed", "underline wavy"]
    words = page.locator(FIRST).locator(".verdict strong").all_inner_texts()
    assert words == ["nothing to check", "supported", "not stated", "contradicted"]
    assert len(set(marks.evaluate_all("all => all.map(one => getComputedStyle(one).backgroundColor)"))) == 4


def test_a_claim_is_exactly_its_sentence_and_the_rest_of_the_answer_stays(opened: Opened, text: str) -> None:
    page = opened(text, QUERY)
    plain = "one => { one.querySelectorAll('sup, .spoken').forEach(each => each.remove()); return one.textContent; }"
    assert page.locator(FIRST).locator("blockquote.claims").evaluate(plain) == (
        "Sure! Oslo is the capital. It has a metro. It is in Sweden."
    )


def test_the_evidence_names_its_context_and_sentence_and_shows_its_text(opened: Opened, text: str) -> None:
    page = opened(text, QUERY)
    evidence = page.locator(FIRST).locator(".verdict.contradicted li").all_inner_texts()
    assert evidence == [
        "context 1 (c1), sentence 1: Oslo is the capital of Norway.",
        "context 2 (c2), sentence 1: Norway has many fjords.",
    ]
    summaries = page.locator(".answer >> nth=0").locator(".claim-check > summary").all_inner_texts()
    assert summaries == [
        f"Answer checked against its contexts: 1 of 3 claims supported, by {JUDGE}",
        f"Reference checked against the contexts: 2 of 2 claims supported, by {JUDGE}",
    ]


def test_a_failed_verdict_says_why_and_is_no_supported_claim(opened: Opened, text: str) -> None:
    page = opened(text, "#queries?query=q2")
    failed = page.locator(".answer >> nth=1")
    assert failed.locator(".verdict.failed").inner_text().split("\n\n") == ["1 ! failed", "no reply in 3 attempts"]
    assert failed.locator("summary").first.inner_text() == f"Answer checked against its contexts: 1 verdict failed, by {JUDGE}"


@pytest.mark.parametrize(("width", "is_beside"), [(1280, True), (400, False)])
def test_the_evidence_is_beside_the_answer_and_below_it_on_a_phone(
    opened: Opened, text: str, width: int, is_beside: bool
) -> None:
    page = opened(text, QUERY, viewport={"width": width, "height": 900})
    answer, verdicts = (page.locator(FIRST).locator(part).bounding_box() for part in (".claims", ".verdicts"))
    assert (verdicts["x"] >= answer["x"] + answer["width"]) == is_beside
    assert (verdicts["y"] >= answer["y"] + answer["height"]) == (not is_beside)
    assert page.evaluate(OVERFLOW) <= 0


def test_arrow_keys_move_between_claims_and_mark_the_verdict_of_each(opened: Opened, text: str) -> None:
    page = opened(text, QUERY)
    marks = page.locator(FIRST).locator("mark.claim")
    assert marks.evaluate_all("all => all.map(one => one.tabIndex)") == [0, -1, -1, -1]
    marks.first.focus()
    for number in (2, 3, 4, 4):
        page.keyboard.press("ArrowRight")
        assert page.evaluate("document.activeElement.querySelector('sup').textContent").endswith(str(number))
        assert page.locator(".verdict.together .of").all_inner_texts() == [str(number)]
    page.keyboard.press("ArrowLeft")
    assert page.locator(".verdict.together .of").all_inner_texts() == ["3"]
    page.keyboard.press("Escape")
    assert not page.locator(".panel").is_visible()


def test_claims_are_printed_open_with_their_colours(opened: Opened, text: str) -> None:
    page = opened(text, QUERY, color_scheme="dark")
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 690, "height": 1000})
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator(".claim-check .verdicts").count() == 4
    assert all(page.locator(".claim-check .verdicts").nth(at).is_visible() for at in range(4))
    ground = "one => [getComputedStyle(one).backgroundColor, getComputedStyle(one).printColorAdjust]"
    assert page.locator("mark.claim.supported").first.evaluate(ground) == ["rgb(224, 243, 236)", "exact"]
    assert page.evaluate(OVERFLOW) <= 0


@pytest.mark.parametrize(
    "options", [{"color_scheme": "light"}, {"color_scheme": "dark", "viewport": {"width": 400, "height": 844}}]
)
def test_claims_have_no_accessibility_fault(opened: Opened, text: str, options: dict[str, Any]) -> None:
    page = opened(text, QUERY, **options)
    page.eval_on_selector_all("details", OPEN_ALL)
    assert faults_of(page) == []


def test_answers_without_rankings_have_a_table_of_queries_and_no_columns_of_rankings(opened: Opened, text: str) -> None:
    page = opened(text)
    heads = page.locator(".explorer .head .cell").all_inner_texts()
    assert heads == ["query", "shortA", "openB", "A − B\n: short minus open", "text"]
    assert page.locator(".explorer .row").count() == 4
    assert page.get_by_text("unjudged documents").count() == 0
    assert page.locator("#rankings").count() == 0
    page.locator(".explorer .row").first.click()
    assert page.locator(".explorer .board").count() == 0


def test_hostile_claims_evidence_and_labels_stay_text(opened: Opened) -> None:
    answers = Answers({"q1": Answer("\n".join(STRINGS), STRINGS[:3], tuple(STRINGS))})
    claims = tuple(
        ClaimVerdict("q1", "open", Claim("answer", n, each), "contexts", "failed", each, ((n, 1),), reason=each, shown=(n,))
        for n, each in enumerate(STRINGS, start=1)
    )
    results = claim_results({"open": answers}, claims=claims, contexts={each: each for each in STRINGS})
    page = opened(results, QUERY)
    page.eval_on_selector_all("details", OPEN_ALL)
    assert page.locator(".verdict").count() == len(STRINGS)
    shown = page.locator(".verdict .said").all_inner_texts()
    assert STRINGS[0] in shown
    assert page.evaluate(OVERFLOW) <= 0
    assert page.evaluate("window.harmed") is None
