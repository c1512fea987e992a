"""The bench: groups of queries, two rankings side by side, why they differ, and whole documents."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rankproof._data.corpus import TextRecord
from rankproof._results.experiment_result import ExperimentResult
from rankproof._server.bench.feature import Bench
from rankproof._server.bench.queries import CARD_LENGTH, PART_LENGTH
from rankproof._server.library import LibraryEntry
from support.dated_results import saved_series
from support.results_server import Visitor, saved, serving, unjudged
from support.small_results import small_results

LONG = "agar sets. " * 20_000
TEXTS = {"d1": TextRecord("d1", LONG, "Agar", {"url": "https://example.org/agar", "kind": ["jam", "jelly"]})}


def find(entry: LibraryEntry, results: ExperimentResult, doc: str) -> TextRecord | None:
    return TEXTS.get(doc)


@pytest.fixture(scope="module")
def guest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visitor]:
    paths = saved_series(tmp_path_factory.mktemp("bench"), (2, 8))
    with serving(paths, features=lambda library, log: [Bench(library, find)]) as visitor:
        yield visitor.enter()


def view_of(guest: Visitor, id: int = 2) -> Any:
    return guest.get(f"/api/r/{id}/bench").json


def test_queries_are_grouped_by_outcome_and_by_what_was_lost_since_the_results_before(guest: Visitor) -> None:
    view = view_of(guest)
    groups = {group["key"]: group["queries"] for group in view["groups"]}
    assert [system["name"] for system in view["systems"]] == ["main", "base"]
    assert (view["first"], view["second"], view["measure"]) == ("main", "base", "nDCG@10")
    assert groups["lost"] == list(range(2, 8))
    assert groups["failed-all"] == []
    assert {group["kind"] for group in view["groups"]} == {"outcome"}
    assert "lost" not in {group["key"] for group in view_of(guest, 1)["groups"]}


def test_a_query_has_its_value_in_each_system(guest: Visitor) -> None:
    queries = view_of(guest)["queries"]
    assert queries[0]["text"] == "what is 0?"
    assert queries[0]["values"][0] == pytest.approx(queries[0]["values"][1])
    assert queries[-1]["values"] == [1.0, 1.0]


def pair_of(guest: Visitor, query: str, a: str = "main", b: str = "base") -> Any:
    return guest.get(f"/api/r/2/bench/pair?query={query}&a={a}&b={b}").json


def test_both_sides_show_ranks_grades_and_the_rank_in_the_other_ranking(guest: Visitor) -> None:
    first, second = pair_of(guest, "q10")["sides"]
    top, other = first["cards"][0], second["cards"][0]
    assert (top["doc"], top["rank"], top["grade"], top["elsewhere"], top["score"]) == ("d1", 1, 2, 4, 9.0)
    assert (other["doc"], other["grade"], other["elsewhere"]) == ("d4", 0, 4)
    assert (first["value"], first["retrieved"]) == (1.0, 4)
    assert second["cards"][1]["grade"] is None


def test_why_names_the_document_that_makes_the_difference(guest: Visitor) -> None:
    why = pair_of(guest, "q10")["why"]
    assert why[0] == "d1 (grade 2) is at rank 1 in main and at rank 4 in base: −0.569 for base."
    assert pair_of(guest, "q39")["why"] == []


def test_a_card_has_the_beginning_of_a_document_and_a_route_the_rest(guest: Visitor) -> None:
    card = pair_of(guest, "q10")["sides"][0]["cards"][0]
    assert (card["title"], card["text"], card["is_complete"]) == ("Agar", LONG[:CARD_LENGTH], False)
    assert (card["url"], card["fields"]) == ("https://example.org/agar", {"kind": "jam, jelly"})
    parts, length = "", None
    while length is None or len(parts) < length:
        part = guest.get(f"/api/r/2/bench/document?doc=d1&start={len(parts)}").json
        assert 0 < len(part["text"]) <= PART_LENGTH
        parts, length = parts + part["text"], part["length"]
    assert parts == LONG


def test_a_document_that_is_not_known_here_has_its_beginning(guest: Visitor) -> None:
    card = pair_of(guest, "q10")["sides"][0]["cards"][1]
    assert card["doc"] == "d2"
    assert card["text"].startswith("the text of 1")
    assert guest.get("/api/r/2/bench/document?doc=d2").status == 404


@pytest.mark.parametrize("query", ["query=nothing&a=main&b=base", "query=q1&a=main&b=nothing", "query=q1&a=main&b=base&depth=0"])
def test_unknown_queries_systems_and_depths_are_rejected(guest: Visitor, query: str) -> None:
    assert guest.get(f"/api/r/2/bench/pair?{query}").status in (400, 404, 422)


def test_results_without_judgements_have_rankings_and_no_values(tmp_path: Path) -> None:
    folder = saved(tmp_path / "results", unjudged(small_results()))
    with serving([folder], features=lambda library, log: [Bench(library, find)]) as visitor:
        guest = visitor.enter()
        view = guest.get("/api/r/1/bench").json
        assert (view["measure"], view["groups"]) == ("", [])
        pair = guest.get("/api/r/1/bench/pair?query=q1&a=bm25&b=dense").json
        assert [side["value"] for side in pair["sides"]] == [None, None]
        assert [card["doc"] for card in pair["sides"][1]["cards"]] == ["d2", "d3", "d4", "d1"]


def test_the_page_lists_the_results_and_no_name_ends_its_data(tmp_path: Path) -> None:
    name = "</script><script>window.harmed = 1</script>"
    folder = saved(tmp_path / "results", replace(small_results(), name=name))
    with serving([folder], features=lambda library, log: [Bench(library, find)]) as visitor:
        page = visitor.enter().get("/bench")
        assert page.status == 200
        assert page.text.count("<script") == 2
        assert '<a href="/bench?r=1"' in visitor.get("/").text
