"""CPU time of rank statistics beside rbo (`pip install --no-deps rbo`) and scipy, in one process, interleaved, best of several.

The rankings are those of two systems: 1,000 documents for each of some queries, half of them shared. Both sides start from lists
of ids.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from rankproof._analysis.correlate import shared_ranks
from rankproof._data.run import Run
from rankproof._statistics.rank_tests import friedman_test, signed_rank_p, signed_ranks
from rankproof._statistics.tukey import tukey_hsd

QUERIES, DEPTH, SEED = 50, 1_000, 20
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


def rankings(random: np.random.Generator) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Two rankings for each query: the second has half of the documents of the first, near their ranks."""
    one, other = {}, {}
    for at in range(QUERIES):
        docs = [f"document-{number:07}" for number in random.permutation(1_000_000)[: DEPTH + DEPTH // 2].tolist()]
        near = np.argsort(np.arange(DEPTH) + random.normal(0, 50, DEPTH))
        one[f"q{at}"] = docs[:DEPTH]
        other[f"q{at}"] = [docs[place] if place % 2 else docs[DEPTH + place // 2] for place in near.tolist()]
    return one, other


def tasks() -> dict[str, dict[str, Task]]:
    """Each comparison: what is computed, by whom."""
    from rbo import RankingSimilarity
    from scipy import stats

    random = np.random.default_rng(SEED)
    one, other = rankings(random)
    runs = Run(one, name="one"), Run(other, name="other")
    found = shared_ranks(*runs)
    apart, values = random.normal(0.05, 1, 150), random.random((50, 5))
    shared = {query: [doc for doc in one[query] if doc in set(other[query])] for query in one}
    places = {query: {doc: at for at, doc in enumerate(other[query])} for query in one}
    ranks = [[places[query][doc] for doc in docs] for query, docs in shared.items()]
    pairs = [(first, second) for first in range(5) for second in range(first)]

    def tukey() -> list[float]:
        found: Any = tukey_hsd(values, by_query=False)
        return [found.p(*pair) for pair in pairs]

    return {
        f"RBO of {QUERIES} x {DEPTH:,} documents; ours with bounds": {
            "rankproof": lambda: shared_ranks(*runs).overlap(),
            "rbo": lambda: [RankingSimilarity(one[query], other[query]).rbo_ext(p=0.9) for query in one],
        },
        f"tau of {QUERIES} x {DEPTH // 2} shared documents; ours with tau-AP": {
            "rankproof": lambda: found.orders(),
            "scipy": lambda: [stats.kendalltau(np.arange(len(one)), one) for one in ranks],
        },
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
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args().repeats
    print("| statistic | rankproof, CPU ms | other tool, CPU ms | times faster |\n|---|---:|---:|---:|")
    for name, both in tasks().items():
        found = cpu_seconds(both, repeats)
        (_, ours), (tool, theirs) = found.items()
        print(f"| {name} | {1000 * ours:.3g} | {tool} {1000 * theirs:.3g} | {theirs / ours:.3g} |", flush=True)


if __name__ == "__main__":
    main()
