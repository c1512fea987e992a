"""The seeds' functions at their names: thin calls of the one definition, with odd arguments."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankproof import ir_eval
from rankproof.errors import InputError, RankproofError, UsageError
from rankproof.ir_eval._measures import (
    compute_answer_f1,
    dcg_at_k,
    evaluate_all,
    evaluate_retrieval,
    mrr,
    ndcg_at_k,
    precision_at_k,
    recall_at_k,
    reciprocal_rank,
)
from rankproof.ir_eval._retrievers import MODES, build_qrels, compute_recall_at_k, load_jsonl
from rankproof.measures import parse_measure
from support.qrels_and_runs import aligned, ranked

GRADES = {"doc1": 3, "doc2": 1, "doc3": 0}
RANKED = ["doc1", "doc2", "doc3"]


def test_the_example_of_seed_001_comes_out() -> None:
    assert ndcg_at_k(RANKED, GRADES, 3) == 1.0
    assert ndcg_at_k(RANKED, GRADES, k=3, method="linear") == 1.0
    assert precision_at_k(RANKED, GRADES, 3) == pytest.approx(2 / 3)
    assert mrr(RANKED, GRADES) == 1.0
    assert dcg_at_k([0, 3], 2) == pytest.approx(7 / math.log2(3))
    assert dcg_at_k([0, 3], 2, method="linear") == pytest.approx(3 / math.log2(3))


def test_both_methods_are_equal_for_binary_grades() -> None:
    binary = {"doc1": 1, "doc2": 1, "doc3": 0}
    for ranking in (["doc3", "doc1"], ["doc2", "x", "doc1"]):
        assert ndcg_at_k(ranking, binary, 3) == ndcg_at_k(ranking, binary, 3, "linear")


@given(
    grades=st.dictionaries(st.sampled_from("abcdef"), st.integers(-1, 3), min_size=1),
    docs=st.lists(st.sampled_from("abcdefgh"), unique=True),
    k=st.integers(1, 10),
)
def test_a_function_gives_the_value_of_its_measure(grades: dict[str, int], docs: list[str], k: int) -> None:
    hits = aligned({"q": grades}, {"q": ranked(docs)})

    def value(name: str) -> float:
        return float(parse_measure(name).values(hits)[0])

    assert ndcg_at_k(docs, grades, k) == value(f"nDCG(gain='exp')@{k}")
    assert ndcg_at_k(docs, grades, k, method="linear") == value(f"nDCG@{k}")
    assert precision_at_k(docs, grades, k) == value(f"P@{k}")
    assert mrr(docs, grades) == value("RR")
    assert dcg_at_k([grades.get(doc, 0) for doc in docs], k) == pytest.approx(value(f"DCG(gain='exp')@{k}"))


def test_a_document_that_comes_again_takes_its_rank_and_gains_nothing() -> None:
    assert precision_at_k(["a", "a", "b"], {"a": 1, "b": 1}, 3) == pytest.approx(2 / 3)
    assert ndcg_at_k(["a", "a"], {"a": 1}, 2) == 1.0
    assert mrr(["x", "x", "a"], {"a": 1}) == pytest.approx(1 / 3)


def test_k_beyond_the_list_and_empty_lists_are_fine() -> None:
    assert precision_at_k(["a"], {"a": 1}, 10) == 0.1
    assert ndcg_at_k([], GRADES, 5) == 0.0
    assert ndcg_at_k(RANKED, {}, 5) == 0.0
    assert dcg_at_k([], 5) == 0.0
    assert mrr([], {}) == 0.0
    assert compute_recall_at_k([], []) == 0.0


def test_ids_may_be_integers_and_items_may_be_mappings_with_an_id() -> None:
    assert mrr([7, 42], {42: 1}) == 0.5
    assert mrr([7, 42], {"42": 1}) == 0.5
    assert mrr([{"id": 7, "score": 0.3}, {"id": 42}], {42: 1}) == 0.5
    assert mrr(np.array(["x", "a"]), {"a": 1}) == 0.5
    assert mrr((doc for doc in ["x", "a"]), {"a": 1}) == 0.5


FAULTY: list[tuple[Any, type[RankproofError]]] = [
    (lambda: ndcg_at_k(RANKED, GRADES, 0), UsageError),
    (lambda: ndcg_at_k(RANKED, GRADES, 2.5), UsageError),  # type: ignore[arg-type]
    (lambda: ndcg_at_k(RANKED, GRADES, 3, method="cubic"), UsageError),  # type: ignore[arg-type]
    (lambda: ndcg_at_k("doc1", GRADES, 3), UsageError),
    (lambda: ndcg_at_k({"doc1": 0.5}, GRADES, 3), UsageError),
    (lambda: ndcg_at_k({"doc1"}, GRADES, 3), UsageError),
    (lambda: ndcg_at_k(None, GRADES, 3), UsageError),  # type: ignore[arg-type]
    (lambda: ndcg_at_k(RANKED, None, 3), InputError),  # type: ignore[arg-type]
    (lambda: ndcg_at_k([0.5], GRADES, 3), InputError),
    (lambda: ndcg_at_k([{"name": "doc1"}], GRADES, 3), InputError),
    (lambda: ndcg_at_k(RANKED, {"doc1": 0.5}, 3), InputError),  # type: ignore[dict-item]
    (lambda: compute_recall_at_k(["a"], "a"), UsageError),
    (lambda: compute_recall_at_k(["a"], ["a"], k=0), UsageError),
    (lambda: evaluate_all({"q1": ["a"]}, {"1": {"a": 1}}, 5), InputError),
    (lambda: evaluate_all({"q1": {"a": 0.5}}, {"q1": {"a": 1}}, 5), UsageError),
    (lambda: compute_recall_at_k(["a"], ["a"], k=2.5), UsageError),  # type: ignore[arg-type]
    (lambda: compute_recall_at_k(["a"], {"a", 0.5}), InputError),
    (lambda: compute_recall_at_k(["a"], None), UsageError),  # type: ignore[arg-type]
    (lambda: compute_answer_f1(None, "a"), UsageError),  # type: ignore[arg-type]
    (lambda: dcg_at_k(None, 3), UsageError),  # type: ignore[arg-type]
    (lambda: dcg_at_k({3, 2}, 3), UsageError),
    (lambda: dcg_at_k(["3"], 3), InputError),  # type: ignore[list-item]
    (lambda: ndcg_at_k(RANKED, GRADES, 3, method=[]), UsageError),  # type: ignore[arg-type]
    (lambda: evaluate_all({"q1": ["a"]}, None, 3), UsageError),  # type: ignore[arg-type]
    (lambda: evaluate_all(None, {"q1": {"a": 1}}, 3), UsageError),  # type: ignore[arg-type]
    (lambda: evaluate_all({"q1": ["a"]}, {"q1": np.array([1, 2])}, 3), InputError),  # type: ignore[dict-item]
    (lambda: recall_at_k(["a"], ["a"], 3), InputError),
    (lambda: reciprocal_rank(["a"], None), InputError),
    (lambda: load_jsonl(5), UsageError),  # type: ignore[arg-type]
    (lambda: build_qrels(None), UsageError),  # type: ignore[arg-type]
    (lambda: build_qrels([1]), InputError),  # type: ignore[list-item]
    (lambda: evaluate_retrieval(5, Recipes()), UsageError),  # type: ignore[arg-type]
    (lambda: evaluate_retrieval([None], Recipes()), InputError),  # type: ignore[list-item]
    (lambda: evaluate_retrieval([{"query": "q", "source_recipe_id": 1}], None), UsageError),  # type: ignore[arg-type]
    (lambda: evaluate_retrieval([], Recipes()), InputError),
    (lambda: evaluate_retrieval([{"query": "q"}], Recipes()), InputError),
]


@pytest.mark.parametrize("number", range(len(FAULTY)))
def test_a_faulty_argument_is_refused(number: int) -> None:
    call, kind = FAULTY[number]
    with pytest.raises(kind):
        call()


def test_whole_floats_are_cutoffs_and_anything_in_order_is_a_list() -> None:
    assert compute_recall_at_k(["u1", "u2"], ["u2"], 2.0) == 1.0  # type: ignore[arg-type]
    assert compute_recall_at_k(["u1"], {"u1", 3}, 2) == 0.5
    assert dcg_at_k((grade for grade in (0, 3)), 2) == dcg_at_k([0, 3], 2)
    assert set(evaluate_all({"q": ["a"]}, {"q": {"a": 1}}, 2.0)) == {"P@2", "MRR", "NDCG@2"}  # type: ignore[arg-type]


def test_evaluate_all_gives_means_over_every_judged_query() -> None:
    qrels = {"q1": GRADES, "q2": {"a": 1}, "missing": {"b": 2}, "nothing": {}}
    means = evaluate_all({"q1": RANKED, "q2": ["x", "a"], "unjudged": ["z"]}, qrels, k=3)
    assert means == {
        "P@3": pytest.approx((2 / 3 + 1 / 3) / 3),
        "MRR": pytest.approx((1 + 1 / 2) / 3),
        "NDCG@3": pytest.approx((1 + 1 / math.log2(3)) / 3),
    }


def test_jsonl_is_loaded_and_becomes_qrels(tmp_path: Path) -> None:
    rows: list[tuple[Any, Any, int]] = [("q1", "007", 3), ("q1", "d2", 0), (2, 5, 1)]
    items = [{"query_id": query, "doc_id": doc, "rel": grade} for query, doc, grade in rows]
    path = tmp_path / "qrels.jsonl"
    path.write_text("\n".join(map(json.dumps, items)) + "\n\n")
    assert load_jsonl(path) == items
    assert load_jsonl(str(path)) == items
    assert build_qrels(items) == {"q1": {"007": 3, "d2": 0}, "2": {"5": 1}}
    assert build_qrels([]) == {}


def test_a_faulty_line_of_jsonl_is_named(tmp_path: Path) -> None:
    path = tmp_path / "broken.jsonl"
    path.write_text('{"id": 1}\n{"id": \n')
    with pytest.raises(InputError, match=r"broken\.jsonl:2:"):
        load_jsonl(path)


def test_judgements_that_contradict_each_other_are_refused() -> None:
    items = [{"query_id": "q", "doc_id": "d", "rel": grade} for grade in (1, 2)]
    with pytest.raises(InputError, match="two grades"):
        build_qrels(items)


class Recipes:
    """Finds documents 1 to 10, whatever the query."""

    def retrieve(self, query: str, top_k: int) -> list[dict[str, int]]:
        return [{"id": number} for number in range(1, top_k + 1)]


def test_evaluate_retrieval_keeps_the_keys_of_seed_002() -> None:
    queries = [{"query": f"where is {target}?", "source_recipe_id": target} for target in (1, 3, 99)]
    means, results = evaluate_retrieval(queries, Recipes())
    assert means == {
        "recall_at_1": pytest.approx(1 / 3),
        "recall_at_3": pytest.approx(2 / 3),
        "recall_at_5": pytest.approx(2 / 3),
        "recall_at_10": pytest.approx(2 / 3),
        "mrr": pytest.approx((1 + 1 / 3) / 3),
        "total_queries": 3,
    }
    assert results[1] == {
        "query": "where is 3?",
        "target_id": 3,
        "recall_1": 0,
        "recall_3": 1,
        "recall_5": 1,
        "recall_10": 1,
        "reciprocal_rank": pytest.approx(1 / 3),
        "target_rank": 3,
    }
    assert [result["target_rank"] for result in results] == [1, 3, None]


@pytest.mark.parametrize("rank", range(1, 11))
def test_the_rank_of_the_target_is_exact(rank: int) -> None:
    _, results = evaluate_retrieval([{"query": "q", "source_recipe_id": rank}], Recipes())
    assert results[0]["target_rank"] == rank


def test_one_target_is_found_or_not() -> None:
    assert recall_at_k([88, 33, 127], 127, 3) == 1
    assert recall_at_k([88, 33, 127], 127, 1) == 0
    assert reciprocal_rank([88, 33, 127], 127) == pytest.approx(1 / 3)
    assert reciprocal_rank([88, 33], 127) == 0.0


def test_the_urls_of_the_first_k_chunks_count_once_each() -> None:
    assert compute_recall_at_k(["url_A", "url_C", "url_A"], ["url_A", "url_B"]) == 0.5
    assert compute_recall_at_k(["x", "x", "a"], ["a"], k=2) == 0.0
    assert compute_recall_at_k(["a", "b"], {"b", "a"}) == 1.0
    assert compute_recall_at_k(["a"], ["a", "a"]) == 1.0


def test_the_answer_of_seed_003_scores_as_it_says() -> None:
    f1 = compute_answer_f1("The capital of France is Paris", "Paris is the capital city of France")
    assert f1 == pytest.approx(0.923, abs=5e-4)
    assert compute_answer_f1("", "Paris") == 0.0


def test_everything_that_is_offered_is_visible() -> None:
    assert [name for name in ir_eval.__all__ if name != "MODES" and not callable(getattr(ir_eval, name))] == []
    assert 10 <= len(ir_eval.__all__) == len(set(ir_eval.__all__))
    assert all(isinstance(mode, str) for mode in MODES)
