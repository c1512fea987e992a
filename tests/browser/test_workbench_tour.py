"""A person's whole way through the bench: a failing query, a variant, three grades, a weight, the proof and the link."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tools.docs.workbench_tour import ENGINE_EXPERIMENT, GRADES, engine_tour, tour
from tools.small_experiment import SAMPLE_EXPERIMENT

from support.bench_systems import saved_systems
from support.results_server import judged_in, serving
from support.sample_engine import SampleEngine

from .test_serve import NewPage

pytest.importorskip("playwright.sync_api")
pytestmark = pytest.mark.browser
Tour = Callable[[Any, str, Callable[[str], None]], str]


def taken(new_page: NewPage, folder: Path, experiment: str, way: Tour) -> list[str]:
    """The names of the pictures of a way; a second person sees the view of the address that it ends with."""
    top, _, systems = experiment.partition("\n\n")
    results = saved_systems(folder / "results", top=f"{top}\n", systems=f"\n{systems}")
    judged, steps = folder / "my.qrels", list[str]()
    with serving([results], judge=judged, permissions=["edit"]) as visitor:
        page = new_page()
        page.goto(visitor.url)
        address = way(page, f"http://{visitor.host}", steps.append)
        assert page.locator(".proof .plan").inner_text().startswith(("Proven", "Not proven"))
        shown = [page.locator(part).all_inner_texts() for part in (".bench-side bdi", ".bench-query")]
        other = new_page()
        other.goto(visitor.url)
        other.goto(address)
        other.wait_for_selector(".effect svg")
        other.wait_for_selector(".bench-side bdi")
        assert [other.locator(part).all_inner_texts() for part in (".bench-side bdi", ".bench-query")] == shown
    assert [line.split()[-1] for line in judged_in(judged).splitlines()] == [grade for grade, _ in GRADES]
    assert len(list(folder.glob("*/result.json"))) == 2
    return steps


def test_a_person_finds_grades_and_fixes_a_failing_query_and_sends_the_link(new_page: NewPage, tmp_path: Path) -> None:
    steps = taken(new_page, tmp_path, SAMPLE_EXPERIMENT, tour)
    assert steps == ["failing-query", "typed-variant", "graded", "moved-weight", "proof"]


def test_the_same_way_leads_through_a_search_engine_that_is_late_once(new_page: NewPage, tmp_path: Path, watched: Any) -> None:
    with SampleEngine() as engine:
        steps = taken(
            new_page,
            tmp_path,
            ENGINE_EXPERIMENT.format(url=engine.url),
            lambda page, base, shot: engine_tour(page, base, shot, engine),
        )
        bodies = [request.body for request in engine.requests]
    assert steps == ["failing-query", "typed-variant", "late", "changed-body", "proof"]
    assert sum(body["boost"] == 3 for body in bodies) == 124
    assert any(body["query"].endswith(" instructions") for body in bodies)
    assert all("status of 422" in line for line in watched.said)
    watched.said.clear()
