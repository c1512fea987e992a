"""The trials of ranx's parameter searches, score by score, where its own score does not depend on the order of its input.

ranx orders tied fused scores by their place in the input, rankproof by id. Its weighted Condorcet depends on the hash seed.
"""

from __future__ import annotations

import gzip
import json
from ast import literal_eval
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from rankproof._data.qrels import Qrels
from rankproof._data.run import Run
from rankproof._evaluation.inputs import prepare_judgements
from rankproof._evaluation.options import EvaluateOptions
from rankproof._evaluation.ties import value_range
from rankproof._fusion.method import method_named
from rankproof._tune.runs import FusionObjective
from rankproof._tune.space import Settings, weight_grid
from rankproof.measures._base import Measure
from rankproof.measures._parse import parse_measure
from support.paths import SHARED

FILE = SHARED / "golden" / "peers" / "fusion" / "optimize.jsonl.gz"
NORMS = {"zmuv": "z-score"}
PARAMETERS = {
    **{"gmnz": "gamma", "logn_isr": "sigma", "rbc": "phi", "rrf": "k"},
    **{"probfuse": "segments", "slidefuse": "window"},
}


def cases() -> list[dict[str, Any]]:
    if not FILE.exists():
        pytest.skip(f"there is no {FILE}")
    with gzip.open(FILE, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def searches() -> Iterator[tuple[FusionObjective, dict[str, Any]]]:
    """Each search that has trials, with its objective."""
    for case in cases():
        qrels = Qrels.from_dict(case["qrels"])
        runs = {str(at): Run.from_dict(run) for at, run in enumerate(case["runs"])}
        for search in case["results"]:
            if "trials" in search and search["method"] != "w_condorcet":
                judged = prepare_judgements(qrels, EvaluateOptions())
                yield FusionObjective(qrels, judged, runs, parse_measure(search["metric"]), EvaluateOptions()), search


def settings_of(search: dict[str, Any], trial: str) -> Settings:
    method, value = method_named(search["method"]), literal_eval(trial)
    name = PARAMETERS.get(search["method"], "weights")
    norm = (("norm", NORMS.get(search["norm"], search["norm"])),) if "norm" in method.uses else ()
    return (("method", method.name), *norm, (name, value))


def range_over_ties(objective: FusionObjective, measure: Measure, settings: Settings) -> tuple[float, float]:
    """The lowest and the highest mean over the orders of documents whose fused scores differ by rounding alone."""
    train = np.arange(len(objective.queries))
    scores = np.array([float(f"{score:.11e}") for score in objective.scores(dict(settings), train)])
    worst, best = value_range(measure, objective.candidates.hits(scores))
    return float(worst.mean()), float(best.mean())


@pytest.mark.slow
def test_every_stable_trial_of_ranx_has_the_same_score_up_to_the_order_of_ties() -> None:
    compared, tied, largest = 0, 0, 0.0
    for objective, search in searches():
        measure = parse_measure(search["metric"])
        stable = [at for at, kept in enumerate(search["trial_stable"]) if kept == "1"]
        settings = [settings_of(search, search["trials"][at]) for at in stable]
        for at, one, row in zip(stable, settings, objective.values(settings) if stable else (), strict=True):
            expected, difference = search["scores"][at], abs(float(row.mean()) - search["scores"][at])
            compared += 1
            if difference <= 1e-9:
                largest = max(largest, difference)
                continue
            low, high = range_over_ties(objective, measure, one)
            assert low - 1e-9 <= expected <= high + 1e-9, (search["method"], search["norm"], search["metric"], at)
            tied += 1
    print(f"{compared:,} trials, largest difference {largest:.1e}, {tied} in another order of ties")
    assert compared > 6000
    assert tied < 0.05 * compared


def test_the_grid_of_weights_has_the_tuples_that_ranx_loses_to_rounding() -> None:
    for _, search in searches():
        if search["trials"][0].startswith("("):
            theirs = {literal_eval(trial) for trial in search["trials"]}
            step = search["kwargs"].get("step", 0.1)
            ours = {tuple(round(weight, 6) for weight in one) for one in weight_grid(len(next(iter(theirs))), step)}
            assert theirs <= ours
