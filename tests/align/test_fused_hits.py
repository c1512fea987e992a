"""The hits of fused scores are those of the fused run."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rankproof._align.engine import align_run, judge_qrels
from rankproof._data.qrels import Qrels
from rankproof._data.run import Run
from rankproof._data.validation import ReadOptions
from rankproof._fusion.candidates import CandidateTable
from rankproof._fusion.fuse import fuse
from rankproof._fusion.method import METHODS, FusionSettings, fused_scores
from rankproof._tune.trials import JudgedCandidates
from support.examples import examples

docs = st.sampled_from(["a", "b", "c", "é", "𝔸", "007"])
queries = st.sampled_from(["q1", "q2", "q3", "q4"])
runs = st.lists(st.dictionaries(queries, st.dictionaries(docs, st.integers(0, 3).map(float), max_size=6)), min_size=1, max_size=3)
grades = st.dictionaries(queries, st.dictionaries(docs, st.integers(0, 2), min_size=1), min_size=1)


@examples(200)
@given(tables=runs, grades=grades, method=st.sampled_from(["rrf", "combsum", "combmnz"]))
def test_the_hits_of_a_trial_are_those_of_the_fused_run(tables: Any, grades: Any, method: str) -> None:
    given_, qrels = [Run.from_dict(table) for table in tables], Qrels(grades)
    judged, table = judge_qrels(qrels), CandidateTable.of(given_)
    found = JudgedCandidates.of(table, judged, qrels).hits(fused_scores(table, METHODS[method], FusionSettings()))
    expected = align_run(judged, fuse(given_, method), ReadOptions())
    for name in ("present", "retrieved", "offsets", "ranks", "grades"):
        assert getattr(found, name).tolist() == getattr(expected, name).tolist(), name
    assert [part.tolist() for part in found.ties] == [part.tolist() for part in expected.ties]


def test_the_hits_of_judgements_for_subtopics_have_codes() -> None:
    runs = [Run.from_dict({"q": {"a": 3.0, "b": 2.0, "x": 1.0}}), Run.from_dict({"q": {"c": 3.0, "b": 2.5}})]
    qrels = Qrels.from_subtopics({"q": {"s1": {"a": 1, "z": 1}, "s2": {"b": 2, "c": 0}}, "other": {"s1": {"a": 1}}})
    judged, table = judge_qrels(qrels), CandidateTable.of(runs)
    found = JudgedCandidates.of(table, judged, qrels).hits(fused_scores(table, METHODS["rrf"], FusionSettings()))
    expected = align_run(judged, fuse(runs, "rrf"), ReadOptions())
    assert found.codes is not None
    assert expected.codes is not None
    assert found.codes.tolist() == expected.codes.tolist() == [2, 1, 3]


def test_equal_scores_are_ranked_by_id() -> None:
    table = CandidateTable.of([Run.from_dict({"q": {"a": 2.0, "c": 1.0, "b": 1.0}})])
    qrels = Qrels({"q": {"b": 1, "c": 2}})
    hits = JudgedCandidates.of(table, judge_qrels(qrels), qrels).hits(np.zeros(3))
    assert (hits.ranks.tolist(), hits.grades.tolist()) == ([1, 2], [2, 1])
    assert (hits.ties.starts.tolist(), hits.ties.sizes.tolist()) == ([1, 1], [3, 3])
