"""The fuse stage gives the same ranking as `rankproof fuse`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rankproof import read_experiment
from rankproof._data.run import Run
from rankproof._experiment.config_write import experiment_toml
from rankproof._fusion.fuse import fit_fusion, fuse
from rankproof._fusion.method import METHODS
from rankproof._fusion.normalisations import NORMALISATIONS
from rankproof.errors import UsageError
from rankproof.stages import BM25, RRF, Dense, Fuse
from support.examples import sampled
from support.small_models import HashedWords
from support.stage_building import context_of, corpus_of, ranking_of

STAGES = (BM25(), Dense(HashedWords()))
GROUND = context_of(corpus_of({f"d{at}": f"w{at % 3} w{at % 5} common" for at in range(12)}))


def run_of(stage: Any) -> Run:
    docs, scores = ranking_of(stage, GROUND, "w1 w4 common")
    return Run.from_dict({"q": dict(zip(docs, scores.tolist(), strict=True))})


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("norm", sampled(NORMALISATIONS, 3))
def test_the_stage_and_the_verb_have_one_definition(method: Any, norm: Any) -> None:
    options: dict[str, Any] = {"method": method, "norm": norm, "k": 7, "depth": 9}
    runs = [run_of(stage) for stage in STAGES]
    if "weights" in METHODS[method].uses:
        options["weights"] = (1.0, 0.3)
    if METHODS[method].fit:
        options["fitted"] = fit_fusion(method, {"q": {"d1": 1, "d4": 1}}, runs)
    docs, scores = ranking_of(Fuse(STAGES, **options), GROUND, "w1 w4 common")
    run = fuse(runs, **options)
    assert tuple(docs) == run.docs
    assert scores.tolist() == run.scores.tolist()


def test_the_short_name_is_reciprocal_ranks() -> None:
    assert RRF(list(STAGES)) == Fuse(STAGES, "rrf", k=60)
    assert RRF(STAGES, k=10, weights=[2, 1], depth=5) == Fuse(STAGES, k=10, weights=(2.0, 1.0), depth=5)


def test_the_facts_have_method_and_weights() -> None:
    assert RRF(STAGES).build(GROUND).facts() == {"method": "rrf", "weights": [1.0, 1.0], "k": 60.0}
    assert Fuse(STAGES, "combsum").build(GROUND).facts() == {"method": "combsum", "weights": [1.0, 1.0], "norm": "min-max"}


def test_what_was_fitted_goes_into_an_experiment_file_and_back(tmp_path: Path) -> None:
    file = tmp_path / "experiment.toml"
    file.write_text(
        'dataset = "sample"\n[systems.bm25]\nstage = "bm25"\n[systems.title]\nstage = "bm25"\nfields = ["title"]\n'
        '[systems.both]\nstage = "fuse"\nof = ["bm25", "title"]\nmethod = "mapfuse"\nfitted = [[0.5], [0.25]]\n'
    )
    experiment = read_experiment(file)
    assert experiment.systems["both"] == Fuse((BM25(), BM25(fields=("title",))), "mapfuse", fitted=((0.5,), (0.25,)))
    assert "fitted = [[0.5], [0.25]]" in experiment_toml(experiment)


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"stages": ()}, "no stages to fuse"),
    ({"stages": "bm25"}, "no stages to fuse"),
    ({"method": "total"}, "no fusion method is called total"),
    ({"method": "combsum", "norm": "most"}, "norm is most; choose one of min-max"),
    ({"k": -1}, "k is -1"),
    ({"depth": 0}, "depth is 0"),
    ({"weights": (1.0,)}, "1 weight for 2 runs"),
]


@pytest.mark.parametrize(("options", "words"), WRONG)
def test_wrong_settings_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        Fuse(**{"stages": STAGES, **options})
