"""Speed of the sign-flip permutation test of all pairs of 10 systems on 6,980 queries: rankproof, ranx and scipy.

Times are CPU seconds on one thread from values in memory to p-values, each in a fresh process, best of several interleaved
rounds. A first small test, in which ranx compiles, is not timed. ranx and scipy run one pair with fewer permutations; the time of
all pairs is extrapolated, since both test one pair after another, one permutation at a time.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np

from .evaluation_tool import best

QUERIES, SYSTEMS, FLIPS, SEED = 6_980, 10, 100_000, 11
PAIRS = SYSTEMS * (SYSTEMS - 1) // 2
Values = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
Test = Callable[[Values, int], float]


def values() -> Values:
    """Systems that differ by little, on hard and easy queries."""
    random = np.random.default_rng(SEED)
    noise = random.normal(0, 0.2, (QUERIES, SYSTEMS)) + np.arange(SYSTEMS) * 0.006
    return np.clip(random.beta(2, 2, (QUERIES, 1)) + noise, 0, 1)


def ours(kernel: Any) -> Test:
    """All pairs at once."""
    from rankproof._statistics.permutation import randomisation_p

    return lambda found, flips: float(randomisation_p(found, flips, SEED, kernel)[0, 1])


def ranx_test() -> Test:
    """ranx's own function, the first two systems, one thread."""
    import numba
    from ranx.statistical_tests import fisher_randomization_test

    numba.set_num_threads(1)
    return lambda found, flips: float(fisher_randomization_test(found[:, 0].copy(), found[:, 1].copy(), flips)[0])


def scipy_test() -> Test:
    """scipy's, the first two systems."""
    from scipy import stats

    def statistic(one: Any, other: Any, axis: int) -> Any:
        return np.abs((one - other).mean(axis=axis))

    def test(found: Values, flips: int) -> float:
        kind: dict[str, Any] = {"permutation_type": "samples", "alternative": "greater", "vectorized": True, "batch": 100}
        both = (found[:, 0], found[:, 1])
        return float(stats.permutation_test(both, statistic, n_resamples=flips, random_state=SEED, **kind).pvalue)

    return test


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool's test, and how much of the work it is given."""

    test: Callable[[], Test]
    flips: int
    pairs: int

    @property
    def share(self) -> float:
        """The whole work in units of what it is given."""
        return FLIPS * PAIRS / (self.flips * self.pairs)


TOOLS = {
    "rankproof": Tool(lambda: ours("native"), FLIPS, PAIRS),
    "rankproof without C": Tool(lambda: ours("numpy"), FLIPS, PAIRS),
    "ranx": Tool(ranx_test, 1_000, 1),
    "scipy": Tool(scipy_test, 1_000, 1),
}


def contend(name: str) -> None:
    """One measurement; prints CPU seconds and the p-value of the first pair."""
    warnings.simplefilter("ignore")
    tool, found = TOOLS[name], values()
    test = tool.test()
    test(found[:50], 10)
    seconds, p = best(lambda: test(found, tool.flips), at_least=1.0, most=3)
    print(json.dumps([seconds, p]))


def measured(rounds: int) -> dict[str, tuple[float, float]]:
    """The least CPU time of each tool for what it was given, and its p-value."""
    one_thread = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA")}
    least: dict[str, tuple[float, float]] = {}
    for turn in range(rounds):
        for name in TOOLS:
            print(f"flips: {name}, round {turn + 1} of {rounds}", file=sys.stderr)
            command = [sys.executable, "-m", "benchmarks.permutation_test", "--contend", name]
            done = subprocess.run(command, env={**os.environ, **one_thread}, stdout=subprocess.PIPE, check=True)
            seconds, p = json.loads(done.stdout.splitlines()[-1])
            least[name] = min(least.get(name, (seconds, p)), (seconds, p))
    return least


def main() -> None:
    """Prints a Markdown table; ours should take at most half a second, and ranx at least 1,000 times as long."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.permutation_test", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--contend", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.contend:
        return contend(arguments.contend)
    least = measured(arguments.rounds)
    print(", ".join(f"{name} {version(name)}" for name in ("rankproof", "numpy", "ranx", "scipy")), "\n")
    work = f"{FLIPS:,} flips, {SYSTEMS} systems, {PAIRS} pairs, {QUERIES:,} queries"
    print(f"| {work} | CPU s | measured on | times rankproof | p of the first pair |")
    print("|---|---:|---|---:|---:|")
    for name, (seconds, p) in least.items():
        tool = TOOLS[name]
        given = "all of it" if tool.share == 1 else f"1 pair, {tool.flips:,} flips: {seconds:.3f} s"
        ratio = seconds * tool.share / least["rankproof"][0]
        print(f"| {name} | {seconds * tool.share:,.2f} | {given} | {ratio:,.0f} | {p:.4f} |")
    print(f"\nC and numpy give the same p-value: {'yes' if least['rankproof'][1] == least['rankproof without C'][1] else 'NO'}")


if __name__ == "__main__":
    main()
