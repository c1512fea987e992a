"""Work in the bench that must last: a test case that stops a build, queues of two people, grades before a kill."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import rankproof as rp
from rankproof._results.saved_cases import read_cases
from rankproof._server.judging_queue import QueueOptions
from support.bench_systems import saved_systems
from support.results_server import judged_in, many_pairs, saved, serving

from .conftest import Watched
from .test_serve import NewPage

playwright = pytest.importorskip("playwright.sync_api")
pytestmark = pytest.mark.browser
QUEUE = "() => JSON.parse(document.getElementById('data').textContent).pairs.map(pair => pair[0])"


def graded(page: Any, place: int, value: int) -> str:
    """The document at a place of B, after its grade is on disk."""
    card = page.locator(".bench-side").nth(1).locator(".card .grade-buttons").nth(place)
    doc = str(card.get_attribute("data-graded"))
    card.locator(f"[data-grade='{value}']").click()
    playwright.expect(page.locator("#graded")).to_have_text(f"Saved: grade {value} for {doc}.")
    return doc


def test_a_typed_query_that_is_saved_as_a_test_case_stops_a_build_that_loses_it(new_page: NewPage, tmp_path: Path) -> None:
    results = saved_systems(tmp_path / "results")
    with serving([results], judge=tmp_path / "my.qrels", permissions=["edit"]) as visitor:
        page = new_page()
        page.goto(visitor.url)
        page.goto(f"http://{visitor.host}/bench?a=title&b=bm25&t=which+kettle+whistles")
        page.wait_for_selector(".bench-side >> nth=1 >> .grade-button")
        doc = graded(page, 0, 3)
        page.get_by_label("A build must reach").fill("0.9")
        page.get_by_role("button", name="Save as test case").click()
        playwright.expect(page.locator(".query-case")).to_contain_text("must reach 0.9 nDCG@10")
    cases = tmp_path / "cases.jsonl"
    (case,) = read_cases(str(cases))
    assert (case.text, case.grades, case.least, case.who) == ("which kettle whistles", {doc: 3}, 0.9, "ann")
    qrels = {f"q{at}": {"d1": 1} for at in range(30)}
    found = {query: {"d1": 1.0} for query in qrels}
    outcomes = {}
    for name, ranking in {"kept": {doc: 1.0}, "lost": {"other": 2.0, doc: 1.0}}.items():
        gated = rp.gate(qrels, {"build": {**found, case.id: ranking}}, cases=cases)
        outcomes[name] = [check.result for check in gated.checks if check.kind == "case"]
    assert outcomes == {"kept": ["passed"], "lost": ["failed"]}


def test_two_people_share_out_a_queue_with_the_overlap_that_was_chosen(new_page: NewPage, tmp_path: Path) -> None:
    folder = saved(tmp_path / "results", many_pairs())
    queues = {}
    with serving([folder], judge=tmp_path / "my.qrels", assessors=("ann", "bob"), queue=QueueOptions(overlap=0.5)) as visitor:
        for name in ("ann", "bob"):
            page = new_page()
            page.goto(visitor.url)
            page.goto(f"http://{visitor.host}/r/1/assessor")
            page.click(f"button:has-text('{name}')")
            page.wait_for_url("**/judge")
            queues[name] = set(page.evaluate(QUEUE))
    assert len(queues["ann"] | queues["bob"]) == 40
    assert [len(queue) for queue in queues.values()] == [30, 30]
    assert len(queues["ann"] & queues["bob"]) == 20


def test_every_grade_that_the_page_called_saved_is_there_after_kill_9(
    new_page: NewPage, tmp_path: Path, watched: Watched
) -> None:
    folder, path = saved(tmp_path / "results", many_pairs()), tmp_path / "my.qrels"
    command = [sys.executable, "-m", "rankproof", "serve", str(folder), "--judge", str(path), "--assessor", "ann"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout
            address = process.stdout.readline().strip()
            page = new_page()
            page.goto(address)
            page.goto(f"{address.partition('/?')[0]}/bench?q=q3")
            page.wait_for_selector(".bench-side >> nth=1 >> .grade-button")
            confirmed = {graded(page, place, place % 4): place % 4 for place in range(4)}
            last = page.locator(".bench-side").nth(1).locator(".card .grade-buttons").nth(4)
            last.locator("[data-grade='2']").click(no_wait_after=True)
        finally:
            process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
        last.locator("[data-grade='3']").click()
        playwright.expect(page.locator("#graded")).to_contain_text("Not saved: ")
        page.close()
    again = {line.split()[2]: int(line.split()[3]) for line in judged_in(path).splitlines()}
    assert {doc: again.get(doc) for doc in confirmed} == confirmed
    assert set(again.values()) <= {0, 1, 2, 3}
    assert len(again) <= 5
    assert all("ERR_CONNECTION_REFUSED" in line or "Failed to load resource" in line for line in watched.said)
    watched.said.clear()


def moved_weight(page: Any, share: float) -> None:
    """Moves the weight of the second fused system, and waits for the effect."""
    page.locator(".knobs [data-knob^='weight']").first.evaluate(
        "(slider, share) => { slider.value = share;"
        " for (const kind of ['input', 'change']) slider.dispatchEvent(new Event(kind)); }",
        share,
    )
    page.wait_for_url("**ch=**")
    page.wait_for_selector(".effect svg")


def test_the_change_of_a_setting_is_shown_by_itself_and_against_a(new_page: NewPage, tmp_path: Path) -> None:
    results = saved_systems(tmp_path / "results")
    with serving([results]) as visitor:
        page = new_page()
        page.goto(visitor.url)
        page.goto(f"http://{visitor.host}/bench?a=fused&b=fused")
        moved_weight(page, 0.9)
        change = page.inner_text(".own-change").removeprefix("Your change: ")
        # A is B as it was, so both differences are the same; against another system they are not.
        assert page.inner_text(".against-a").partition("): ")[2] == change
        page.select_option("[aria-label='System A'] select", "bm25")
        playwright.expect(page.locator(".against-a")).to_contain_text("Against A (bm25")
        assert page.inner_text(".own-change").removeprefix("Your change: ") == change
        assert page.inner_text(".against-a").partition("): ")[2] != change


def test_a_verdict_of_other_settings_is_marked_and_another_a_keeps_the_changes_of_b(new_page: NewPage, tmp_path: Path) -> None:
    results = saved_systems(tmp_path / "results")
    with serving([results], judge=tmp_path / "my.qrels", permissions=["edit"]) as visitor:
        page = new_page()
        page.goto(visitor.url)
        page.goto(f"http://{visitor.host}/bench?a=title&b=fused")
        moved_weight(page, 0.75)
        playwright.expect(page.locator(".knobs .banner")).to_contain_text("grades given in the bench count neither in")
        page.locator(".knobs .prove").click()
        other = page.locator(".proof .other-settings")
        playwright.expect(page.locator(".proof")).to_contain_text("Among title, fused and fused-tuned alone: ")
        playwright.expect(other).to_be_hidden()
        page.select_option("[aria-label='System A'] select", "bm25")
        playwright.expect(other).to_be_visible()
        playwright.expect(page.locator(".knobs output").last).to_have_text("0.75")
        page.select_option("[aria-label='System A'] select", "title")
        playwright.expect(other).to_be_hidden()
        moved_weight(page, 0.25)
        playwright.expect(other).to_be_visible()
        judging = page.locator("#judged-here")
        playwright.expect(judging).to_contain_text("All shown documents are graded; change a grade if you disagree.")
        playwright.expect(judging).to_contain_text("No decision yet: nothing is graded here.")
