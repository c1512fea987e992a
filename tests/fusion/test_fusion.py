"""Fusion: worked examples, laws over every method, and wrong arguments."""

from __future__ import annotations

import math
from functools import reduce
from operator import add
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankproof._data.run import Run, RunRow
from rankproof._fusion.fuse import fit_fusion, fuse, partial_queries
from rankproof._fusion.method import METHODS
from rankproof._fusion.normalisations import NORMALISATIONS, ScoreLists
from rankproof.errors import InputError, UsageError
from support.examples import examples

ids = st.sampled_from(["a", "b", "c", "é", "𝔸", "007"])
finite = st.floats(allow_nan=False, allow_infinity=False)
tables = st.lists(
    st.dictionaries(st.sampled_from(["q1", "q2", "q3"]), st.dictionaries(ids, finite, max_size=6), min_size=1),
    min_size=1,
    max_size=4,
)
UNBOUNDED = ("none", "max")
"""Normalisations after which extreme scores can still overflow."""
WAYS = [
    (name, norm)
    for name, method in METHODS.items()
    for norm in ([norm for norm in NORMALISATIONS if norm not in UNBOUNDED] if "norm" in method.uses else ["none"])
]
A = Run.from_dict({"q1": {"d1": 9.0, "d2": 8.0, "d3": 1.0}}, name="a")
B = Run.from_dict({"q1": {"d3": 0.7, "d4": 0.5}}, name="b")


LEARNED_FROM = {"q1": {"a": 1, "b": 0, "é": 2}, "q3": {"c": 1}, "q4": {"a": 1}}


def scores(run: Run, query: str = "q1") -> dict[str, float]:
    return {row.doc: row.score for row in run.rows() if row.query == query}


def fused(runs: list[Run], method: str, norm: str, **more: Any) -> Run:
    runs = (2 * runs)[: METHODS[method].runs or len(runs)]
    learned: dict[str, Any] = {"fitted": fit_fusion(method, LEARNED_FROM, runs)} if METHODS[method].fit else {}
    return fuse(runs, method, norm=norm, weights=weights_of(method, len(runs)), **learned, **more)


def weights_of(method: str, count: int) -> list[float] | None:
    """The weights 1, 2, 3 and so on; None for a method without weights."""
    return [1.0 + at for at in range(count)] if "weights" in METHODS[method].uses else None


def test_reciprocal_ranks_are_summed() -> None:
    assert scores(fuse([A, B])) == {"d3": 1 / 63 + 1 / 61, "d1": 1 / 61, "d4": 1 / 62, "d2": 1 / 62}
    assert fuse([A, B]).docs == ("d3", "d1", "d4", "d2")


def test_k_and_weights_of_reciprocal_ranks() -> None:
    assert scores(fuse([A, B], k=0, weights=[2, 1])) == {"d1": 2.0, "d3": 2 / 3 + 1, "d2": 1.0, "d4": 0.5}


def test_comb_sum_over_min_max() -> None:
    assert scores(fuse([A, B], "combsum")) == {"d1": 1.0, "d3": 1.0, "d2": 0.875, "d4": 0.0}


def test_comb_mnz_counts_the_runs_that_have_a_document() -> None:
    assert scores(fuse([A, B], "combmnz")) == {"d3": 2.0, "d1": 1.0, "d2": 0.875, "d4": 0.0}


def test_a_weighted_sum_over_z_scores() -> None:
    found = scores(fuse([A, B], "combsum", weights=[0.5, 2], norm="z-score"))
    deviation = math.sqrt(38 / 3)
    assert found["d3"] == pytest.approx(0.5 * -5 / deviation + 2)
    assert found["d4"] == pytest.approx(-2)


def test_unnormalised_scores_are_summed() -> None:
    assert scores(fuse([A, B], "combsum", norm="none"))["d3"] == 1.7


def test_equal_scores_become_one_under_min_max_and_zero_under_z_score() -> None:
    flat = Run.from_dict({"q1": {"d1": 5.0, "d2": 5.0}, "q2": {"d1": -3.0}})
    assert scores(fuse([flat], "combsum")) == {"d1": 1.0, "d2": 1.0}
    assert scores(fuse([flat], "combsum"), "q2") == {"d1": 1.0}
    assert scores(fuse([flat], "combsum", norm="z-score")) == {"d1": 0.0, "d2": 0.0}


def test_extreme_scores_do_not_overflow_under_a_norm() -> None:
    wild = Run.from_dict({"q1": {"a": 1.7e308, "b": -1.7e308, "c": 0.0}, "q2": {"a": 5e-324, "b": 0.0}})
    assert scores(fuse([wild], "combsum")) == {"a": 1.0, "c": 0.5, "b": 0.0}
    assert scores(fuse([wild], "combsum"), "q2") == {"a": 1.0, "b": 0.0}
    assert scores(fuse([wild], "combsum", norm="z-score"))["a"] == pytest.approx(math.sqrt(1.5))


def test_a_sum_beyond_double_is_rejected_with_the_fix() -> None:
    big = Run.from_dict({"q1": {"a": 1.7e308}})
    with pytest.raises(InputError, match="outside the range of a 64-bit float; lower the weights and parameters, or normalise"):
        fuse([big, big], "combsum", norm="none")


@pytest.mark.parametrize("method", ["combsum", "combmnz"])
@pytest.mark.parametrize("norm", ["none", "z-score"])
def test_a_product_beyond_double_is_rejected_without_a_warning_of_numpy(method: str, norm: str) -> None:
    wide = Run.from_dict({"q1": {f"d{at}": 0.0 for at in range(9)} | {"up": 1e9}})
    with pytest.raises(InputError, match="outside the range of a 64-bit float"):
        fuse([wide, wide], method, norm=norm, weights=[1e308, 1e308])


def test_ties_are_broken_by_id_descending_before_and_after() -> None:
    tied = Run.from_dict({"q1": {"a": 1.0, "𝔸": 1.0, "\ufffd": 1.0}})
    assert fuse([tied]).docs == ("𝔸", "\ufffd", "a")
    assert fuse([tied], "combsum").docs == ("𝔸", "\ufffd", "a")


def test_a_query_that_one_run_lacks_is_fused_from_the_others_and_named() -> None:
    other = Run.from_dict({"q2": {"d1": 1.0}, "q3": {}})
    both = fuse([A, other])
    assert both.queries == ("q1", "q2", "q3")
    assert scores(both) == scores(fuse([A]))
    assert partial_queries([A, other]) == ("q1", "q2", "q3")
    assert partial_queries([A, B]) == ()


def test_depth_keeps_the_best() -> None:
    assert fuse([A, B], depth=2).docs == ("d3", "d1")


def test_the_fused_run_has_ranks_and_a_name() -> None:
    run = fuse([A, B], "combsum", name="both")
    assert run.ranks is not None
    assert (run.name, run.ranks.tolist()) == ("both", [1, 2, 3, 4])


@pytest.mark.parametrize(("method", "norm"), WAYS)
@examples(50)
@given(tables=tables)
def test_every_method_ranks_exactly_the_given_documents_best_first(method: Any, norm: Any, tables: Any) -> None:
    tables = (2 * tables)[: METHODS[method].runs or len(tables)]
    run = fused([Run.from_dict(table) for table in tables], method, norm)
    for query in run.queries:
        found = [(row.score, row.doc) for row in run.rows() if row.query == query]
        assert {doc for _, doc in found} == {doc for table in tables for doc in table.get(query, {})}
        assert found == sorted(found, reverse=True)
    assert set(run.queries) == {query for table in tables for query in table}
    assert np.isfinite(run.scores).all()


@pytest.mark.parametrize(("method", "norm"), WAYS)
@examples(50)
@given(tables=tables, seed=st.randoms())
def test_the_order_of_rows_never_matters(method: Any, norm: Any, tables: Any, seed: Any) -> None:
    straight = fused([Run.from_dict(table) for table in tables], method, norm)
    shuffled = []
    for table in tables:
        rows = [RunRow(query, doc, score) for query, docs in table.items() for doc, score in docs.items()]
        seed.shuffle(rows)
        shuffled.append(Run.from_rows(rows, queries=table))
    again = fused(shuffled, method, norm)
    assert {query: scores(again, query) for query in again.queries} == {
        query: scores(straight, query) for query in straight.queries
    }


@given(tables=tables, power=st.integers(-20, 20))
def test_normalisations_do_not_depend_on_the_scale(tables: Any, power: int) -> None:
    small = [{q: {d: s for d, s in docs.items() if 1e-200 < abs(s) < 1e200} for q, docs in table.items()} for table in tables]
    scaled = [{q: {d: s * 2.0**power for d, s in docs.items()} for q, docs in table.items()} for table in small]
    for norm in ("min-max", "z-score"):
        first, second = (fuse([Run.from_dict(t) for t in ts], "combsum", norm=norm) for ts in (small, scaled))
        assert first.docs == second.docs
        assert first.scores.tolist() == second.scores.tolist()


def by_dictionary(
    tables: list[dict[str, dict[str, float]]], query: str, method: str, norm: str, k: float
) -> list[tuple[float, str]]:
    """The definition, one document at a time."""
    parts: dict[str, list[float]] = {}
    for weight, table in enumerate(tables, start=1):
        rows = sorted(((score, doc) for doc, score in table.get(query, {}).items()), reverse=True)
        values = (
            NORMALISATIONS[norm].normalise(ScoreLists.of_ranking(np.array([score for score, _ in rows]))).tolist() if rows else []
        )
        for rank, ((_, doc), value) in enumerate(zip(rows, values, strict=True), start=1):
            part = 1 / (k + rank) if method == "rrf" else value
            parts.setdefault(doc, []).append(weight * part)
    totals = {doc: reduce(add, sorted(each)) * (len(each) if method == "combmnz" else 1) for doc, each in parts.items()}
    return sorted(((total, doc) for doc, total in totals.items()), reverse=True)


@pytest.mark.parametrize(
    ("method", "norm"), [way for way in WAYS if way[0] in ("rrf", "combsum", "combmnz") and way[1] != "borda"]
)
@examples(100)
@given(tables=tables, k=st.sampled_from([0.0, 1.0, 60.0]))
def test_rrf_combsum_and_combmnz_follow_their_definition_to_the_last_bit(method: Any, norm: Any, tables: Any, k: float) -> None:
    run = fused([Run.from_dict(table) for table in tables], method, norm, k=k)
    for query in run.queries:
        found = [(row.score, row.doc) for row in run.rows() if row.query == query]
        assert found == by_dictionary(tables, query, method, norm, k)


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "method": ({"method": "magic"}, f"no fusion method is called magic; choose one of {', '.join(METHODS)}$"),
    "norm": (
        {"method": "combsum", "norm": "most"},
        f"norm is most; choose one of {', '.join(NORMALISATIONS)}$",
    ),
    "k": ({"k": -1}, "k is -1"),
    "k that is no number": ({"k": math.nan}, "k is nan"),
    "depth": ({"depth": 0}, "depth is 0"),
    "k that is text": ({"k": "60"}, "k is 60"),
    "depth that is no integer": ({"depth": 2.5}, r"depth is 2\.5"),
    "weights that are text": ({"weights": ["1", "2"]}, "a weight is negative or not finite"),
    "weights that are one number": ({"weights": 2}, "the weights are an int"),
    "order": ({"order": "ranks"}, "no order is called ranks; choose one of score, rank"),
    "scores by rank": ({"method": "combsum", "order": "rank"}, "combsum uses scores, .*; order by score, or use one of rrf, "),
    "distances by rank": ({"order": "rank", "lower_is_better": True}, "lower_is_better has no effect when ordering by rank"),
    "too few weights": ({"weights": [1.0]}, "1 weight for 2 runs"),
    "negative weights": ({"weights": [1.0, -1.0]}, "a weight is negative or not finite"),
    "no weight at all": ({"weights": [0.0, 0.0]}, "not all 0"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_settings_are_rejected(case: str) -> None:
    settings_, words = WRONG[case]
    with pytest.raises(UsageError, match=words):
        fuse([A, B], **settings_)


def test_fusing_no_run_is_an_error() -> None:
    with pytest.raises(UsageError, match="there is no run to fuse"):
        fuse([])


@pytest.mark.parametrize("runs", [[{"q1": {"d1": 1.0}}], [A, "b.run"], A, "b.run", None])
def test_fusing_anything_but_runs_is_an_error(runs: Any) -> None:
    with pytest.raises(UsageError, match="cannot be a "):
        fuse(runs)


NEAR = [RunRow("q1", "far", 0.9, rank=3), RunRow("q1", "near", 0.1, rank=1), RunRow("q1", "middle", 0.5, rank=2)]


def test_distances_are_negated_with_lower_is_better() -> None:
    near = Run.from_rows(NEAR)
    assert fuse([near]).docs == ("far", "middle", "near")
    assert fuse([near], lower_is_better=True).docs == ("near", "middle", "far")
    assert scores(fuse([near], "combsum", lower_is_better=True)) == {"near": 1.0, "middle": 0.5, "far": 0.0}


def test_order_by_rank_uses_ranks_and_needs_all_of_them() -> None:
    assert scores(fuse([Run.from_rows(NEAR)], order="rank")) == {"near": 1 / 61, "middle": 1 / 62, "far": 1 / 63}
    for rows in ([*NEAR, RunRow("q1", "lost", 0.2)], [RunRow("q1", "lost", 0.2)]):
        with pytest.raises(InputError, match="the run has no ranks to order by"):
            fuse([Run.from_rows(rows)], order="rank")
    assert fuse([Run.from_dict({"q1": {}})], order="rank").docs == ()


def test_a_document_twice_is_rejected() -> None:
    twice = Run.from_rows([RunRow("q1", "d1", 1.0, line=1), RunRow("q1", "d1", 2.0, line=2)], source="r.run")
    with pytest.raises(InputError, match=r"r\.run:2: document d1 appears twice"):
        fuse([twice])
