"""CPU time of rank statistics beside rbo (`pip install --no-deps rbo`) and scipy, in one process, interleaved, best of several.

The rankings are those of two systems, half of whose documents are shared. Both sides start from the ids of the documents.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from rankproof._analysis.correlate import shared_ranks
from rankproof._data.run import Run
from rankproof._statistics.classical_tests import friedman_test, signed_rank_p, signed_ranks, tukey_hsd

SIZES, SEED = ((2_000, 20), (500, 100), (50, 1_000)), 20
"""Numbers of queries and of documents of a ranking."""
Task = Callable[[], object]


def cpu_seconds(tasks: dict[str, Task], repeats: int) -> dict[str, float]:
    """The least CPU time of each task, run in turns."""
    least = dict.fromkeys(tasks, float("inf"))
    for _ in range(repeats):
        for name, task in tasks.items():
            start = time.process_time()
            task()
            least[name] = min(least[name], time.process_time() - start)
    return least


def rankings(queries: int, depth: int, random: np.random.Generator) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Two rankings for each query: the second has half of the documents of the first, near their ranks."""
    one, other = {}, {}
    for at in range(queries):
        docs = [f"document-{number:07}" for number in random.permutation(1_000_000)[: depth + depth // 2].tolist()]
        near = np.argsort(np.arange(depth) + random.normal(0, 50, depth))
        one[f"q{at}"] = docs[:depth]
        other[f"q{at}"] = [docs[place] if place % 2 else docs[depth + place // 2] for place in near.tolist()]
    return one, other


def ranking_tasks(queries: int, depth: int) -> dict[str, dict[str, Task]]:
    """Agreement of two runs: what is computed, by whom."""
    from rbo import RankingSimilarity
    from scipy import stats

    one, other = rankings(queries, depth, np.random.default_rng(SEED))
    runs = Run(one, name="one"), Run(other, name="other")
    found = shared_ranks(*runs)
    places = [found.one[start:end] for start, end in pairwise(found.offsets.tolist())]
    return {
        f"RBO of {queries:,} x {depth:,} documents; ours with bounds": {
            "rankproof": lambda: shared_ranks(*runs).overlap(),
            "rbo": lambda: [RankingSimilarity(one[query], other[query]).rbo_ext(p=0.9) for query in one],
        },
        f"tau of {queries:,} x {depth // 2:,} shared documents; ours with tau-AP": {
            "rankproof": found.orders,
            "scipy": lambda: [stats.kendalltau(np.arange(len(one)), one) for one in places],
        },
    }


def tests_of_systems() -> dict[str, dict[str, Task]]:
    """Tests of systems: what is computed, by whom."""
    from scipy import stats

    random = np.random.default_rng(SEED)
    apart, values = random.normal(0.05, 1, 150), random.random((50, 5))

    def tukey() -> list[float]:
        found: Any = tukey_hsd(values, by_query=False)
        return [found.p(*pair) for pair in combinations(range(5), 2)]

    return {
        "Wilcoxon, 150 differences, exact": {
            "rankproof": lambda: signed_rank_p(signed_ranks(apart)),
            "scipy": lambda: stats.wilcoxon(apart, method="exact"),
        },
        "Tukey's HSD, one-way, 5 systems, 50 queries": {"rankproof": tukey, "scipy": lambda: stats.tukey_hsd(*values.T)},
        "Friedman, 5 systems, 50 queries": {
            "rankproof": lambda: friedman_test(values),
            "scipy": lambda: stats.friedmanchisquare(*values.T),
        },
    }


def main() -> None:
    """Prints a Markdown table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rank_statistics", description=__doc__)
    parser.add_argument("--repeats", type=int, default=10)
    repeats = parser.parse_args().repeats
    print("| statistic | rankproof, CPU ms | other tool, CPU ms | times faster |\n|---|---:|---:|---:|")
    every = {name: both for size in SIZES for name, both in ranking_tasks(*size).items()} | tests_of_systems()
    for name, both in every.items():
        found = cpu_seconds(both, repeats)
        (_, ours), (tool, theirs) = found.items()
        print(f"| {name} | {1000 * ours:.3g} | {tool} {1000 * theirs:.3g} | {theirs / ours:.3g} |", flush=True)


if __name__ == "__main__":
    main()
