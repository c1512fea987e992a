"""Hits by hand: selections of judgements, cut rankings, rankings without unjudged documents, and parts."""

from __future__ import annotations

import numpy as np
import pytest

from rankproof._align import hits as hits_module
from rankproof._align.hits import AlignmentCounts, Hits, Ties, merge_hits
from support.qrels_and_runs import aligned

QRELS = {"q1": {"a": 2, "b": 0, "c": 1, "j": -1}, "q2": {"d": 1}, "q3": {"e": 3, "f": 1}}
RUN = {"q1": {"x": 9.0, "j": 8.0, "a": 7.0, "b": 7.0, "y": 7.0, "c": 1.0}, "q3": {"f": 2.0, "z": 1.0}}


@pytest.fixture
def hits() -> Hits:
    """q1 ranks x, j, y, b, a, c, where y, b and a are tied; q2 is missing; q3 ranks f, z."""
    return aligned(QRELS, RUN)


def shown(hits: Hits) -> dict[str, list[int]]:
    arrays = {"offsets": hits.offsets, "ranks": hits.ranks, "grades": hits.grades, "retrieved": hits.retrieved}
    return {name: array.tolist() for name, array in {**arrays, "starts": hits.ties.starts, "sizes": hits.ties.sizes}.items()}


def test_the_judged_documents_have_their_ranks_grades_and_ties(hits: Hits) -> None:
    assert shown(hits) == {
        "offsets": [0, 4, 4, 5],
        "ranks": [2, 4, 5, 6, 1],
        "grades": [-1, 0, 2, 1, 1],
        "retrieved": [6, 0, 2],
        "starts": [2, 3, 3, 6, 1],
        "sizes": [1, 3, 3, 1, 1],
    }
    assert hits.present.tolist() == [True, False, True]
    assert hits.query_index.tolist() == [0, 0, 0, 0, 2]


def test_the_best_grades_of_each_query_come_with_their_ranks(hits: Hits) -> None:
    assert hits.judged.grades.tolist() == [2, 1, 0, -1, 1, 3, 1]
    assert [found.tolist() for found in hits.judged.top(2)] == [[0, 0, 1, 2, 2], [1, 2, 1, 1, 2], [0, 1, 4, 5, 6]]
    assert hits.judged.query_index.tolist() == [0, 0, 0, 0, 1, 2, 2]


def test_grades_of_at_least_rel_are_relevant_but_never_negative_ones(hits: Hits) -> None:
    counts = {rel: hits.judged.relevant(rel).tolist() for rel in (-1, 0, 1, 2, 3)}
    assert counts == {-1: [3, 1, 2], 0: [3, 1, 2], 1: [2, 1, 2], 2: [1, 0, 1], 3: [0, 0, 1]}


def test_a_cut_ranking_has_no_deeper_hit_and_cuts_ties(hits: Hits) -> None:
    assert shown(hits.cut(4)) == {
        "offsets": [0, 2, 2, 3],
        "ranks": [2, 4, 1],
        "grades": [-1, 0, 1],
        "retrieved": [4, 0, 2],
        "starts": [2, 3, 1],
        "sizes": [1, 2, 1],
    }
    assert shown(hits.cut(1 << 70)) == shown(hits)


def test_without_unjudged_documents_the_others_move_up(hits: Hits) -> None:
    assert shown(hits.judged_only()) == {
        "offsets": [0, 3, 3, 4],
        "ranks": [1, 2, 3, 1],
        "grades": [0, 2, 1, 1],
        "retrieved": [3, 0, 1],
        "starts": [1, 1, 3, 1],
        "sizes": [2, 2, 1, 1],
    }


def test_blocks_of_queries_have_the_hits_and_judgements_of_their_queries(hits: Hits, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hits_module, "QUERIES_PER_BLOCK", 3)
    assert [one.queries for one in hits.blocks] == [hits.queries]
    monkeypatch.setattr(hits_module, "QUERIES_PER_BLOCK", 2)
    first, last = hits.blocks
    assert (first.queries, last.queries) == (("q1", "q2"), ("q3",))
    assert shown(last) == {"offsets": [0, 1], "ranks": [1], "grades": [1], "retrieved": [2], "starts": [1], "sizes": [1]}
    assert (last.judged.grades.tolist(), last.judged.offsets.tolist()) == ([3, 1], [0, 2])
    assert (first.judged.grades.tolist(), first.judged.offsets.tolist()) == ([2, 1, 0, -1, 1], [0, 4, 5])
    assert first.present.tolist() == [True, False]


def test_parts_of_a_run_with_other_queries_are_merged(hits: Hits) -> None:
    parts = [aligned(QRELS, {query: scores, "none": {"v": 1.0}}) for query, scores in reversed(RUN.items())]
    merged = merge_hits(parts)
    assert shown(merged) == shown(hits)
    assert merged.present.tolist() == hits.present.tolist()
    counts = merged.alignment_counts
    assert (counts.rows, counts.tied, counts.unjudged, counts.unjudged_queries) == (10, 2, 2, ("none",))


def test_a_run_without_hits_has_empty_arrays() -> None:
    empty = aligned(QRELS, {"q1": {"x": 1.0}})
    for found in (empty, empty.cut(1), empty.judged_only()):
        assert (found.offsets.tolist(), len(found.ranks)) == ([0, 0, 0, 0], 0)
    assert np.array_equal(empty.judged_only().retrieved, [0, 0, 0])


def test_nothing_is_counted_before_alignment() -> None:
    assert AlignmentCounts() == (0, 0, 0, 0, 0, 0, 0, 0, (), ())


def test_hits_without_ties_are_each_alone_at_their_rank() -> None:
    assert [part.tolist() for part in Ties.none(np.array([2, 5]))] == [[2, 5], [1, 1]]
