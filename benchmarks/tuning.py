"""Speed of `rp.tune` beside ranx's optimize_fusion at the same grid, and what tuning shows where nothing is gained.

Times are CPU seconds on one thread from judgements and runs in memory to the best parameters, each in a fresh process, best of
several interleaved rounds. A first search, in which ranx compiles, is not timed. rankproof also cross-validates.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib.metadata import version
from typing import Any

import numpy as np

from rankproof._data.arrays import FloatArray, IntArray
from rankproof._tune.parameters import ParameterFamily, SearchAxis, Settings, Space

from .evaluation_tool import best

QUERIES, DEPTH, RELEVANT, SEED = 300, 100, 5, 3
TOOLS = ("rankproof", "ranx")
SEARCHES = {
    "rrf": ("rrf", "min-max", 2),
    "wsum": ("wsum", "min-max", 3),
    "wmnz": ("wmnz", "min-max", 3),
    "gmnz": ("gmnz", "min-max", 3),
    "rbc": ("rbc", "min-max", 3),
}
"""Name to method, normalisation and number of runs."""
PARAMETERS = {"rrf": "k", "gmnz": "gamma", "rbc": "phi"}
GRIDS: dict[str, list[float]] = {
    "rrf": [10.0 * at for at in range(1, 11)],
    "gmnz": [at / 100 for at in range(1, 101)],
    "rbc": [at / 100 for at in range(1, 100)],
}
"""The values of ranx's default grids; the persistence of rbc is below 1."""
Scores = dict[str, dict[str, float]]


def judged_runs(count: int) -> tuple[dict[str, dict[str, int]], list[Scores]]:
    """Judgements, and runs that score relevant documents higher, each with noise of its own."""
    random = np.random.default_rng(SEED)
    qrels: dict[str, dict[str, int]] = {}
    runs: list[Scores] = [{} for _ in range(count)]
    for query in range(QUERIES):
        pool = random.choice(100_000, size=3 * DEPTH // 2, replace=False).tolist()
        qrels[f"q{query}"] = {f"d{doc:06d}": 1 for doc in pool[:RELEVANT]}
        for at, run in enumerate(runs):
            scores = random.normal(size=len(pool)) * (1 + at / 2)
            scores[:RELEVANT] += 2
            kept = np.argsort(-scores)[:DEPTH]
            run[f"q{query}"] = {f"d{pool[place]:06d}": float(scores[place]) for place in kept}
    return qrels, runs


def ours(name: str) -> Callable[[], Any]:
    """Our search."""
    import rankproof as rp

    method, norm, count = SEARCHES[name]
    qrels, runs = judged_runs(count)
    judged, named = rp.Qrels.from_dict(qrels), {str(at): rp.Run.from_dict(run) for at, run in enumerate(runs)}
    vary: dict[str, Any] = {PARAMETERS[name]: GRIDS[name], "weights": [[1] * count]} if name in PARAMETERS else {}
    return lambda: len(rp.tune(judged, named, "nDCG@10", method=method, norm=norm, vary=vary, repeats=1).table("trials").rows)


def theirs(name: str) -> Callable[[], Any]:
    """ranx's search."""
    import ranx

    method, norm, count = SEARCHES[name]
    qrels, runs = judged_runs(count)
    judged, found = ranx.Qrels(qrels), [ranx.Run(run, name=str(at)) for at, run in enumerate(runs)]

    def search() -> int:
        # The progress bar goes to standard output.
        with open(os.devnull, "w") as nowhere:
            sys.stdout, kept = nowhere, sys.stdout
            try:
                _, report = ranx.optimize_fusion(
                    judged, found, norm=norm, method=method, metric="ndcg@10", return_optimization_report=True
                )
            finally:
                sys.stdout = kept
        return len(report.results)

    return search


def contend(tool: str, name: str) -> None:
    """One measurement; prints CPU seconds and the number of trials."""
    warnings.simplefilter("ignore")
    search = {"rankproof": ours, "ranx": theirs}[tool](name)
    search()
    seconds, trials = best(search, at_least=3.0, most=5)
    print(json.dumps([seconds, trials]))


def measured(name: str, rounds: int) -> dict[str, tuple[float, int]]:
    """The least CPU time of each tool, and its trials."""
    one_thread = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "NUMBA")}
    least = {tool: (float("inf"), 0) for tool in TOOLS}
    for turn in range(rounds):
        for tool in TOOLS:
            print(f"searching {name}: {tool}, round {turn + 1} of {rounds}", file=sys.stderr)
            command = [sys.executable, "-m", "benchmarks.tuning", "--contend", tool, name]
            done = subprocess.run(command, env={**os.environ, **one_thread}, stdout=subprocess.PIPE, check=True)
            seconds, trials = json.loads(done.stdout.splitlines()[-1])
            least[tool] = min(least[tool], (seconds, trials))
    return least


def speed(rounds: int) -> None:
    """Prints a Markdown table; ranx should take at least 20 times as long."""
    print(", ".join(f"{name} {version(name)}" for name in TOOLS), "\n")
    print(f"| {QUERIES} queries x {DEPTH} documents | runs | trials | rankproof, CPU s | ranx's trials | ranx, CPU s | ratio |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for name, (_, _, count) in SEARCHES.items():
        least = measured(name, rounds)
        (own, trials), (other, their_trials) = least["rankproof"], least["ranx"]
        print(f"| {name} | {count} | {trials} | {own:.3f} | {their_trials} | {other:.2f} | {other / own:.0f} |", flush=True)


SIMULATIONS = 400


class Rows:
    """An objective whose settings are rows of values, a column for each query."""

    def __init__(self, values: FloatArray) -> None:
        self._values = values
        self.queries = tuple(map(str, range(values.shape[1])))

    def space(self, default: int) -> Space:
        """The row as a parameter."""
        axis = SearchAxis("row", tuple(range(len(self._values))), default)
        return Space((("row", default),), (ParameterFamily((), (axis,)),))

    def values(self, settings: Sequence[Settings]) -> FloatArray:
        """The rows of the settings."""
        return np.stack([self._values[int(str(dict(one)["row"]))] for one in settings])

    def is_trained(self, settings: Settings) -> bool:
        """Never."""
        return False

    def fitted_values(self, settings: Settings, train: IntArray) -> FloatArray:
        """The row of the settings."""
        found: FloatArray = self.values([settings])[0]
        return found


def equal_rows(rows: int, queries: int, kind: str, seed: int) -> FloatArray:
    """Rows with the same true mean: noise of their own, or for smooth rows a curve for each query."""
    random = np.random.default_rng([seed, rows, queries])
    level, noise = random.normal(0, 0.3, queries), random.normal(0, 0.15, (rows, queries))
    if kind == "independent":
        return level + noise
    place = np.linspace(-1, 1, rows)[:, None]
    slope, bend = random.normal(0, 0.15, (2, queries))
    found: FloatArray = level + slope * place + 0.7 * bend * place**2 + 0.2 * noise
    return found


def real_rows(collection: str) -> FloatArray:
    """The values of BM25 and MiniLM fused by combsum, with every normalisation and weight; the first row is the default."""
    from rankproof._evaluation.options import EvaluateOptions
    from rankproof._evaluation.sources import prepare_judgements
    from rankproof._tune.trials import FusionObjective, fusion_space

    from .which_fusion import MEASURE, rankings

    qrels, runs = rankings(collection)
    options = EvaluateOptions()
    both = {name: runs[name] for name in ("bm25", "minilm")}
    objective = FusionObjective(qrels, prepare_judgements(qrels, options), both, MEASURE, options)
    return objective.values(fusion_space(2, ["combsum"], ["all"], {}).grid())


def flipped(rows: FloatArray, seed: int) -> FloatArray:
    """The rows with all differences to the first one negated on a random half of the queries, so that nothing is gained."""
    signs = np.random.default_rng([seed, len(rows)]).choice([-1.0, 1.0], rows.shape[1])
    found: FloatArray = rows[0] + signs * (rows - rows[0])
    return found


def simulated(draw: Callable[[int], FloatArray], default: int) -> Iterator[tuple[float, float, bool, bool]]:
    """The naive and the held-out gain, whether the interval has 0, and whether tuning seems to pay, without a true gain."""
    from rankproof._tune.tuning import TuningPlan, tune_objective
    from rankproof.measures import nDCG

    for seed in range(SIMULATIONS):
        objective = Rows(draw(seed))
        result = tune_objective(objective, objective.space(default), nDCG @ 10, TuningPlan())
        low, high = result.gain.interval or (0.0, 0.0)
        yield result.naive, result.gain.mean, low <= 0 <= high, result.pays


def simulate() -> None:
    """Prints a Markdown table: drawn values, and real ones where the collections are there."""
    from .which_fusion import COLLECTIONS, DATA

    print("| settings | queries | naive gain | held-out gain | 95% intervals with 0 | tuning seems to pay |")
    print("|---|---:|---:|---:|---:|---:|")
    for kind, rows in (("independent", 2), ("independent", 20), ("independent", 200), ("smooth", 21)):
        for queries in (50, 200):
            _show(f"{rows} {kind}", queries, simulated(partial(equal_rows, rows, queries, kind), rows // 2))
    for name in COLLECTIONS if DATA.exists() else ():
        values = real_rows(name)
        _show(f"{len(values)} of combsum, {name}", values.shape[1], simulated(partial(flipped, values), 0))


def _show(name: str, queries: int, simulations: Iterator[tuple[float, float, bool, bool]]) -> None:
    found = np.array(list(simulations), dtype=np.float64)
    naive, held, covered, pays = found.mean(axis=0)
    error = found[:, 1].std(ddof=1) / np.sqrt(len(found))
    cells = f"{naive:+.4f} | {held:+.4f} ± {2 * error:.4f} | {covered:.1%} | {pays:.1%}"
    print(f"| {name} | {queries:,} | {cells} |", flush=True)


def main() -> None:
    """Measures the speed, or simulates."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tuning", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--simulate", action="store_true", help="tune where nothing is gained")
    parser.add_argument("--contend", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.contend:
        return contend(*arguments.contend)
    return simulate() if arguments.simulate else speed(arguments.rounds)


if __name__ == "__main__":
    main()
