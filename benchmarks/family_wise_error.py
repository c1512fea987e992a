"""How often at least one pair of equally good systems is called different, on real per-query values, by each test of `compare`.

A round draws n queries and some systems of a collection, and permutes the values of the systems within each query: with two
systems this flips the sign of the difference. Then no system is better than another. Tests of single pairs have Holm's
correction; Tukey's and Nemenyi's tests are for all pairs.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from functools import partial
from itertools import combinations

import numpy as np

from rankproof._analysis.compare.significance import TESTS
from rankproof._data.arrays import FloatArray
from rankproof._statistics.classical_tests import friedman_test, sign_test_p, signed_rank_p, signed_ranks, tukey_hsd
from rankproof._statistics.distributions import studentized_range_quantile
from rankproof._statistics.paired import differences, holm, paired_statistics, t_test_p
from rankproof._statistics.permutation import randomisation_p

from .real_values import real_values
from .simulation import Cell, StoredCells, upper_bound

ALPHA, MOST = 0.05, 0.055
ROUNDS, FLIPS = 1_000, 999
SIZES, SYSTEMS, MEASURES = (25, 50, 200), (2, 3, 6), ("nDCG@10", "Success@5")


def simulate(values: FloatArray, n: int, systems: int, rounds: int, random: np.random.Generator) -> Cell:
    """The share of rounds with a false difference, by each test that takes so many systems."""
    able = [name for name, about in TESTS.items() if systems >= about.least_systems]
    false = dict.fromkeys(able, 0)
    for at in range(rounds):
        shown = random.permutation(values.shape[1])[:systems]
        sample = random.permuted(values[random.integers(0, len(values), n)][:, shown], axis=1)
        apart = [differences(sample[:, one], sample[:, other]) for one, other in combinations(range(systems), 2)]
        for name in able:
            false[name] += _finds_any(name, sample, apart, at)
    return {name: count / rounds for name, count in false.items()}


def _finds_any(test: str, sample: FloatArray, apart: list[FloatArray], seed: int) -> bool:
    """Whether the test calls any pair different."""
    if test == "randomisation":
        p = randomisation_p(sample, FLIPS, seed)[np.triu_indices(sample.shape[1], 1)]
        return bool((holm(p) <= ALPHA).any())
    if test in _PAIRED:
        return bool((holm(np.array([_PAIRED[test](one) for one in apart])) <= ALPHA).any())
    return _friedman(sample) if test == "friedman" else _tukey(sample, by_query=test == "tukey")


def _t(apart: FloatArray) -> float:
    found = t_test_p(paired_statistics(apart))
    return 1.0 if found is None else found


_PAIRED: dict[str, Callable[[FloatArray], float]] = {
    "t": _t,
    "wilcoxon": lambda apart: signed_rank_p(signed_ranks(apart)),
    "sign": sign_test_p,
}


def _tukey(sample: FloatArray, *, by_query: bool) -> bool:
    """The two systems that are furthest apart are significant if any pair is."""
    found = tukey_hsd(sample, by_query=by_query)
    return found is not None and bool(np.ptp(found.means) >= found.margin(1 - ALPHA))


def _friedman(sample: FloatArray) -> bool:
    found = friedman_test(sample)
    margin = studentized_range_quantile(1 - ALPHA, sample.shape[1], math.inf) * found.error
    return found.p <= ALPHA and bool(np.ptp(found.mean_ranks) >= margin)


def main() -> None:
    """Prints a table; ends with 1 if a share over all collections is above the bound."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.family_wise_error", description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    rounds = parser.parse_args().rounds
    stored = StoredCells("family_wise_error_by_test", f"{rounds} rounds, {FLIPS} flips")
    every, worst = real_values(), dict.fromkeys(TESTS, 0.0)
    print(f"| % of families with a false difference | systems | n | {' | '.join(TESTS)} |\n|---|---:|---:|{'---:|' * len(TESTS)}")
    for measure in MEASURES:
        for systems in SYSTEMS:
            for n in SIZES:
                label = f"{measure}, {systems} systems, n = {n}"
                cells = [
                    stored.cell(f"{one.collection}, {label}", partial(simulate, one.values[measure], n, systems, rounds))
                    for one in every
                ]
                shares = {name: float(np.mean([cell[name] for cell in cells])) for name in cells[0]}
                worst = {name: max(most, shares.get(name, 0.0)) for name, most in worst.items()}
                row = " | ".join(f"{100 * shares[name]:.1f}" if name in shares else "–" for name in TESTS)
                print(f"| {measure} | {systems} | {n} | {row} |", flush=True)
    bounds = (f"{name} {100 * most:.1f} ({100 * upper_bound(most, rounds * len(every)):.1f})" for name, most in worst.items())
    print(f"\nThe highest share in %, with its one-sided 95% bound: {', '.join(bounds)}.")
    raise SystemExit(int(max(worst.values()) > MOST))


if __name__ == "__main__":
    main()
