"""How often intervals are right, and how wide they are, with several judges whose weights are learned from people's labels.

People's values are yes or no, or shares of claims. Each judge is the people's value with its own noise, some with a bias for one
system; two of them may share their errors. The first questions are labelled.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np

from rankproof._data.arrays import FloatArray
from rankproof._statistics.labelled_means import labelled_means
from rankproof._statistics.prediction_powered import combined_judges

ROUNDS, QUESTIONS, SHARES = 1_000, 500, (0.7, 0.6)


@dataclass(frozen=True)
class World:
    """Judges with these standard deviations of noise, of which a `shared` part is common to all, and a bias for system 0."""

    name: str
    noises: tuple[float, ...]
    shared: float = 0.0
    biases: tuple[float, ...] = (0.0, 0.0, 0.0)

    def draw(self, random: np.random.Generator) -> tuple[FloatArray, list[FloatArray]]:
        """People's values by question and system, and those of each judge from 0 to 1."""
        hard = random.normal(0, 0.2, (QUESTIONS, 1))
        people = (random.random((QUESTIONS, 2)) < np.clip(np.array(SHARES) + hard, 0, 1)).astype(np.float64)
        common = random.normal(size=people.shape)
        judges = []
        for noise, bias in zip(self.noises, self.biases, strict=False):
            errors = np.sqrt(self.shared) * common + np.sqrt(1 - self.shared) * random.normal(size=people.shape)
            judges.append(np.clip(people + noise * errors + np.array([bias, 0.0]), 0, 1))
        return people, judges

    def truth(self) -> float:
        """The true difference of the two systems."""
        random = np.random.default_rng(99)
        return float(np.mean([np.subtract(*self.draw(random)[0].mean(axis=0)) for _ in range(1_000)]))


WORLDS = (
    World("one good, two useless", (0.4, 3.0, 3.0)),
    World("three alike", (0.8, 0.8, 0.8)),
    World("three that share half of their errors", (0.8, 0.8, 0.8), 0.5),
    World("good, middling, poor", (0.4, 0.8, 1.6)),
    World("three alike, one favours a system", (0.6, 0.6, 0.6), 0.0, (0.4, 0.0, 0.0)),
    World("three useless", (5.0, 5.0, 5.0)),
)


def row(world: World, labelled: int, rounds: int) -> str:
    """Coverage of the interval, and the variance of the difference against labels alone."""
    random, truth, own = np.random.default_rng(1), world.truth(), np.arange(labelled)
    covered, errors = 0, []
    for _ in range(rounds):
        people, judges = world.draw(random)
        human = people[:labelled]
        learned = combined_judges(judges, human, own)[0]
        ways = [*judges, np.mean(judges, axis=0), np.median(judges, axis=0), learned]
        every = [labelled_means(human, values[:labelled], values[labelled:]) for values in ways]
        low, high = every[-1].difference_interval(0, 1, every[-1].interval_floor())
        covered += low <= truth <= high
        alone = float(human[:, 0].mean() - human[:, 1].mean())
        errors.append([alone - truth, *(float(found.means[0] - found.means[1]) - truth for found in every)])
    variances = (np.array(errors) ** 2).mean(axis=0)
    single, (mean, middle, learned_variance) = variances[1:-3].min(), variances[-3:]
    shares = "/".join(f"{value / variances[0]:.3f}" for value in (single, mean, middle, learned_variance))
    return f"| {world.name} | {labelled} | {100 * covered / rounds:.1f} | {shares} |"


def main() -> None:
    """Prints a row for each world and number of labels."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    rounds = parser.parse_args().rounds
    print("| judges | labels | % coverage | variance: best judge/mean/median/learned |\n|---|---:|---:|---:|")
    for world in WORLDS:
        for labelled in (30, 50, 100):
            print(row(world, labelled, rounds), flush=True)


if __name__ == "__main__":
    main()
