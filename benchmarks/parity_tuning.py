"""Trials of parameter searches compared with those of ranx's optimize_fusion.

`python -m benchmarks.parity_tuning` prints how many trials were compared and the largest difference. Trials whose score in ranx
depends on the order of its input or on the hash seed are left out.
"""

from __future__ import annotations

from ast import literal_eval
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.peer_values import PEER_VALUES, json_lines
from rankproof._data.qrels import Qrels
from rankproof._data.run import Run
from rankproof._evaluation.options import EvaluateOptions
from rankproof._evaluation.sources import prepare_judgements
from rankproof._evaluation.value_ranges import value_range
from rankproof._fusion.method import method_named
from rankproof._tune.parameters import Settings
from rankproof._tune.trials import FusionObjective
from rankproof.measures._parse import parse_measure

FILE = PEER_VALUES / "fusion" / "optimize.jsonl.gz"
NORMS = {"zmuv": "z-score"}
PARAMETERS = {
    **{"gmnz": "gamma", "logn_isr": "sigma", "rbc": "phi", "rrf": "k"},
    **{"probfuse": "segments", "slidefuse": "window"},
}
UNDEFINED = ("w_condorcet",)
"""Methods whose result in ranx depends on the hash seed."""
SAME = 1e-9


@dataclass(frozen=True, slots=True)
class ComparedTrial:
    """The mean of a trial beside that of ranx; the range is over the orders of documents that are tied but for rounding."""

    method: str
    trial: str
    ours: float
    theirs: float
    lowest: float
    highest: float

    @property
    def apart(self) -> float:
        """The absolute difference."""
        return abs(self.ours - self.theirs)

    @property
    def is_order_of_ties(self) -> bool:
        """Whether another order of ties explains the difference."""
        return self.lowest - SAME <= self.theirs <= self.highest + SAME


def searches() -> Iterator[tuple[FusionObjective, dict[str, Any]]]:
    """Each search that has trials, with its objective."""
    options = EvaluateOptions()
    for case in json_lines(FILE):
        qrels = Qrels.from_dict(case["qrels"])
        runs = {str(at): Run.from_dict(run) for at, run in enumerate(case["runs"])}
        for search in case["results"]:
            if "trials" in search and search["method"] not in UNDEFINED:
                measure = parse_measure(search["metric"])
                yield FusionObjective(qrels, prepare_judgements(qrels, options), runs, measure, options), search


def compared_trials() -> Iterator[ComparedTrial]:
    """Every trial that is stable in ranx."""
    for objective, search in searches():
        stable = [at for at, kept in enumerate(search["trial_stable"]) if kept == "1"]
        for at in stable:
            settings, theirs = _settings(search, search["trials"][at]), search["scores"][at]
            ours = float(objective.values([settings])[0].mean())
            tied = (ours, ours) if abs(ours - theirs) <= SAME else _range_over_ties(objective, search["metric"], settings)
            yield ComparedTrial(search["method"], search["trials"][at], ours, theirs, *tied)


def _settings(search: dict[str, Any], trial: str) -> Settings:
    method = method_named(search["method"])
    norm = (("norm", NORMS.get(search["norm"], search["norm"])),) if "norm" in method.uses else ()
    return (("method", method.name), *norm, (PARAMETERS.get(search["method"], "weights"), literal_eval(trial)))


def _range_over_ties(objective: FusionObjective, measure: str, settings: Settings) -> tuple[float, float]:
    train = np.arange(len(objective.queries))
    scores = np.array([float(f"{score:.11e}") for score in objective.scores(dict(settings), train)])
    worst, best = value_range(parse_measure(measure), objective.candidates.hits(scores))
    return float(worst.mean()), float(best.mean())


def main() -> None:
    """Prints a Markdown table by method."""
    found = list(compared_trials())
    counts = Counter(one.method for one in found)
    print("| method in ranx | trials | largest difference | other order of ties | unexplained |")
    print("|---|---:|---:|---:|---:|")
    for method in counts:
        own = [one for one in found if one.method == method]
        same = [one.apart for one in own if one.apart <= SAME]
        tied = sum(one.apart > SAME and one.is_order_of_ties for one in own)
        print(f"| {method} | {len(own):,} | {max(same):.0e} | {tied} | {len(own) - len(same) - tied} |")


if __name__ == "__main__":
    main()
