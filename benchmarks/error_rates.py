"""Error rates of our tests, intervals and corrections on simulated values with a known true difference.

Under a true null hypothesis a test at alpha .05 must reject in about 5% of experiments, a 95% interval must contain the true
difference in about 95%, and a family of tests under Holm's correction may contain a false verdict in at most about 5%.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rankproof._analysis.compare.joined_values import JoinedValues
from rankproof._analysis.compare.pairs import PairComparison, compare_pairs
from rankproof._analysis.options import CompareOptions
from rankproof._data.arrays import FloatArray
from rankproof._statistics.intervals import Interval, bootstrap_interval, mean_interval, resampled_means
from rankproof._statistics.options import IntervalMethod
from rankproof._statistics.paired import detectable_difference, equivalence_p, paired_statistics, t_test_p
from rankproof._statistics.permutation import randomisation_p
from rankproof.measures import parse_measure

from .simulated_values import AT_MARGIN, LIFTED, MARGIN, NORMAL, NULLS, Simulation

ALPHA, SEED = 0.05, 2026
SAMPLES, RESAMPLES = 2_000, 2_000
Side = Literal["below", "above"]
Experiment = Callable[[np.random.Generator, int], bool]


@dataclass(frozen=True, slots=True)
class Check:
    """An event whose rate over experiments should be within bounds, or else on the `safe` side of them."""

    what: str
    world: str
    n: int
    happens: Experiment
    least: float
    most: float
    safe: Side | None = None

    def rate(self, experiments: int, seed: int) -> float:
        """The share of experiments in which it happens."""
        random = np.random.default_rng([seed, *f"{self.what} {self.world} {self.n}".encode()])
        return sum(self.happens(random, at) for at in range(experiments)) / experiments

    def side(self, rate: float) -> Side | None:
        """On which side of the bounds the rate lies, None where it is within them."""
        return "below" if rate < self.least else "above" if rate > self.most else None


def checks() -> Iterator[Check]:
    """Every check, in the order of the table."""
    for n in (5, 10, 20):
        for world in (*NULLS, LIFTED):
            yield Check("t interval holds the truth, or there is none", world.name, n, covers(world, n, "t"), 0.92, 0.97, "above")
        yield Check("t interval holds the truth, or there is none", "normal", n, covers(NORMAL, n, "t"), 0.92, 0.97, "above")
    for n in (50, 225):
        for world in NULLS:
            yield Check("randomisation test rejects a true null", world.name, n, rejects(world, n, by_flips), 0.03, 0.07, "below")
            yield Check("t-test rejects a true null", world.name, n, rejects(world, n, by_t), 0.03, 0.07, "below")
        for world in (*NULLS, LIFTED):
            yield Check("t interval holds the truth", world.name, n, covers(world, n, "t"), 0.92, 0.97, "above")
            yield Check("BCa interval holds the truth", world.name, n, covers(world, n, "bca"), 0.92, 0.97, "above")
            yield Check("percentile interval holds the truth", world.name, n, covers(world, n, "percentile"), 0.92, 0.97, "above")
        for world in (NULLS[0], NULLS[1], LIFTED):
            yield Check("Holm: any false verdict among the pairs", world.name, n, errs(world, n), 0.0, 0.07)
        for world in (NULLS[0], AT_MARGIN):
            yield Check("Holm with a margin: any false verdict", world.name, n, errs(world, n, MARGIN), 0.0, 0.07)
        yield Check("equivalence claimed at the margin itself", "normal", n, claims_equivalence(n), 0.0, 0.07)
        yield Check("detectable difference is detected", "normal", n, detects(n), 0.77, 0.83)


def by_flips(values: FloatArray, seed: int) -> float:
    """p of the randomisation test."""
    return float(randomisation_p(values, SAMPLES, seed)[0, 1])


def by_t(values: FloatArray, seed: int) -> float:
    """p of the t-test."""
    found = t_test_p(paired_statistics(values[:, 0] - values[:, 1]))
    return by_flips(values, seed) if found is None else found


def rejects(world: Simulation, n: int, p: Callable[[FloatArray, int], float]) -> Experiment:
    """Two equally good systems are called different."""
    return lambda random, seed: p(world.draw(random, n, 2), seed) <= ALPHA


def interval_by(method: IntervalMethod, values: FloatArray, seed: int) -> Interval | None:
    """The 95% interval of the mean; None where all values are equal."""
    if method == "t" or values.max() == values.min():
        return mean_interval(values)
    return bootstrap_interval(values, resampled_means(values[:, None], RESAMPLES, seed)[:, 0], method)


def covers(world: Simulation, n: int, method: IntervalMethod) -> Experiment:
    """The interval of a difference contains the true one; values that are all equal have no interval."""

    def happens(random: np.random.Generator, seed: int) -> bool:
        values = world.draw(random, n, 2)
        found = interval_by(method, values[:, 0] - values[:, 1], seed)
        return found is None or found[0] <= world.gain <= found[1]

    return happens


def errs(world: Simulation, n: int, margin: float | None = None) -> Experiment:
    """A pair of four systems under two measures gets a false verdict: different or equivalent."""
    measures, names = (parse_measure("nDCG@10"), parse_measure("RR@10")), ("first", "second", "third", "fourth")
    queries = tuple(f"q{at:04}" for at in range(n))

    def happens(random: np.random.Generator, seed: int) -> bool:
        values = np.array([world.draw(random, n, len(names)) for _ in measures])
        settings = CompareOptions(alpha=ALPHA, samples=SAMPLES, equivalence=margin, seed=seed)
        found = compare_pairs(JoinedValues(queries, names, measures, values, ()), None, settings)
        return any(_is_false(one, world, margin) for one in found)

    return happens


def _is_false(found: PairComparison, world: Simulation, margin: float | None) -> bool:
    truth = abs(world.gain) if "first" in (found.observed.one, found.observed.other) else 0.0
    if found.verdict == "equivalent":
        return margin is not None and truth >= margin
    return found.verdict in ("better", "worse") and truth == 0


def claims_equivalence(n: int) -> Experiment:
    """Systems that differ by exactly the margin are called equivalent."""
    return lambda random, seed: equivalence_p(paired_statistics(random.normal(0.02, 0.05, n)), 0.02) <= ALPHA


def detects(n: int) -> Experiment:
    """The difference with 80% power is detected."""
    gain = detectable_difference(1.0, n, ALPHA) or 0.0
    return lambda random, seed: (t_test_p(paired_statistics(random.normal(gain, 1.0, n))) or 0.0) <= ALPHA


def main() -> None:
    """Prints a Markdown table; ends with 1 where a rate lies outside its bounds, and not on the safe side."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.error_rates", description=__doc__)
    parser.add_argument("--experiments", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=SEED)
    arguments = parser.parse_args()
    many = f"{arguments.experiments:,} experiments each, alpha {ALPHA}, {SAMPLES:,} flips, {RESAMPLES:,} resamples"
    print(f"{many}, seed {arguments.seed}\n")
    print("| what | values | n | share | should lie in | does |\n|---|---|---:|---:|---|---|")
    faults = 0
    for check in checks():
        rate = check.rate(arguments.experiments, arguments.seed)
        side = check.side(rate)
        faults += side not in (None, check.safe)
        bounds = f"{check.least:.2f} to {check.most:.2f}"
        print(f"| {check.what} | {check.world} | {check.n} | {rate:.4f} | {bounds} | {side or 'yes'} |", flush=True)
    raise SystemExit(min(faults, 1))


if __name__ == "__main__":
    main()
