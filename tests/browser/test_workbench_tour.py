"""A person's whole way through the bench: a failing query, a variant, three grades, a weight, the proof and the link."""

from __future__ import annotations

from pathlib import Path

import pytest
from tools.docs.workbench_tour import EXPERIMENT, GRADES, tour

from support.bench_systems import saved_systems
from support.results_server import judged_in, serving

from .test_serve import NewPage

pytest.importorskip("playwright.sync_api")
pytestmark = pytest.mark.browser


def test_a_person_finds_grades_and_fixes_a_failing_query_and_sends_the_link(new_page: NewPage, tmp_path: Path) -> None:
    top, _, systems = EXPERIMENT.partition("\n\n")
    results = saved_systems(tmp_path / "fused", top=f"{top}\n", systems=f"\n{systems}")
    judged, steps = tmp_path / "my.qrels", list[str]()
    with serving([results], judge=judged, permissions=["edit"]) as visitor:
        page = new_page()
        page.goto(visitor.url)
        address = tour(page, f"http://{visitor.host}", steps.append)
        assert page.locator(".proof .plan").inner_text().startswith(("Proven", "Not proven"))
        shown = [page.locator(part).all_inner_texts() for part in (".bench-side bdi", ".bench-query")]
        other = new_page()
        other.goto(visitor.url)
        other.goto(address)
        other.wait_for_selector(".effect svg")
        other.wait_for_selector(".bench-side bdi")
        assert [other.locator(part).all_inner_texts() for part in (".bench-side bdi", ".bench-query")] == shown
    assert steps == ["failing-query", "typed-variant", "graded", "moved-weight", "proof"]
    assert [line.split()[-1] for line in judged_in(judged).splitlines()] == [grade for grade, _ in GRADES]
    assert len(list(tmp_path.glob("*/result.json"))) == 2
