"""How often 95% intervals hold the true difference between two real systems, and how many differing queries they need.

A round draws a collection, two of its 15 systems, and n queries with replacement. The truth is the difference over all queries.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from itertools import pairwise

import numpy as np

from rankproof._data.arrays import FloatArray
from rankproof._statistics.distributions import student_quantile
from rankproof._statistics.intervals import MIN_DIFFERENT, BootstrapMethod, bootstrap_interval

from .real_values import MEASURES, real_values
from .simulation import Cell, StoredCells

SIZES = (10, 20, 50, 100, 200)
BINS = (1, 3, 5, 10, 15, 20, 40)
BOOTSTRAP: tuple[BootstrapMethod, ...] = ("bca", "percentile")
ROUNDS, BOOTSTRAP_ROUNDS, RESAMPLES = 40_000, 4_000, 2_000
LEAST = 0.92


def drawn(populations: Sequence[FloatArray], n: int, rounds: int, random: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Differences of random pairs, a column for each round, and the true means."""
    columns, truths = np.empty((n, rounds)), np.empty(rounds)
    for at in range(rounds):
        values = populations[int(random.integers(len(populations)))]
        one, other = random.permutation(values.shape[1])[:2]
        apart = values[:, one] - values[:, other]
        apart[np.abs(apart) < 1e-12] = 0.0
        truths[at] = apart.mean()
        columns[:, at] = apart[random.integers(0, len(apart), n)]
    return columns, truths


def simulate(populations: Sequence[FloatArray], n: int, rounds: int, random: np.random.Generator) -> Cell:
    """Coverage of t by how many queries differ, and of each method where enough differ."""
    columns, truths = drawn(populations, n, rounds, random)
    differ, deviation = np.count_nonzero(columns, axis=0), columns.std(axis=0, ddof=1)
    held = np.abs(columns.mean(axis=0) - truths) <= student_quantile(0.975, n - 1) * deviation / np.sqrt(n)
    found: dict[str, float] = {}
    for low, high in zip(BINS, (*BINS[1:], n + 1), strict=True):
        chosen = (differ >= low) & (differ < high) & (deviation > 0)
        found |= {f"rounds {low}": float(chosen.sum()), f"held {low}": float(held[chosen].sum())}
    shown = (differ >= MIN_DIFFERENT) & (deviation > 0)
    found |= {"shown": float(shown.mean()), "t": float(held[shown].mean()) if shown.any() else np.nan}
    return found | _bootstrap(columns[:, shown][:, :BOOTSTRAP_ROUNDS], truths[shown][:BOOTSTRAP_ROUNDS], random)


def _bootstrap(columns: FloatArray, truths: FloatArray, random: np.random.Generator) -> dict[str, float]:
    """The coverage of bootstrap intervals; all rounds share their resamples, as they have one seed."""
    n, rounds = columns.shape
    if not rounds:
        return dict.fromkeys(BOOTSTRAP, np.nan)
    means = random.multinomial(n, np.full(n, 1 / n), RESAMPLES) / n @ columns
    found: dict[str, float] = {}
    for method in BOOTSTRAP:
        intervals = [bootstrap_interval(columns[:, at], means[:, at], method) for at in range(rounds)]
        found[method] = float(np.mean([low <= truth <= high for (low, high), truth in zip(intervals, truths, strict=True)]))
    return found


def main() -> None:
    """Prints the coverage by method, and by how many queries differ; ends with 1 if that of shown t intervals is too low."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.interval_coverage", description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    rounds = parser.parse_args().rounds
    stored = StoredCells("interval_coverage", f"{rounds} rounds, limit {MIN_DIFFERENT}")
    every = real_values()
    cells = {
        (measure, n): stored.cell(
            f"{measure}, n = {n}",
            partial(simulate, [one.values[measure] for one in every], n, rounds),
        )
        for measure in MEASURES
        for n in SIZES
    }
    print(f"| % coverage: t / BCa / percentile | {' | '.join(f'n = {n}' for n in SIZES)} |\n|---|{'---:|' * len(SIZES)}")
    for measure in MEASURES:
        print(f"| {measure} | {' | '.join(_methods(cells[measure, n]) for n in SIZES)} |")
    print(f"\n| % coverage of t | n | {' | '.join(_bins())} differ |\n|---|---:|{'---:|' * len(BINS)}")
    for (measure, n), cell in cells.items():
        if n >= 50:
            print(f"| {measure} | {n} | {' | '.join(_held(cell, low) for low in BINS)} |")
    least = min(cell["t"] for cell in cells.values() if cell["shown"] >= 0.05)
    print(f"\nThe lowest coverage of t where at least {MIN_DIFFERENT} queries differ: {100 * least:.1f}%.")
    raise SystemExit(int(least < LEAST))


def _methods(cell: Cell) -> str:
    return " / ".join(f"{100 * cell[name]:.1f}" for name in ("t", *BOOTSTRAP)) if cell["shown"] >= 0.05 else "–"


def _bins() -> list[str]:
    return [*(f"{low} to {high - 1}" for low, high in pairwise(BINS)), f"{BINS[-1]} or more"]


def _held(cell: Cell, low: int) -> str:
    return f"{100 * cell[f'held {low}'] / cell[f'rounds {low}']:.1f}" if cell[f"rounds {low}"] >= 200 else "–"


if __name__ == "__main__":
    main()
