"""Query sets of a log against the traffic that they stand for: bias, error and coverage of four designs, and decisions.

Traffic is Zipf's over 20,000 queries; values are those of the built-in sample, and lower for rare queries. Queries are drawn at
random from all different queries, without and with weights of traffic, from lines of the log, or by `rankproof sample`. In the
second table the cheap system is 2.01 pp below the other one over the traffic, just beyond the margin; shipping it is wrong.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np

import rankproof as rp
from rankproof._analysis.traffic.sample import draw
from rankproof._data.arrays import DrawnWeights, FloatArray, IntArray
from rankproof._statistics.decision_rule import pair_estimates, risks
from rankproof._statistics.intervals import mean_interval
from rankproof._statistics.means import are_even_weights, effective_size, weighted_mean

QUERIES, MARGIN, GAP = 20_000, 0.02, 0.0201
Sample = tuple[IntArray, FloatArray | None]
Design = Callable[[FloatArray, int, int], Sample]


def population() -> tuple[FloatArray, FloatArray]:
    """The traffic of each query, and the values of two systems."""
    random = np.random.default_rng(1)
    traffic = np.maximum(1.0, np.round(50_000 / np.arange(1, QUERIES + 1)))
    result = rp.evaluate("sample", {name: f"sample:{name}" for name in ("bm25", "hybrid")}, ["nDCG@10"])
    values = np.array([system.measures["nDCG@10"].values for system in result.systems]).T
    drawn = values[random.integers(0, len(values), QUERIES)] - 0.3 * (traffic < 50)[:, None]
    return traffic, np.clip(drawn, 0, 1)


def uniform(traffic: FloatArray, n: int, seed: int) -> Sample:
    """Different queries at random."""
    return np.random.default_rng(seed).choice(QUERIES, n, replace=False), None


def uniform_weighted(traffic: FloatArray, n: int, seed: int) -> Sample:
    """Different queries at random, weighted by their traffic."""
    units, _ = uniform(traffic, n, seed)
    return units, traffic[units]


def log_lines(traffic: FloatArray, n: int, seed: int) -> Sample:
    """Lines of the log at random."""
    return np.random.default_rng(seed).choice(QUERIES, n, p=traffic / traffic.sum()), None


def sampled(traffic: FloatArray, n: int, seed: int) -> Sample:
    """`rankproof sample`."""
    drawn = draw(traffic, n, 0, seed)
    return drawn.units, DrawnWeights(traffic[drawn.units] / drawn.chances, drawn.chances)


DESIGNS: dict[str, Design] = {
    "different queries, plain mean": uniform,
    "different queries, traffic weights": uniform_weighted,
    "log lines with replacement": log_lines,
    "rankproof sample": sampled,
}


def print_coverage(rounds: int) -> None:
    """The table of designs."""
    traffic, both = population()
    values = both[:, 1]
    truth = weighted_mean(values, traffic)
    print("| n | design | bias | RMSE | coverage | to judge | refused |\n|---|---|---|---|---|---|---|")
    for n in (100, 300):
        for name, design in DESIGNS.items():
            errors, held, judged, refused = list[float](), 0, 0, 0
            for seed in range(rounds):
                units, weights = design(traffic, n, seed)
                interval = mean_interval(values[units], weights=weights)
                errors.append(weighted_mean(values[units], weights) - truth)
                held += interval is not None and interval[0] <= truth <= interval[1]
                judged += len(np.unique(units))
                refused += weights is not None and (not are_even_weights(weights) or effective_size(n, weights) < 30)
            root = float(np.sqrt(np.mean(np.square(errors))))
            shares = f"{held / rounds:.3f} | {judged / rounds:.0f} | {refused / rounds:.2f}"
            print(f"| {n} | {name} | {np.mean(errors):+.3f} | {root:.3f} | {shares} |")


def print_decisions(rounds: int) -> None:
    """The table of decisions between two systems of which the cheap one is just too much worse."""
    traffic, both = population()
    apart = both[:, 0] - both[:, 1]
    cheap = both[:, 1] + apart - weighted_mean(apart, traffic) - GAP
    pair = np.column_stack([both[:, 1], cheap])
    print("\n| n | design | decided | ships the worse one | refused |\n|---|---|---|---|---|")
    for n in (100, 300):
        for name in ("different queries, traffic weights", "log lines with replacement", "rankproof sample"):
            decided = wrong = refused = 0
            for seed in range(rounds):
                units, weights = DESIGNS[name](traffic, n, seed)
                if weights is not None and (not are_even_weights(weights) or effective_size(n, weights) < 30):
                    refused += 1
                    continue
                good = risks(pair_estimates(pair[units], weights), MARGIN).good
                decided += bool(good)
                wrong += 1 in good
            print(f"| {n} | {name} | {decided / rounds:.2f} | {wrong / rounds:.3f} | {refused / rounds:.2f} |")


def main() -> None:
    """Prints both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=1_000)
    rounds = parser.parse_args().rounds
    print_coverage(rounds)
    print_decisions(rounds)


if __name__ == "__main__":
    main()
