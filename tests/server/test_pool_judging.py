"""Judging the pool of results without judgements: what is asked, in which order, and the decision on the way."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rankproof._server.judging_queue import MAX_QUEUE_ITEMS, DocumentTexts, QueueOptions, build_queue
from support.results_server import Visitor, data_of, judged_in, many_pairs, saved, serving, unjudged
from support.small_results import small_results


@pytest.fixture
def guest(tmp_path: Path) -> Iterator[Visitor]:
    with serving([saved(tmp_path / "results", unjudged(many_pairs(queries=32)))], judge=tmp_path / "my.qrels") as visitor:
        yield visitor.enter()


def test_the_pool_of_all_systems_is_asked_query_by_query_in_random_order() -> None:
    results = unjudged(small_results(("a", "b"), ("q1", "q2", "q3"), ("d1", "d2", "d3", "d4")))
    queue = build_queue(results, DocumentTexts(), QueueOptions(2))
    # System b ranks one place later than a, so that the top two of both are three documents.
    assert sorted(queue.items) == [(query, doc) for query in ("q1", "q2", "q3") for doc in ("d1", "d2", "d3")]
    queries = [query for query, _ in queue.items]
    assert len([at for at in range(1, len(queries)) if queries[at] != queries[at - 1]]) == 2
    orders = {tuple(build_queue(results, DocumentTexts(), QueueOptions(2, seed)).items) for seed in range(10)}
    assert len(orders) > 5
    assert list(build_queue(results, DocumentTexts(), QueueOptions(2, 3)).items) == list(
        build_queue(results, DocumentTexts(), QueueOptions(2, 3)).items
    )


def test_results_with_judgements_have_a_pool_only_if_asked() -> None:
    results = small_results(("a", "b"))
    assert build_queue(results, DocumentTexts(), QueueOptions()).pool is None
    assert build_queue(results, DocumentTexts(), QueueOptions(1)).pool == 1


def test_systems_and_ranks_stay_hidden_after_the_grade(guest: Visitor, tmp_path: Path) -> None:
    query, doc = data_of(guest)["pairs"][0][:2]
    seen = guest.post("/r/1/judge", {"query": query, "doc": doc, "grade": 2})
    assert (seen.json["grade"], seen.json["system_ranks"]) == (2, "")
    assert judged_in(tmp_path / "my.qrels") == f"{query} human:ann {doc} 2\n"
    page = guest.get("/r/1/judge").text
    assert "the top 10 of all systems, in random order" in page
    assert "Different grade scales" not in page


def test_the_decision_is_shown_from_the_grades_so_far(guest: Visitor) -> None:
    missing = guest.get("/r/1/decision")
    assert (missing.status, "there are no grades yet; judge some pairs first" in missing.text) == (422, True)
    for query, doc, *_ in data_of(guest)["pairs"]:
        guest.post("/r/1/judge", {"query": query, "doc": doc, "grade": 3 * (doc == "d0")})
    page = guest.get("/r/1/decision").text
    assert "Ship one" in page
    assert "limits for many looks" in page
    assert "ann" in page[page.index("Judgements that count") :]


def test_the_list_says_that_there_are_no_judgements(guest: Visitor) -> None:
    assert "There are no judgements: grade the rankings." in guest.get("/").text
    assert "Rankings without judgements" in guest.get("/r/1").text


def test_a_pool_longer_than_a_page_is_shown_in_parts(tmp_path: Path) -> None:
    results = unjudged(many_pairs(queries=MAX_QUEUE_ITEMS // 8 + 1))
    with serving([saved(tmp_path / "results", results)], judge=tmp_path / "my.qrels") as visitor:
        pairs = data_of(visitor.enter())["pairs"]
        assert (len(pairs), sum(pair is not None for pair in pairs)) == (MAX_QUEUE_ITEMS + 8, MAX_QUEUE_ITEMS)
        query, doc = pairs[0][:2]
        visitor.post("/r/1/judge", {"query": query, "doc": doc, "grade": 1})
        data = data_of(visitor)
        assert sum(pair is not None for pair in data["pairs"]) == MAX_QUEUE_ITEMS + 1
        assert (data["last"], data["grades"]) == (0, {"0": 1})
