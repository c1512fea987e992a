"""Every method on one worked example, and laws of methods and normalisations."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankproof as rp
from rankproof._cli.parser import parser_of
from rankproof._data.run import Run
from rankproof._data.validation import checked_setting
from rankproof._experiment.config_settings import EVERY
from rankproof._fusion import kernels
from rankproof._fusion.fuse import fit_fusion, fuse
from rankproof._fusion.method import METHODS, PARAMETERS, FittedFusion, method_named
from rankproof._fusion.normalisations import NORMALISATIONS, RESERVED_NAMES, ScoreLists
from rankproof._registry import arguments_of, settings_of
from rankproof.errors import UsageError
from rankproof.stages import Fuse, Rerank
from support.examples import examples

A = Run.from_dict({"q": {"x": 8.0, "y": 6.0, "z": 0.0}})
B = Run.from_dict({"q": {"y": 3.0, "w": 1.0}})
QRELS = {"q": {"x": 1, "y": 0}, "r": {"x": 2}}
"""Two training queries, of which the runs have one: at rank 1 of A is a relevant document, B has none."""
LOG_ODDS = math.log(0.1 / 0.9), math.log(0.001 / 0.999)

EXAMPLES: dict[str, tuple[dict[str, Any], dict[str, float]]] = {
    "rrf": ({"k": 1}, {"x": 1 / 2, "y": 1 / 3 + 1 / 2, "z": 1 / 4, "w": 1 / 3}),
    "isr": ({}, {"x": 1.0, "y": 2 * (1 / 4 + 1), "z": 1 / 9, "w": 1 / 4}),
    "log-isr": ({}, {"x": 0.0, "y": math.log(2) * 5 / 4, "z": 0.0, "w": 0.0}),
    "logn-isr": (
        {"sigma": 1},
        {"x": math.log(2), "y": math.log(3) * 5 / 4, "z": math.log(2) / 9, "w": math.log(2) / 4},
    ),
    "rbc": ({"phi": 0.5}, {"x": 0.5, "y": 0.25 + 0.5, "z": 0.125, "w": 0.25}),
    "combsum": ({"weights": (2, 1)}, {"x": 2.0, "y": 2.5, "z": 0.0, "w": 0.0}),
    "combmnz": ({}, {"x": 1.0, "y": 2 * 1.75, "z": 0.0, "w": 0.0}),
    "combanz": ({}, {"x": 1.0, "y": 1.75 / 2, "z": 0.0, "w": 0.0}),
    "combmin": ({}, {"x": 1.0, "y": 0.75, "z": 0.0, "w": 0.0}),
    "combmax": ({}, {"x": 1.0, "y": 1.0, "z": 0.0, "w": 0.0}),
    "combmed": ({"norm": "none"}, {"x": 8.0, "y": 4.5, "z": 0.0, "w": 1.0}),
    "gmnz": ({"gamma": 2}, {"x": 1.0, "y": 4 * 1.75, "z": 0.0, "w": 0.0}),
    "wmnz": ({"weights": (2, 1)}, {"x": 2.0, "y": 3 * 1.75, "z": 0.0, "w": 0.0}),
    "mixed": ({"weights": (2, 1)}, {"x": 2.0, "y": math.sqrt(2) * 2.5, "z": 0.0, "w": 0.0}),
    "convex": ({"alpha": 0.25}, {"x": 0.75, "y": 0.75 * 0.75 + 0.25, "z": 0.0, "w": 0.0}),
    "dbsf": (
        {},
        {
            "x": 0.5 + 10 / 3 / math.sqrt(52 / 3) / 6,
            "y": 0.5 + 4 / 3 / math.sqrt(52 / 3) / 6 + 0.5 + 1 / math.sqrt(2) / 6,
            "z": 0.5 - 14 / 3 / math.sqrt(52 / 3) / 6,
            "w": 0.5 - 1 / math.sqrt(2) / 6,
        },
    ),
    "borda": ({}, {"x": 4 + 1.5, "y": 3 + 4.0, "z": 2 + 1.5, "w": 1.0 + 3}),
    "condorcet": ({}, {"y": 4.0, "x": 3.0, "w": 2.0, "z": 1.0}),
    "bayesfuse": ({}, {"x": sum(LOG_ODDS), "y": sum(LOG_ODDS), "z": sum(LOG_ODDS), "w": 2 * LOG_ODDS[1]}),
    "mapfuse": ({}, {"x": 0.5, "y": 0.25, "z": 0.5 / 3, "w": 0.0}),
    "posfuse": ({}, {"x": 1.0, "y": 0.0, "z": 0.0, "w": 0.0}),
    "slidefuse": ({"window": 1}, {"x": 1 / 2, "y": 1 / 3, "z": 0.0, "w": 0.0}),
    "probfuse": ({"segments": 2}, {"x": 1 / 4, "y": 1 / 4, "z": 0.0, "w": 0.0}),
    "segfuse": ({"norm": "none"}, {"x": 0.1 * 9, "y": 0.1 * 7, "z": 0.1, "w": 0.0}),
}


def fused(runs: list[Run], method: str, **settings: Any) -> Run:
    if METHODS[method].fit:
        segments = settings.pop("segments", 10)
        settings["fitted"] = fit_fusion(method, QRELS, runs, segments=segments)
    return fuse(runs, method, **settings)


def scores_of(run: Run) -> dict[tuple[str, str], float]:
    return {(row.query, row.doc): row.score for row in run.rows()}


@pytest.mark.parametrize("method", METHODS)
def test_a_method_gives_the_scores_of_its_worked_example(method: str) -> None:
    settings, expected = EXAMPLES[method]
    found = {doc: score for (_, doc), score in scores_of(fused([A, B], method, **settings)).items()}
    assert found == pytest.approx(expected, rel=1e-12, abs=1e-15)


NORMALISED: dict[str, tuple[list[float], list[float], list[float]]] = {
    "min-max": ([1.0, 0.5, 0.0], [1.0, 1.0], [1.0, 0.0]),
    "max": ([1.0, 0.0, -1.0], [1.0, 1.0], [-0.5, -1.0]),
    "sum": ([2 / 3, 1 / 3, 0.0], [0.5, 0.5], [1.0, 0.0]),
    "z-score": ([math.sqrt(1.5), 0.0, -math.sqrt(1.5)], [0.0, 0.0], [1.0, -1.0]),
    "dbsf": ([0.5 + 1 / 6, 0.5, 0.5 - 1 / 6], [0.5, 0.5], [0.5 + 0.5**0.5 / 6, 0.5 - 0.5**0.5 / 6]),
    "rank": ([1.0, 2 / 3, 1 / 3], [1.0, 0.5], [1.0, 0.5]),
    "borda": ([1.0, 0.75, 0.5], [1.0, 0.75], [1.0, 0.75]),
    "none": ([4.0, 0.0, -4.0], [5.0, 5.0], [-1.0, -2.0]),
}


@pytest.mark.parametrize("norm", NORMALISATIONS)
def test_a_normalisation_has_defined_values_for_equal_negative_and_no_scores(norm: str) -> None:
    lists = ScoreLists(
        np.array([4.0, 0.0, -4.0, 5.0, 5.0, -1.0, -2.0]), np.array([3, 0, 2, 2], np.int64), np.full(4, 4, np.int64)
    )
    assert NORMALISATIONS[norm].normalise(lists).tolist() == pytest.approx([one for part in NORMALISED[norm] for one in part])
    empty = ScoreLists.of_ranking(np.zeros(0))
    assert NORMALISATIONS[norm].normalise(empty).tolist() == []


def test_the_borda_normalisation_gives_a_missing_document_the_mean_of_what_is_left() -> None:
    found = scores_of(fuse([B], "combsum", norm="borda")) | scores_of(fuse([A, B], "combmin", norm="borda"))
    assert found == {("q", "y"): 0.75, ("q", "x"): 0.375, ("q", "z"): 0.375, ("q", "w"): 0.25}


ids = st.sampled_from(["a", "b", "c", "é", "𝔸", "007"])
values = st.sampled_from([0.0, 1.0, 2.0, -1.5, 0.1, 7.3, 1e-3])
tables = st.lists(
    st.dictionaries(st.sampled_from(["q", "r", "s"]), st.dictionaries(ids, values, max_size=6), min_size=1),
    min_size=2,
    max_size=5,
)
WAYS = [(name, norm) for name, one in METHODS.items() for norm in (NORMALISATIONS if "norm" in one.uses else ["min-max"])]


@pytest.mark.parametrize(("method", "norm"), [way for way in WAYS if METHODS[way[0]].runs is None])
@examples(30)
@given(tables=tables, seed=st.randoms())
def test_the_order_of_runs_changes_no_bit(method: str, norm: str, tables: Any, seed: Any) -> None:
    order = list(range(len(tables)))
    seed.shuffle(order)
    weights = {"weights": [0.1 * (at + 1) for at in order]} if "weights" in METHODS[method].uses else {}
    straight = {"weights": [0.1 * (at + 1) for at in range(len(tables))]} if weights else {}
    runs = [Run.from_dict(table) for table in tables]
    one = fused(runs, method, norm=norm, **straight)
    other = fused([runs[at] for at in order], method, norm=norm, **weights)
    assert scores_of(one) == scores_of(other)


@pytest.mark.skipif(kernels.best_kernel() == "plain", reason="the native merge was not built")
@pytest.mark.parametrize(("method", "norm"), WAYS)
def test_every_method_has_the_same_bits_without_the_native_code(method: str, norm: str, monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(5)
    runs = [
        Run.from_dict(
            {q: {f"d{doc}": float(random.integers(0, 9)) / 7 for doc in random.permutation(40)[: 20 + 5 * at]} for q in "qrs"}
        )
        for at in range(METHODS[method].runs or 3)
    ]
    native = fused(runs, method, norm=norm)
    monkeypatch.setattr(kernels, "best_kernel", lambda: "plain")
    plain = fused(runs, method, norm=norm)
    assert native.docs == plain.docs
    assert native.scores.tobytes() == plain.scores.tobytes()


@examples(200)
@given(ranks=st.lists(st.permutations("abcdef"), min_size=1, max_size=5), depth=st.integers(1, 6))
def test_a_condorcet_winner_comes_first_and_a_condorcet_loser_last(ranks: Any, depth: int) -> None:
    found = fuse([Run.from_dict({"q": list(one)[:depth]}) for one in ranks], "condorcet").docs

    def beats(one: str, other: str) -> bool:
        at = [(list(run)[:depth] + ["none"] * 6) for run in ranks]
        place = [tuple(run.index(doc) if doc in run else 99 for doc in (one, other)) for run in at]
        return sum(a < b for a, b in place) > sum(b < a for a, b in place)

    for doc in found:
        others = [other for other in found if other != doc]
        if all(beats(doc, other) for other in others):
            assert found[0] == doc
        if all(beats(other, doc) for other in others):
            assert found[-1] == doc
    assert all(not beats(after, before) for before, after in pairwise(found))


def test_a_training_query_that_a_run_lacks_counts_as_an_empty_ranking() -> None:
    learned = fit_fusion("mapfuse", {"q": {"x": 1}, "r": {"x": 1}, "s": {"x": 1, "y": 1}}, [A, B])
    assert learned == FittedFusion("mapfuse", ((1 / 3,), (0.0,)))
    whole = [Run.from_dict({"q": {"x": 2.0, "y": 1.0}, "r": {"x": 1.0}}), Run.from_dict({"r": {"x": 1.0}})]
    assert fit_fusion("posfuse", {"q": {"y": 1}, "r": {"x": 1}}, whole).values == ((0.5, 1.0), (1.0,))
    assert fit_fusion("probfuse", {"q": {"y": 1}, "r": {"x": 1}}, whole, segments=1).values == ((0.75,), (0.5,))


@examples(50)
@given(tables=tables, seed=st.randoms())
def test_the_order_of_training_queries_and_documents_changes_no_bit(tables: Any, seed: Any) -> None:
    qrels = {"q": {"a": 1, "b": 1}, "r": {"c": 2, "é": 0}, "s": {"a": 1}, "t": {"a": 1}}

    def shuffled(mapping: Any) -> Any:
        items = list(mapping.items())
        seed.shuffle(items)
        return {key: shuffled(value) if isinstance(value, dict) else value for key, value in items}

    for method in (name for name, one in METHODS.items() if one.fit):
        straight = fit_fusion(method, qrels, [Run.from_dict(table) for table in tables])
        assert fit_fusion(method, shuffled(qrels), [Run.from_dict(shuffled(table)) for table in tables]) == straight


def test_a_rank_below_the_training_depth_has_no_points_and_below_1000_the_odds_of_a_missing_document() -> None:
    deep = Run.from_dict({"q": [f"d{at:04d}" for at in range(1, 1003)]})
    learned = fit_fusion("bayesfuse", {"q": {"d0001": 1, "d1000": 1}}, [deep])
    found = scores_of(fuse([deep], "bayesfuse", fitted=learned))
    assert found["q", "d1000"] == math.log((1 / 500) / (499 / 500))
    assert found["q", "d1001"] == found["q", "d1002"] == LOG_ODDS[1]
    short = fit_fusion("posfuse", {"q": {"x": 1, "y": 1, "z": 1}}, [A])
    assert scores_of(fuse([deep], "posfuse", fitted=short))["q", "d0004"] == 0.0


def test_names_of_ranx_are_aliases() -> None:
    names = {"wsum": "combsum", "mnz": "combmnz", "w_bordafuse": "borda", "w_condorcet": "condorcet", "log_isr": "log-isr"}
    assert {name: method_named(name).name for name in names} == names
    assert fuse([A, B], "wsum", weights=[1, 2]).docs == fuse([A, B], "combsum", weights=[1, 2]).docs
    every = [*METHODS, *(alias for one in METHODS.values() for alias in one.aliases)]
    assert len(set(every)) == len(every)


def test_every_parameter_is_used_and_its_values_are_allowed() -> None:
    used = {name for one in METHODS.values() for name in (*one.uses, *one.fit_uses)}
    assert used == set(PARAMETERS)
    tried = [(setting, value) for setting in PARAMETERS.values() for value in setting.option.values]
    assert len(tried) >= 80
    assert [(setting.key, value) for setting, value in tried if checked_setting(setting, value) != value] == []


def test_the_names_that_a_parameter_cannot_have_are_those_of_python_files_and_flags() -> None:
    flags = {action.dest for action in parser_of("fuse")._actions if action.dest.isidentifier()}
    keys = {setting.key for part in (Fuse, Rerank) for setting in settings_of(part)} | set(EVERY)
    assert (set(arguments_of(rp.fuse)) | keys | flags) <= RESERVED_NAMES


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "phi": ({"method": "rbc", "phi": 1.5}, "phi is 1.5; choose a number from 0 to 1"),
    "window": ({"method": "slidefuse", "window": 1.5}, "window is 1.5; choose a whole number of at least 0"),
    "setting": ({"beta": 1}, "fusion has no setting beta; choose among norm, k, "),
    "untrained": ({"method": "posfuse"}, r"posfuse is trained, and nothing was fitted; pass fitted=fit_fusion\('posfuse', "),
    "trained": ({"fitted": ((1.0,), (1.0,))}, "rrf is not trained; leave out what was fitted"),
    "other method": (
        {"method": "posfuse", "fitted": FittedFusion("mapfuse", ((1.0,), (1.0,)))},
        "fitted is of mapfuse, and the method is posfuse; use mapfuse",
    ),
    "other runs": ({"method": "posfuse", "fitted": ((1.0,),)}, "fitted on 1 run, and there are 2; fit and fuse the same systems"),
    "other numbers": ({"method": "mapfuse", "fitted": ((1.0,), (1.0, 2.0))}, "mapfuse learns 1 numbers of each run"),
    "no number": ({"method": "probfuse", "fitted": ((1.0,), ())}, "fitted holds no number"),
    "infinite": ({"method": "posfuse", "fitted": ((1.0,), (math.inf,))}, "or one that is not finite"),
    "text": ({"method": "posfuse", "fitted": "1"}, "fitted on 1 run"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_settings_are_refused(case: str) -> None:
    settings, words = WRONG[case]
    with pytest.raises(UsageError, match=words):
        fuse([A, B], **settings)


def test_wrong_training_is_refused() -> None:
    with pytest.raises(UsageError, match="rrf is not trained"):
        fit_fusion("rrf", QRELS, [A])
    with pytest.raises(UsageError, match="there are no judgements to learn from"):
        fit_fusion("posfuse", {}, [A])
    with pytest.raises(UsageError, match="segments is 0; choose a whole number from 1 to 1,000"):
        fit_fusion("probfuse", QRELS, [A], segments=0)
    with pytest.raises(UsageError, match="convex fuses 2 runs, and there are 3; pass 2 runs, or use combsum with weights"):
        fuse([A, B, A], "convex")


@pytest.mark.parametrize("method", [one.name for one in METHODS.registered().values() if one.fit])
def test_a_fit_without_a_judged_query_in_the_runs_is_refused(method: str) -> None:
    with pytest.raises(UsageError, match="no judged query is in a run to learn from; pass judgements of the queries of the runs"):
        rp.fit_fusion(method, {"elsewhere": {"x": 1}}, [A, B])
