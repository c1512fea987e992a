"""Judging the pool of results without judgements in a real browser, up to the decision, by keyboard alone."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rankproof._formats.read import read_qrels
from rankproof._results.folder import load_results
from rankproof._results.label_tasks import draw_documents, read_label_draw
from rankproof._server.judging_queue import QueueOptions
from support.results_server import data_of, many_pairs, saved, serving, unjudged

from .conftest import PHONE
from .test_report_page import OVERFLOW, faults_of

playwright = pytest.importorskip("playwright.sync_api")
pytestmark = pytest.mark.browser
NewPage = Callable[..., Any]
STOP = "Question 1 of 30 complete; you can stop. 58 grades left"


def test_a_pool_is_judged_and_decided_by_keyboard_alone(new_page: NewPage, tmp_path: Path) -> None:
    results = saved(tmp_path / "results", unjudged(many_pairs(queries=31, docs=2)))
    with serving([results], judge=tmp_path / "my.qrels") as visitor:
        for query, doc, *_ in data_of(visitor.enter())["pairs"][4:]:
            visitor.post("/r/1/judge", {"query": query, "doc": doc, "grade": 3 * (doc == "d0")})
        page = new_page()
        page.goto(visitor.url)
        page.goto(f"http://{visitor.host}/r/1/judge")
        for done in range(59, 63):
            grade = 3 * (page.inner_text("#doc-id") == "d0")
            assert not re.search("one|two", page.inner_text("#pair"))
            page.keyboard.press(str(grade))
            playwright.expect(page.locator("#count")).to_have_text(f"{done} of 62 judged")
            assert not re.search(r"Ranks|\bone\b|\btwo\b", page.inner_text("#status"))
        assert page.locator("#done").is_visible()
        with page.expect_navigation():
            page.keyboard.press("d")
        assert page.inner_text(".lead").startswith("Ship one")
        assert "ann" in page.inner_text("#judges")
    assert sum(map(len, read_qrels(tmp_path / "my.qrels").values())) == 62


def test_the_plan_the_marked_words_and_the_grade_bar_stay_in_view(new_page: NewPage, tmp_path: Path) -> None:
    results = unjudged(many_pairs(queries=60, docs=2))
    numbers = " ".join(map(str, range(60)))
    snippets = {"d0": f"What is {numbers}? {'words ' * 2000}", "d1": f"It is {numbers}."}
    with serving([saved(tmp_path / "results", results, snippets=snippets)], judge=tmp_path / "my.qrels") as visitor:
        pairs = data_of(visitor.enter())["pairs"]
        for query, doc, *_ in pairs[:99]:
            visitor.post("/r/1/judge", {"query": query, "doc": doc, "grade": 3 * (doc == "d0")})
            if query == pairs[39][0]:
                visitor.post("/r/1/undo", {"query": query, "doc": doc})
        page = new_page()
        page.goto(visitor.url)
        page.goto(f"http://{visitor.host}/r/1/judge")
        plan = page.locator("#progress .plan")
        playwright.expect(plan).to_have_text("Decided: you can stop.")
        assert page.inner_text("#progress h3 + p").startswith("Ship one")
        assert "Risk below 0.1%, limit 0.6%." in page.inner_text("#progress")
        assert page.locator("#grades").bounding_box()["y"] < page.viewport_size["height"]
        assert page.locator("#passage mark").all_inner_texts() == [
            page.inner_text("#query").removeprefix("what is ").removesuffix("?")
        ]
        page.keyboard.press("1")
        playwright.expect(page.locator("#progress")).to_contain_text("grades by ann")
        assert faults_of(page) == []


def test_a_plan_says_how_many_queries_and_minutes_are_left(new_page: NewPage, tmp_path: Path) -> None:
    with serving([saved(tmp_path / "results", unjudged(many_pairs(queries=60, docs=2)))], judge=tmp_path / "my.qrels") as visitor:
        for query, doc, *_ in data_of(visitor.enter())["pairs"][:20]:
            visitor.post("/r/1/judge", {"query": query, "doc": doc, "grade": 3 * (doc == "d0")})
        page = new_page(viewport=PHONE)
        page.goto(visitor.url)
        page.goto(f"http://{visitor.host}/r/1/judge")
        playwright.expect(page.locator("#progress .plan")).to_have_text(
            re.compile(r"10 of about \d+ queries needed; 1 minute at your pace\.")
        )
        assert page.evaluate(OVERFLOW) == 0
        assert faults_of(page) == []


def test_a_long_pool_goes_on_with_its_next_part(new_page: NewPage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rankproof._server.judging_page.MAX_QUEUE_ITEMS", 2)
    results = saved(tmp_path / "results", unjudged(many_pairs(queries=2, docs=2)))
    with serving([results], judge=tmp_path / "my.qrels") as visitor:
        page = new_page()
        page.goto(visitor.url)
        page.goto(f"http://{visitor.host}/r/1/judge")
        for done in (1, 2, 3, 4):
            page.keyboard.press("1")
            playwright.expect(page.locator("#count")).to_have_text(f"{done} of 4 judged")
            if done == 2:
                page.wait_for_load_state()
                playwright.expect(page.locator("#pair")).to_be_visible()
        assert page.locator("#done").is_visible()


def test_a_whole_question_is_labelled_by_keyboard_and_the_next_server_goes_on(new_page: NewPage, tmp_path: Path) -> None:
    results, file = saved(tmp_path / "results", unjudged(many_pairs(queries=40, docs=2))), tmp_path / "my.qrels"

    def labelled(words: str, *keys: str) -> list[str]:
        """The questions that are shown while the keys are pressed, after a server that starts with these words."""
        with serving([results], judge=file, queue=QueueOptions(questions=30)) as visitor:
            page = new_page()
            page.goto(visitor.url)
            page.goto(f"http://{visitor.host}/r/1/judge")
            questions = []
            for key, words_after in zip(keys, expected[words], strict=True):
                questions.append(page.inner_text("#query-id"))
                assert page.inner_text("#count") == words
                page.keyboard.press(key)
                playwright.expect(page.locator("#count")).to_have_text(words_after)
                words = words_after
            if words == STOP:
                with page.expect_navigation():
                    page.keyboard.press("d")
                assert page.inner_text(".lead").startswith("Not decided")
            return questions

    start, between = "Question 1 of 30: 0 of 2. 60 grades left", "Question 2 of 30: 1 of 2. 57 grades left"
    expected = {start: ["Question 1 of 30: 1 of 2. 59 grades left", STOP], STOP: [between]}
    first, same = labelled(start, "3", "0")
    assert first == same
    assert labelled(STOP, "2") != [first]
    assert read_label_draw(file) == draw_documents(load_results(results), 10)


def test_the_report_of_results_without_judgements_has_no_faults(new_page: NewPage, tmp_path: Path, watched: Any) -> None:
    with serving([saved(tmp_path / "results", unjudged(many_pairs(queries=3)))]) as visitor:
        page = new_page()
        page.goto(visitor.url)
        page.goto(f"http://{visitor.host}/r/1")
        assert page.inner_text("h2") == "Rankings without judgements"
        assert "RBO" in page.inner_text("#rankings")
        assert page.locator("a[href^='#queries']").count() == 0
    assert watched.faults == []


@pytest.mark.parametrize("path", ["/", "/r/1", "/r/1/judge", "/r/1/decision"])
def test_everybody_can_use_the_pages_without_judgements_and_they_fit_a_phone(
    new_page: NewPage, tmp_path: Path, path: str
) -> None:
    results = saved(tmp_path / "results", unjudged(many_pairs(queries=3)))
    with serving([results], judge=tmp_path / "my.qrels") as visitor:
        visitor.enter().post("/r/1/judge", {"query": "q1", "doc": "d1", "grade": 2})
        page = new_page(viewport=PHONE)
        page.goto(visitor.url)
        page.goto(f"http://{visitor.host}{path}")
        assert page.evaluate(OVERFLOW) == 0
        assert faults_of(page) == []
