"""How often the decision of `compare` is wrong, on samples of real per-query values.

A round draws n queries with replacement from a collection, and some of its 15 systems. The truth is the mean over all queries. A
decision is wrong if the chosen system is truly more than the margin below the best one. Costs are the order of the systems, from
cheap to expensive, or a random order.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from rankproof._analysis.decision import MARGIN, MAX_RISK, MIN_QUERIES
from rankproof._data.arrays import FloatArray
from rankproof._statistics.deterministic import VariateStream
from rankproof._statistics.means import PRIOR_QUERIES

from .real_values import real_values
from .simulation import Cell, StoredCells, upper_bound

SIZES, SYSTEMS = (30, 50, 100, 200, 300), (3, 7, 15)
OTHER_SIZES, OTHER_SYSTEMS = (30, 100), (7,)
ROUNDS, DRAWS = 2_000, 4_000


@dataclass(frozen=True, slots=True)
class Choice:
    """The chosen system by index, and whether it is decided."""

    at: int
    decided: bool


class Rule:
    """The rule of `decide` for n queries, with the same standard variates for every sample, as it has with one seed."""

    def __init__(self, n: int, systems: int, draws: int = DRAWS, prior: float = PRIOR_QUERIES) -> None:
        self._n, self._prior = n, prior
        self._normals = VariateStream(0, "normals").normals(draws * systems).reshape(draws, systems)
        self._spread = np.sqrt((n - 1) / VariateStream(0, "gammas").chi_squares(draws, n - 1))[:, None]

    def choices(self, values: FloatArray, all_costs: list[FloatArray]) -> list[Choice]:
        """The cheapest system of low risk for each of several costs, or the one of least loss if no risk is low."""
        covariance = np.cov(values.T)
        within = (np.trace(covariance) - covariance.mean() * len(covariance)) / (len(covariance) - 1)
        covariance += self._prior * within / (self._n - 1) * np.eye(len(covariance))
        sizes, vectors = np.linalg.eigh(covariance / self._n)
        root = vectors * np.sqrt(np.maximum(sizes, 0.0))
        draws = values.mean(axis=0) + self._normals @ root.T * self._spread
        short = draws.max(axis=1, keepdims=True) - draws
        safe = np.flatnonzero((short > MARGIN).mean(axis=0) <= MAX_RISK)
        if not len(safe):
            return [Choice(int(short.mean(axis=0).argmin()), False)] * len(all_costs)
        return [Choice(int(safe[costs[safe].argmin()]), self._n >= MIN_QUERIES) for costs in all_costs]


def simulate(
    values: FloatArray, n: int, systems: int, rounds: int, random: np.random.Generator, prior: float = PRIOR_QUERIES
) -> Cell:
    """Shares of decided and of wrong rounds, and mean regrets, for both kinds of cost."""
    counts = dict.fromkeys(("decided", "wrong by order", "wrong at random", "regret", "highest mean", "baseline"), 0.0)
    rule, by_place = Rule(n, systems, prior=prior), np.arange(systems).astype(np.float64)
    for _ in range(rounds):
        shown = np.sort(np.concatenate([[0], 1 + random.permutation(values.shape[1] - 1)[: systems - 1]]))
        sample = values[random.integers(0, len(values), n)][:, shown]
        truth = values[:, shown].mean(axis=0)
        short = truth.max() - truth
        by_order, by_chance = rule.choices(
            sample, [random.permutation(systems).astype(np.float64) if shuffled else by_place for shuffled in (False, True)]
        )
        counts["decided"] += by_order.decided
        counts["wrong by order"] += by_order.decided and short[by_order.at] > MARGIN
        counts["wrong at random"] += by_chance.decided and short[by_chance.at] > MARGIN
        counts["regret"] += (short[by_order.at] + short[by_chance.at]) / 2
        counts["highest mean"] += short[sample.mean(axis=0).argmax()]
        counts["baseline"] += short[0]
    return {name: float(count / rounds) for name, count in counts.items()}


@dataclass(frozen=True, slots=True)
class Row:
    """The cells of one collection, measure and number of systems, by number of queries."""

    collection: str
    measure: str
    systems: int
    cells: dict[int, Cell]


def rows(rounds: int, prior: float) -> Iterator[Row]:
    """Every row: all sizes by nDCG@10, fewer by other measures."""
    stored = StoredCells("decision_rule", f"{rounds} rounds, {DRAWS} draws, margin {MARGIN}, risk {MAX_RISK}, prior {prior}")
    for one in real_values():
        for measure, values in one.values.items():
            primary = measure == "nDCG@10"
            for systems in SYSTEMS if primary else OTHER_SYSTEMS:
                cells = {
                    n: stored.cell(
                        f"{one.collection}, {measure}, {systems} systems, n = {n}",
                        partial(simulate, values, n, systems, rounds, prior=prior),
                    )
                    for n in (SIZES if primary else OTHER_SIZES)
                }
                yield Row(one.collection, measure, systems, cells)


def wrong(cell: Cell) -> float:
    """The share of wrong decisions, for the costs with more of them."""
    return max(cell["wrong by order"], cell["wrong at random"])


def main() -> None:
    """Prints a table of decided and wrong shares, one of regrets, and the worst cell; ends with 1 if it is above 5%."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.decision_rule", description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--prior", type=float, default=PRIOR_QUERIES, help="further queries in the covariance")
    arguments = parser.parse_args()
    rounds = arguments.rounds
    found = list(rows(rounds, arguments.prior))
    print(f"| % decided / % decided and wrong | systems | {' | '.join(f'n = {n}' for n in SIZES)} |")
    print(f"|---|---:|{'---:|' * len(SIZES)}")
    for row in found:
        cells = [
            f"{100 * row.cells[n]['decided']:.0f} / {100 * wrong(row.cells[n]):.1f}" if n in row.cells else "" for n in SIZES
        ]
        print(f"| {row.collection}, {row.measure} | {row.systems} | {' | '.join(cells)} |")
    print("\n| mean regret by nDCG@10, pp | systems | n | this rule | highest mean | keep bm25 |\n|---|---:|---:|---:|---:|---:|")
    for row in found:
        for n in (50, 200) if row.measure == "nDCG@10" and row.systems == 7 else ():
            regrets = " | ".join(f"{100 * row.cells[n][name]:.2f}" for name in ("regret", "highest mean", "baseline"))
            print(f"| {row.collection} | {row.systems} | {n} | {regrets} |")
    worst = max(wrong(cell) for row in found for cell in row.cells.values())
    print(f"\nThe worst cell: {100 * worst:.1f}% wrong (one-sided 95% bound {100 * upper_bound(worst, rounds):.1f}%).")
    often = [cell for row in found for cell in row.cells.values() if cell["decided"] >= 0.2]
    print(
        f"Of the decided samples, at most {100 * max(wrong(cell) / cell['decided'] for cell in often):.0f}% are wrong, ", end=""
    )
    print("in cells with at least 20% decided.")
    raise SystemExit(int(worst > MAX_RISK))


if __name__ == "__main__":
    main()
