"""Hits with the codes of their documents, by both engines, also cut, without unjudged documents, and in parts."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from rankproof._align import hits as hits_module
from rankproof._align import native, reference
from rankproof._align.hits import Hits, merge_hits
from rankproof._align.judged_documents import judge_by_code, with_codes
from rankproof._data.qrels import Qrels
from rankproof._data.validation import ReadOptions
from rankproof.errors import UsageError
from support.native_cases import assert_same_hits
from support.qrels_and_runs import Grades, Scores, aligned, qrels_of, runs

QRELS = {"q1": {"a": 2, "b": 0, "c": 1, "j": -1}, "q2": {"d": 1}, "q3": {"e": 3, "f": 1}}
RUN = {"q1": {"x": 9.0, "j": 8.0, "a": 7.0, "b": 7.0, "y": 7.0, "c": 1.0}, "q3": {"f": 2.0, "z": 1.0}}
ENGINES = pytest.mark.parametrize("engine", [native, reference])


def coded(qrels: Grades, run: Scores, engine: ModuleType) -> Hits:
    judged = judge_by_code(engine.judge_qrels, Qrels.from_dict(qrels), None)
    return with_codes(engine.align_dict(judged, run, "run", ReadOptions()))


def found(hits: Hits) -> list[str]:
    """The ids of the hits."""
    documents = hits.judged.documents
    assert documents is not None
    assert hits.codes is not None
    return [documents.ids[at] for at in documents.offsets[hits.query_index] + hits.codes]


@ENGINES
def test_codes_say_which_documents_the_hits_are(engine: ModuleType) -> None:
    hits = coded(QRELS, RUN, engine)
    assert found(hits) == ["j", "b", "a", "c", "f"]
    assert hits.codes is not None
    assert hits.codes.tolist() == [0, 2, 3, 1, 0]
    assert found(hits.cut(4)) == ["j", "b", "f"]
    assert found(hits.judged_only()) == ["b", "a", "c", "f"]


@ENGINES
def test_parts_of_the_queries_keep_their_documents(engine: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hits_module, "QUERIES_PER_BLOCK", 1)
    assert [found(block) for block in coded(QRELS, RUN, engine).blocks] == [["j", "b", "a", "c"], [], ["f"]]


@ENGINES
def test_runs_in_several_parts_keep_their_documents(engine: ModuleType) -> None:
    judged = judge_by_code(engine.judge_qrels, Qrels.from_dict(QRELS), None)
    parts = [with_codes(engine.align_dict(judged, {query: docs}, "run", ReadOptions())) for query, docs in RUN.items()]
    assert found(merge_hits(parts)) == ["j", "b", "a", "c", "f"]


@ENGINES
@given(qrels=qrels_of(), run=runs())
def test_everything_but_the_codes_is_as_without_them(engine: ModuleType, qrels: Grades, run: Scores) -> None:
    hits, without = coded(qrels, run, engine), aligned(qrels, run, engine=engine)
    assert_same_hits(hits, without)
    assert np.array_equal(hits.judged.grades, without.judged.grades)
    assert hits.judged.highest == without.judged.highest


@ENGINES
def test_grades_for_subtopics_are_those_of_the_selected_queries(engine: ModuleType) -> None:
    qrels = Qrels.from_subtopics({"q1": {"1": {"a": 1, "c": 3}, "2": {"a": 2, "b": 0}}, "q2": {"1": {"x": 1}, "3": {"y": 2}}})
    subtopics = engine.judge_qrels(qrels, {"q2"}).documents.subtopics
    whole = engine.judge_qrels(qrels).documents
    for one in (subtopics, whole.between(1, 2).subtopics):
        assert one.names == ("1", "3")
        assert [one.offsets.tolist(), one.documents.tolist(), one.subtopics.tolist(), one.grades.tolist()] == [
            [0, 2],
            [0, 1],
            [1, 0],
            [2, 1],
        ]


@ENGINES
def test_a_part_of_the_queries_has_their_grades_for_subtopics(engine: ModuleType) -> None:
    """The documents of a query are numbered from the largest id on, and its subtopics by name."""
    grades = {
        "q1": {"1": {"a": 1, "b": 2}, "2": {"b": 3}},
        "q2": {"1": {"c": 4}},
        "q3": {"5": {"d": 5}, "4": {"e": 6, "d": 7}},
    }
    whole = engine.judge_qrels(Qrels.from_subtopics(grades)).documents
    for start, end, names, offsets, rows in [
        (0, 2, ("1", "2", "1"), [0, 2, 3], [(0, 0, 2), (0, 1, 3), (1, 0, 1), (2, 2, 4)]),
        (1, 3, ("1", "4", "5"), [0, 1, 3], [(0, 0, 4), (1, 1, 6), (2, 1, 7), (2, 2, 5)]),
        (2, 3, ("4", "5"), [0, 2], [(0, 0, 6), (1, 0, 7), (1, 1, 5)]),
    ]:
        part = whole.between(start, end).subtopics
        assert (part.names, part.offsets.tolist()) == (names, offsets)
        assert list(zip(*(column.tolist() for column in (part.documents, part.subtopics, part.grades)), strict=True)) == rows


@ENGINES
def test_a_query_that_is_repeated_has_its_documents_each_time(engine: ModuleType) -> None:
    judged = coded(QRELS, RUN, engine).judged.documents
    assert judged is not None
    plain = judged.between(0, 1)
    for_subtopics = engine.judge_qrels(Qrels.from_subtopics({"q": {"1": {"a": 1, "c": 3}, "2": {"a": 2, "b": 0}}})).documents
    assert plain.repeated(3).subtopics is None
    for documents in (plain, for_subtopics):
        repeated = documents.repeated(3)
        assert repeated.offsets.tolist() == [len(documents.ids) * copy for copy in range(4)]
        for copy in range(3):
            part = repeated.between(copy, copy + 1)
            assert (part.ids, part.grades.tolist()) == (documents.ids, documents.grades.tolist())
            for name in () if part.subtopics is None else ("offsets", "names", "documents", "subtopics", "grades"):
                assert list(getattr(part.subtopics, name)) == list(getattr(documents.subtopics, name))


@pytest.mark.parametrize("wrong", [5, {"q": 5}, [("q", "1", "a", 1)]])
def test_judgements_for_subtopics_of_another_shape_are_refused(wrong: Any) -> None:
    with pytest.raises(UsageError, match=r"judgements cannot be .*; pass {query: {subtopic: {document: grade}}}"):
        Qrels.from_subtopics(wrong)
