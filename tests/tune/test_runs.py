"""Fusion of runs: the values of a trial are those of the fused run, and a trained method sees its training queries only."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankproof as rp
from rankproof._data.qrels import Qrels
from rankproof._data.run import Run
from rankproof._evaluation.options import EvaluateArguments, EvaluateOptions, make_evaluate_options
from rankproof._evaluation.sources import prepare_judgements
from rankproof._fusion.fuse import fit_fusion, fuse
from rankproof._fusion.method import METHODS
from rankproof._tune.parameters import Settings
from rankproof._tune.trials import FusionObjective, fusion_space
from rankproof.errors import UsageError
from rankproof.measures._parse import parse_measure

QUERIES = ("q1", "q2", "q3", "é")
DOCS = ("a", "b", "c", "d", "007", "𝔸")
MEASURES = ("nDCG@3", "AP", "RR", "R@2", "bpref")
grades = st.dictionaries(
    st.sampled_from(QUERIES), st.dictionaries(st.sampled_from(DOCS), st.integers(-1, 3), min_size=1), min_size=2
)
scores = st.sampled_from([-1.0, 0.0, 0.5, 0.5, 2.0, 7.0])
found = st.dictionaries(st.sampled_from((*QUERIES, "unjudged")), st.dictionaries(st.sampled_from(DOCS), scores), min_size=1)


def objective(qrels: Qrels, runs: list[Run], measure: str, options: EvaluateOptions) -> FusionObjective:
    judged = prepare_judgements(qrels, options)
    return FusionObjective(qrels, judged, {str(at): run for at, run in enumerate(runs)}, parse_measure(measure), options)


def starts(runs: int) -> list[Settings]:
    """One trial of every method that is not trained."""
    chosen = [name for name, method in METHODS.items() if method.fit is None and method.runs in (None, runs)]
    return [family.start() for family in fusion_space(runs, chosen, ["z-score"], {}).families]


@given(
    grades,
    st.lists(found, min_size=2, max_size=3),
    st.sampled_from(MEASURES),
    st.sampled_from([{}, {"depth": 2}, {"judged_only": True}]),
)
def test_the_values_of_a_trial_are_those_of_the_fused_run(
    qrels: dict[str, Any], tables: list[dict[str, Any]], measure: str, how: EvaluateArguments
) -> None:
    judged, runs = Qrels.from_dict(qrels), [Run.from_dict(table) for table in tables]
    trials = objective(judged, runs, measure, make_evaluate_options(how))
    for settings in starts(len(runs)):
        fused = fuse(runs, **dict(settings))  # type: ignore[arg-type]
        if not set(fused.queries) & set(qrels):
            continue
        expected = rp.evaluate(judged, fused, [measure], **how).per_query(fused.name)
        [row] = trials.values([settings])
        assert row.tolist() == [next(iter(expected.values()))[query] for query in trials.queries], settings


def random_data(seed: int = 0) -> tuple[Qrels, list[Run]]:
    """Judgements of 40 queries, and two runs of 12 of 20 documents."""
    random = np.random.default_rng(seed)
    qrels = {f"q{query}": {f"d{doc}": 1 for doc in random.choice(20, 3, replace=False)} for query in range(40)}
    tables: list[dict[str, dict[str, float]]] = [{}, {}]
    for query, relevant in qrels.items():
        for at, table in enumerate(tables):
            kept = random.choice(20, 12, replace=False)
            table[query] = {f"d{doc}": float(random.normal() + (2 - 2 * at) * (f"d{doc}" in relevant)) for doc in kept}
    return Qrels.from_dict(qrels), [Run.from_dict(table) for table in tables]


@pytest.mark.parametrize("name", [name for name, method in METHODS.items() if method.fit is not None])
def test_a_trained_method_is_fitted_on_its_training_queries_only(name: str) -> None:
    qrels, runs = random_data()
    trials = objective(qrels, runs, "nDCG@10", EvaluateOptions())
    [settings] = [family.start() for family in fusion_space(2, [name], ["min-max"], {}).families]
    train = np.arange(0, 40, 2)
    seen = {query: qrels[query] for query in (trials.queries[at] for at in train)}
    given = {key: value for key, value in settings if key in ("segments",)}
    fitted = fit_fusion(name, seen, runs, **given)  # type: ignore[arg-type]
    rest: dict[str, Any] = {key: value for key, value in settings if key not in ("method", "segments")}
    expected = rp.evaluate(qrels, fuse(runs, name, fitted=fitted, **rest), ["nDCG@10"]).per_query(name)["nDCG@10"]
    row = trials.fitted_values(settings, train)
    assert row.tolist() == [expected[query] for query in trials.queries]
    assert row.tolist() != trials.values([settings])[0].tolist() or name == "mapfuse"


def test_every_method_is_tried_with_every_normalisation_that_it_uses() -> None:
    space = fusion_space(3, ["all"], ["all"], {}, step=0.5)
    tried = {dict(family.fixed)["method"] for family in space.families}
    assert tried == {name for name, method in METHODS.items() if method.runs in (None, 3)}
    assert space.default == (("method", "rrf"), ("k", 60.0), ("weights", (1.0, 1.0, 1.0)))


def test_the_first_method_with_its_defaults_is_the_baseline() -> None:
    space = fusion_space(2, ["gmnz", "rrf"], ["z-score", "sum"], {"gamma": "0,1"})
    assert space.default == (("method", "gmnz"), ("norm", "z-score"), ("gamma", 0.5), ("weights", (1.0, 1.0)))


@pytest.mark.parametrize(
    ("methods", "norms", "vary", "what"),
    [
        (["rff"], ["sum"], {}, "no fusion method is called rff"),
        ([], ["sum"], {}, "no fusion method is chosen"),
        (["combsum"], ["l2"], {}, "no normalisation is called l2"),
        (["convex"], ["sum"], {}, "convex fuses 2 runs"),
        (["rrf"], ["sum"], {"gamma": "1"}, "the methods have no parameter gamma"),
    ],
)
def test_unknown_methods_and_parameters_are_refused(
    methods: list[str], norms: list[str], vary: dict[str, Any], what: str
) -> None:
    with pytest.raises(UsageError, match=what):
        fusion_space(3, methods, norms, vary)


def test_tuning_finds_the_better_run_in_python() -> None:
    qrels, runs = random_data(1)
    tuning = rp.tune(qrels, {"good": runs[0], "bad": runs[1]}, "AP", method="combsum", norm=["min-max", "z-score"], repeats=3)
    assert tuning.settings["weights"][0] > 0.5
    assert tuning.toml is None
    assert tuning.gain == tuning.records("gain")[0]["gain"]
    with pytest.raises(UsageError, match="needs a dataset"):
        tuning.save("tuned.toml")


def test_trained_methods_compete_with_others_and_can_be_written(tmp_path: Any) -> None:
    qrels, runs = random_data(2)
    names = {}
    for name, run in zip(("good", "bad"), runs, strict=True):
        names[name] = str(tmp_path / f"{name}.run")
        rp.write_run(run, names[name])
    (tmp_path / "queries.jsonl").write_text("".join(f'{{"_id": "{query}", "text": "{query}"}}\n' for query in qrels))
    rp.write_qrels(qrels, str(tmp_path / "qrels.tsv"))
    tuning = rp.tune(qrels, names, "AP", method="probfuse,mapfuse", repeats=2, dataset=str(tmp_path))
    tuning.save(str(tmp_path / "tuned.toml"))
    means = rp.run(str(tmp_path / "tuned.toml"), rp.types.RunOptions(cache=None)).result
    assert rp.read_experiment(tmp_path / "tuned.toml").systems["tuned"].fitted  # type: ignore[attr-defined]
    assert "tuned" in means.means


def test_a_gain_that_is_the_same_on_every_query_has_no_interval_and_says_why() -> None:
    queries = [f"q{at}" for at in range(20)]
    bad, good = {q: {"b": 2.0, "a": 1.0} for q in queries}, {q: {"a": 2.0, "c": 1.0} for q in queries}
    found = rp.tune({q: {"a": 1} for q in queries}, {"bad": bad, "good": good}, method="combsum")
    assert found.gain > 0
    assert found.interval is None
    assert "fewer than 10 held-out queries differ, or all by the same amount" in " ".join(str(found).split())


def test_a_measure_that_is_no_measure_is_refused() -> None:
    runs: dict[str, Any] = {"a": {"q": {"d": 1.0}}, "b": {"q": {"d": 2.0}}}
    with pytest.raises(UsageError, match="5 is not a measure"):
        rp.tune({"q": {"d": 1}}, runs, measure=5)  # type: ignore[arg-type]
