"""How often at least one pair of equally good systems is called different after Holm's correction, on real per-query values.

A round draws n queries and some systems of a collection, and permutes the values of the systems within each query: with two
systems this flips the sign of the difference. Then no system is better than another.
"""

from __future__ import annotations

import argparse
from functools import partial

import numpy as np

from rankproof._data.arrays import FloatArray
from rankproof._statistics.correction import holm
from rankproof._statistics.paired import differences, paired_statistics, t_test_p
from rankproof._statistics.permutation import randomisation_p

from .real_values import real_values
from .simulation import Cell, StoredCells, upper_bound

ALPHA, MOST = 0.05, 0.055
ROUNDS, FLIPS = 1_000, 999
SIZES, SYSTEMS, MEASURES = (25, 50, 200), (3, 6), ("nDCG@10", "Success@5")


def simulate(values: FloatArray, n: int, systems: int, rounds: int, random: np.random.Generator) -> Cell:
    """The share of rounds with a false difference, by each test."""
    false = {"randomisation": 0, "t": 0}
    for at in range(rounds):
        shown = random.permutation(values.shape[1])[:systems]
        sample = random.permuted(values[random.integers(0, len(values), n)][:, shown], axis=1)
        pairs = np.triu_indices(systems, 1)
        by_flips = randomisation_p(sample, FLIPS, at)[pairs]
        statistics = [paired_statistics(differences(sample[:, one], sample[:, other])) for one, other in zip(*pairs, strict=True)]
        by_t = np.array([1.0 if (p := t_test_p(one)) is None else p for one in statistics])
        false["randomisation"] += bool((holm(by_flips) <= ALPHA).any())
        false["t"] += bool((holm(by_t) <= ALPHA).any())
    return {name: count / rounds for name, count in false.items()}


def main() -> None:
    """Prints a table; ends with 1 if a share over all collections is above the bound."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.family_wise_error", description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    rounds = parser.parse_args().rounds
    stored = StoredCells("family_wise_error", f"{rounds} rounds, {FLIPS} flips")
    every, worst = real_values(), 0.0
    print(f"| % of families with a false difference: randomisation / t | systems | {' | '.join(f'n = {n}' for n in SIZES)} |")
    print(f"|---|---:|{'---:|' * len(SIZES)}")
    for measure in MEASURES:
        for systems in SYSTEMS:
            shares = []
            for n in SIZES:
                cells = [
                    stored.cell(
                        f"{one.collection}, {measure}, {systems} systems, n = {n}",
                        partial(simulate, one.values[measure], n, systems, rounds),
                    )
                    for one in every
                ]
                shares.append({name: float(np.mean([cell[name] for cell in cells])) for name in ("randomisation", "t")})
            worst = max(worst, *(share["randomisation"] for share in shares))
            row = " | ".join(f"{100 * share['randomisation']:.1f} / {100 * share['t']:.1f}" for share in shares)
            print(f"| {measure} | {systems} | {row} |")
    bound = upper_bound(worst, rounds * len(every))
    print(f"\nThe highest share by the randomisation test: {100 * worst:.1f}% (one-sided 95% bound {100 * bound:.1f}%).")
    raise SystemExit(int(worst > MOST))


if __name__ == "__main__":
    main()
