"""Judgements and runs in every form that people have them give the same values, and a wrong form names its argument."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, get_type_hints

import ir_measures
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from ir_measures import Qrel, ScoredDoc

import rankproof as rp
from rankproof._registry import arguments_of

GRADES = {"q1": {"d1": 1, "d2": 0}, "q2": {"d3": 2}}
SCORES = {"q1": {"d1": 0.9, "d2": 0.5}, "q2": {"d4": 0.9, "d3": 0.2}}
RANKED = {"q1": ["d1", "d2"], "q2": ["d4", "d3"]}
EXPECTED = (1 + 1 / np.log2(3)) / 2
TABLES: dict[str, Callable[[Any], Any]] = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}


def rows(nested: dict[str, dict[str, Any]]) -> list[tuple[str, str, Any]]:
    return [(query, doc, value) for query, docs in nested.items() for doc, value in docs.items()]


def columns(names: tuple[str, str, str], nested: dict[str, dict[str, Any]]) -> dict[str, list[Any]]:
    return {name: [row[at] for row in rows(nested)] for at, name in enumerate(names)}


def value(qrels: Any, run: Any, **options: Any) -> float:
    return rp.evaluate(qrels, run, "nDCG@10", **options).systems[0].measures["nDCG@10"].value


def forms_of_qrels() -> dict[str, Callable[[], Any]]:
    return {
        "Qrels": lambda: rp.Qrels(GRADES),
        "dict": lambda: GRADES,
        "rows": lambda: [Qrel(*row) for row in rows(GRADES)],
        "iterator of rows": lambda: (Qrel(*row) for row in rows(GRADES)),
        "records": lambda: [{"qid": query, "docno": doc, "rel": grade} for query, doc, grade in rows(GRADES)],
        **{name: partial(make, columns(("q_id", "doc_id", "relevance"), GRADES)) for name, make in TABLES.items()},
    }


def forms_of_runs() -> dict[str, Callable[[], Any]]:
    return {
        "Run": lambda: rp.Run(SCORES),
        "dict": lambda: SCORES,
        "lists": lambda: RANKED,
        "arrays": lambda: {query: np.array(docs) for query, docs in RANKED.items()},
        "Run of lists": lambda: rp.Run(RANKED),
        "named dict": lambda: {"mine": SCORES},
        "named lists": lambda: {"mine": RANKED},
        "rows": lambda: [ScoredDoc(*row) for row in rows(SCORES)],
        "iterator of rows": lambda: (ScoredDoc(*row) for row in rows(SCORES)),
        "named rows": lambda: {"mine": [ScoredDoc(*row) for row in rows(SCORES)]},
        "records": lambda: [{"qid": query, "docno": doc, "score": score} for query, doc, score in rows(SCORES)],
        **{name: partial(make, columns(("qid", "did", "score"), SCORES)) for name, make in TABLES.items()},
    }


@pytest.mark.parametrize("form", forms_of_qrels())
def test_every_form_of_judgements_gives_the_same_value(form: str) -> None:
    assert value(forms_of_qrels()[form](), SCORES) == pytest.approx((1 + 0.63093) / 2, abs=1e-5)


@pytest.mark.parametrize("form", forms_of_runs())
def test_every_form_of_a_run_gives_the_same_value(form: str) -> None:
    assert value(GRADES, forms_of_runs()[form]()) == pytest.approx((1 + 0.63093) / 2, abs=1e-5)


@pytest.mark.slow
def test_qrels_and_runs_of_ranx_are_read_and_keep_their_name() -> None:
    ranx = pytest.importorskip("ranx")
    result = rp.evaluate(ranx.Qrels(GRADES), ranx.Run(SCORES, name="theirs"), "nDCG@10")
    assert result.means == {"theirs": {"nDCG@10": pytest.approx(EXPECTED)}}


def test_a_set_of_relevant_documents_has_grade_1() -> None:
    assert value({"q1": {"d2"}}, SCORES) == pytest.approx(1 / np.log2(3))
    assert dict(rp.Qrels({"q1": {"d2"}})["q1"]) == {"d2": 1}


@pytest.mark.parametrize("library", TABLES)
def test_named_columns_are_read_in_place_of_the_usual_ones(library: str) -> None:
    named = {"query": "Q", "doc": "D", "score": "S", "grade": "G"}
    judged = TABLES[library]({**columns(("Q", "D", "G"), GRADES), "query_id": ["x"] * 3})
    ranked = TABLES[library]({**columns(("Q", "D", "S"), SCORES), "score": [0.0] * 4})
    assert value(judged, ranked, **named) == pytest.approx(EXPECTED)
    assert value(judged, TABLES[library](columns(("qid", "did", "S"), SCORES)), **named) == pytest.approx(EXPECTED)


@pytest.mark.parametrize(
    ("named", "words"),
    [
        ({"query": "nope"}, r"no column is called nope \(query=\)"),
        ({"doc": "doc_id", "score": "doc_id"}, "one column has two roles"),
        ({"grade": 3}, "grade is an int"),
    ],
)
def test_a_wrong_name_of_a_column_is_refused(named: dict[str, Any], words: str) -> None:
    table = pd.DataFrame(columns(("query_id", "doc_id", "score"), SCORES))
    with pytest.raises(rp.errors.UsageError, match=words):
        rp.evaluate(GRADES, table, **named)


@pytest.mark.parametrize("library", TABLES)
def test_a_table_without_a_known_column_is_refused_with_the_argument_that_names_it(library: str) -> None:
    judged, ranked = (
        TABLES[library](columns(("q", "d", "stars"), GRADES)),
        TABLES[library](columns(("q", "page", "score"), SCORES)),
    )
    with pytest.raises(rp.errors.InputError, match="qrels: no grade column; found q, d, stars; name the column with grade="):
        rp.evaluate(judged, SCORES)
    with pytest.raises(rp.errors.InputError, match="mine: no doc column; found q, page, score; name the column with doc="):
        rp.evaluate(GRADES, {"mine": ranked})


def test_names_of_columns_need_a_table() -> None:
    with pytest.raises(rp.errors.UsageError, match="there is no table"):
        rp.evaluate(GRADES, SCORES, query="query_id")


def test_an_empty_mapping_is_an_empty_system_unless_its_key_is_a_judged_query() -> None:
    empty = rp.evaluate(GRADES, {"mysys": {}}, "nDCG@10")
    assert empty.means == {"mysys": {"nDCG@10": 0.0}}
    assert [(note.code, note.count) for note in empty.notes["mysys"]] == [("missing-queries", 2)]
    assert list(rp.evaluate(GRADES, {"q1": {}}, "nDCG@10").means) == ["run"]
    assert list(rp.evaluate(GRADES, {"mysys": {}, "other": SCORES}, "nDCG@10").means) == ["mysys", "other"]


WRONG: dict[str, tuple[Any, Any, str]] = {
    "a number as judgements": (3, SCORES, "qrels cannot be an int"),
    "nothing as judgements": (None, SCORES, "qrels cannot be a NoneType"),
    "lists as judgements": (RANKED, SCORES, "qrels has a list of documents for query q1"),
    "a number as a run": (GRADES, 3, "run cannot be an int"),
    "no run": (GRADES, {}, "there is no run"),
    "an empty list": (GRADES, [], "there is no run"),
    "a number for a query": (GRADES, {"q1": 5}, "query q1 must map document ids to a number"),
    "pairs in a list": (GRADES, {"q1": [("d1", 0.5)]}, "is tuple, not text"),
    "rows that are numbers": (GRADES, iter([1]), "a row cannot be an int"),
    "two runs without names": (GRADES, [SCORES, SCORES], "two systems are called run"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_form_is_refused_with_the_name_of_its_argument(case: str) -> None:
    qrels, run, words = WRONG[case]
    with pytest.raises(rp.errors.RankproofError, match=words):
        rp.evaluate(qrels, run)


def test_paths_may_be_text_or_paths_and_runs_a_list_of_them(tmp_path: Path) -> None:
    (tmp_path / "qrels.txt").write_text("q1 0 d1 1\n")
    (tmp_path / "a.run").write_text("q1 Q0 d1 1 9 a\n")
    for path in (tmp_path / "a.run", str(tmp_path / "a.run"), [tmp_path / "a.run"]):
        assert rp.evaluate(tmp_path / "qrels.txt", path, "P@1").means == {"a": {"P@1": 1.0}}


MEASURES: list[tuple[Any, str]] = [
    (ir_measures.nDCG @ 10, "nDCG@10"),
    (ir_measures.nDCG(dcg="exp-log2") @ 10, "nDCG(gain='exp')@10"),
    (ir_measures.AP(rel=2), "AP(rel=2)"),
    (ir_measures.RR, "RR"),
    ("MRR", "RR"),
    ("MAP", "AP"),
    ("Recall@10", "R@10"),
    ("Hit@5", "Success@5"),
    ("NDCG@10", "nDCG@10"),
    ("ndcg@10", "nDCG@10"),
    ("mrr", "RR"),
    ("map@100", "AP@100"),
    ("recall@10", "R@10"),
    ("hit_rate@5", "Success@5"),
    ("precision@5", "P@5"),
]


@pytest.mark.parametrize(("theirs", "ours"), MEASURES, ids=[str(theirs) for theirs, _ in MEASURES])
def test_measures_of_other_libraries_are_ours(theirs: Any, ours: str) -> None:
    assert str(rp.parse_measure(theirs)) == ours


def test_a_measure_function_of_ranx_is_its_name() -> None:
    metrics = pytest.importorskip("ranx.metrics")
    assert [str(rp.parse_measure(one)) for one in (metrics.reciprocal_rank, metrics.average_precision)] == ["RR", "AP"]


def test_the_functions_that_take_judgements_and_runs_take_the_arguments_of_evaluate() -> None:
    named = set(get_type_hints(rp.types.EvaluateArguments))
    assert len(named) == 21
    functions = (rp.evaluate, rp.compare, rp.gate, rp.segments, rp.diagnose, rp.audit, rp.doctor, rp.report, rp.export, rp.plot)
    assert [function.__name__ for function in functions if not named <= set(arguments_of(function))] == []


def test_an_unknown_argument_is_an_error_of_python() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'dept'"):
        rp.compare(GRADES, SCORES, dept=3)  # type: ignore[call-arg]


def test_a_frame_with_several_systems_is_refused_with_a_way_to_split_it() -> None:
    rows = [("a", "q1", "d1", 2.0), ("a", "q1", "d2", 1.0), ("b", "q1", "d1", 1.0), ("b", "q1", "d2", 2.0)]
    frame = pd.DataFrame(rows, columns=["system", "query", "doc", "score"])
    with pytest.raises(rp.errors.InputError, match="column system names several systems") as refused:
        rp.evaluate({"q1": {"d1": 1}}, frame, "RR")
    assert "frame.groupby('system')" in refused.value.fix
    split = rp.evaluate({"q1": {"d1": 1}}, dict(iter(frame.groupby("system"))), "RR")
    assert [split.value("RR", name) for name in ("a", "b")] == [1.0, 0.5]
