"""Every fusion method on four public collections: as it is, and tuned, by nested cross-validation over queries.

BM25 and MiniLM are fused, and BM25, MiniLM and static vectors. Each method is compared with RRF (k = 60, equal weights).
`python -m benchmarks.which_fusion` prints the tables of docs/fusion.md; rankings are read from the cache or computed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from tools import shared_folder

from rankproof._data.qrels import Qrels
from rankproof._data.run import Run
from rankproof._evaluation.options import EvaluateOptions
from rankproof._evaluation.sources import prepare_judgements
from rankproof._experiment.experiment import Experiment
from rankproof._experiment.run import RunOptions, run_experiment
from rankproof._fusion.method import METHODS
from rankproof._fusion.normalisations import NORMALISATIONS
from rankproof._tune.parameters import Settings, Space, settings_text
from rankproof._tune.search import HeldOut, HeldOutGain, Trials, cross_validate, grid_search, held_out_gain
from rankproof._tune.trials import RUN, FusionObjective, fusion_space
from rankproof.measures import nDCG
from rankproof.models._registry import encoder_by_name
from rankproof.stages import BM25, Dense
from rankproof.stages._base import Stage

DATA = shared_folder.DATA
COLLECTIONS = {"SciFact": "scifact", "Cranfield": "cranfield", "CosQA": "cosqa", "XQuAD": "xquad-en"}
SYSTEMS: dict[str, Stage] = {
    "bm25": BM25(),
    "minilm": Dense(encoder_by_name("minilm")),
    "static": Dense(encoder_by_name("wordllama")),
}
SETS = {"BM25 and MiniLM": ("bm25", "minilm"), "BM25, MiniLM and static vectors": ("bm25", "minilm", "static")}
MEASURE, FOLDS, REPEATS = nDCG @ 10, 5, 3
RRF = "rrf"


@dataclass(frozen=True, slots=True)
class Cell:
    """A method on a collection: its mean as it is and tuned, and the gains over RRF as it is."""

    plain: float
    plain_gain: HeldOutGain
    tuned: float
    tuned_gain: HeldOutGain
    chosen: Settings


def rankings(collection: str) -> tuple[Qrels, dict[str, Run]]:
    """The judgements of a collection, and the run of each system."""
    options = RunOptions(latency_queries=1)
    result = run_experiment(Experiment(SYSTEMS, dataset=str(DATA / COLLECTIONS[collection]), measures=[MEASURE]), options)
    return result.qrels, {one.name: one.run for one in result.system_runs}


def cells(qrels: Qrels, runs: Mapping[str, Run], spaces: Mapping[str, Space]) -> dict[str, Cell]:
    """Each row of the table on one collection."""
    options = EvaluateOptions()
    objective = FusionObjective(qrels, prepare_judgements(qrels, options), runs, MEASURE, options)
    trials = Trials(objective)
    base = trials.values_of(spaces[RRF].default)
    found = {}
    for name, space in spaces.items():
        print(f"  {name}: {space.size} trials", file=sys.stderr)
        held = cross_validate(trials, space, grid_search, folds=FOLDS, repeats=REPEATS)
        plain = _as_is(trials, space)
        best = grid_search(trials, space, np.arange(len(objective.queries)))
        found[name] = Cell(
            float(plain.means.mean()),
            held_out_gain(plain, base),
            float(held.means.mean()),
            held_out_gain(held, base),
            best,
        )
    return found


def _as_is(trials: Trials, space: Space) -> HeldOut:
    """The default settings; a trained method is fitted on the other folds."""
    return cross_validate(trials, Space(space.default, ()), grid_search, folds=FOLDS, repeats=REPEATS)


def spaces(systems: Sequence[str]) -> dict[str, Space]:
    """Each system alone, the settings of each method, and those of all methods together."""
    runs = len(systems)
    fitting = [name for name, method in METHODS.items() if method.runs in (None, runs)]
    norms = [name for name in NORMALISATIONS if name != "none"]
    found = {name: fusion_space(runs, [name], norms, {}, step=0.1 if runs == 2 else 0.2) for name in fitting}
    families = tuple(family for space in found.values() for family in space.families)
    alone = {f"{name} alone": Space(((RUN, name),), ()) for name in systems}
    return {**alone, **found, "all methods": Space(found[RRF].default, families)}


def shown(value: float, gain: HeldOutGain) -> str:
    """The mean, with a mark where the interval of its gain over RRF excludes 0."""
    interval = gain.interval
    mark = "" if interval is None or interval[0] <= 0 <= interval[1] else "▲" if interval[0] > 0 else "▼"
    return f"{value:.4f}{mark}"


def table(
    title: str, systems: Sequence[str], collections: Sequence[str], data: Mapping[str, tuple[Qrels, dict[str, Run]]]
) -> None:
    """Prints the table of one set of systems."""
    rows = spaces(systems)
    each = {}
    for name in collections:
        print(f"{title}, {name}", file=sys.stderr)
        qrels, runs = data[name]
        each[name] = cells(qrels, {system: runs[system] for system in systems}, rows)
    print(f"\n## {title}\n")
    print("| method | " + " | ".join(f"{name}, as it is | tuned" for name in collections) + " |")
    print("|---" * (1 + 2 * len(collections)) + "|")
    for method in rows:
        values = [
            part
            for name in collections
            for cell in (each[name][method],)
            for part in (shown(cell.plain, cell.plain_gain), shown(cell.tuned, cell.tuned_gain))
        ]
        print(f"| {method} | {' | '.join(values)} |")
    print("\nAll methods: what all queries choose, and the gain over RRF on held-out queries:\n")
    for name in collections:
        cell = each[name]["all methods"]
        low, high = cell.tuned_gain.interval or (float("nan"), float("nan"))
        gain = f"{cell.tuned_gain.mean:+.4f} (95% CI [{low:+.4f}, {high:+.4f}])"
        print(f"- {name}: {settings_text(cell.chosen)}; {gain}", flush=True)


def main() -> None:
    """Prints both tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.which_fusion", description=__doc__)
    parser.add_argument("--collections", nargs="*", default=list(COLLECTIONS), choices=COLLECTIONS)
    parser.add_argument("--sets", type=int, nargs="*", default=[0, 1], help="0: two systems, 1: three")
    arguments = parser.parse_args()
    data = {name: rankings(name) for name in arguments.collections}
    for at in arguments.sets:
        title, systems = list(SETS.items())[at]
        table(title, systems, arguments.collections, data)


if __name__ == "__main__":
    main()
