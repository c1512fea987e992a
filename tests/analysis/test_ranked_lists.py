"""Ranked lists are slices of a run where its rows are in order, and sorted lists where they are not."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rankproof._align.hits import without_lookup
from rankproof._analysis.inputs import input_from_runs
from rankproof._analysis.values import all_hits, ranked_lists
from rankproof._data.ordering import ranked_documents
from rankproof._data.run import Run
from rankproof._data.validation import ReadOptions
from rankproof._evaluation.options import EvaluateOptions

QRELS = {"q1": {"a": 1}, "q2": {"b": 1}, "q3": {"c": 0}}
SCORES = st.dictionaries(st.sampled_from("abcdefg"), st.sampled_from([0.0, 0.5, 1.0, 2.0, 3.0]), min_size=1)
RUNS = st.dictionaries(st.sampled_from(["q1", "q2", "q3", "other"]), SCORES, min_size=1).filter(lambda run: run.keys() & QRELS)


@given(scores=RUNS, depth=st.sampled_from([None, 1, 3]), in_order=st.booleans())
def test_a_ranked_list_has_the_documents_best_first_up_to_the_depth(
    scores: dict[str, dict[str, float]], depth: int | None, in_order: bool
) -> None:
    if in_order:
        scores = {query: dict(sorted(docs.items(), key=lambda item: -item[1])) for query, docs in scores.items()}
    inputs = input_from_runs(QRELS, {"s": scores}, ["RR"], options=EvaluateOptions(ReadOptions(depth=depth)))
    lists = ranked_lists(inputs, "s")
    expected = {query: docs[:depth] for query, docs in ranked_documents(Run(scores)).items() if query in QRELS}
    assert {query: list(ranked.docs) for query, ranked in lists.items()} == expected
    for query, ranked in lists.items():
        assert ranked.scores.tolist() == ranked.keys.tolist() == [scores[query][doc] for doc in ranked.docs]
    assert [query in lists for query in ("q1", "q2", "q3", "other")] == [
        query in expected for query in ("q1", "q2", "q3", "other")
    ]
    assert len(lists) == len(expected)


def test_hits_of_many_judgements_are_kept_without_their_lookup_table() -> None:
    qrels = {f"q{query}": {f"d{doc}": doc % 3 for doc in range(100)} for query in range(700)}
    run = {query: ["d2", "d50", "x"] for query in qrels}
    inputs = input_from_runs(qrels, {"s": Run(run), "t": Run(run)}, ["RR"])
    hits = all_hits(inputs)
    assert {own.judged.handle for own in hits.values()} == {None}
    assert np.array_equal(hits["s"].grades, np.tile([2, 2], 700))
    few = all_hits(input_from_runs(QRELS, {"s": Run({"q1": ["a"]})}, ["RR"]))
    assert without_lookup(few) is few
