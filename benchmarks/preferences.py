"""How often intervals and decisions from preferences are right, with a known bias of the place where an answer is shown.

Systems have true strengths; a question has its own difficulty for each system, so preferences of several people on one question
are alike. One system is shown first more often than the other. Beside the model: the plain share of wins, each preference a row.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np

from rankproof._analysis.preferences import Comparisons, fit_strengths
from rankproof._data.arrays import FloatArray
from rankproof._statistics.decision_rule import pair_estimates, risks
from rankproof._statistics.intervals import mean_interval

ROUNDS, MARGIN = 1_000, 0.02
TRUTH = 400_000


@dataclass(frozen=True)
class World:
    """Preferences of `people` on each of `questions`; the first place adds `bias` to the log odds, and a is first by `swap`."""

    systems: int
    questions: int
    people: int
    bias: float
    swap: float
    gap: float = 0.3

    def draw(self, random: np.random.Generator) -> Comparisons:
        """The preferences of one round."""
        n = self.questions * self.people
        question = np.repeat(np.arange(self.questions), self.people)
        pair = np.array([random.choice(self.systems, 2, replace=False) for _ in range(self.questions)])[question]
        low, high = pair.min(axis=1), pair.max(axis=1)
        is_low_first = random.random(n) < self.swap
        first, second = np.where(is_low_first, low, high), np.where(is_low_first, high, low)
        strengths = self.gap * np.arange(self.systems)
        own = random.normal(scale=1.0, size=(self.questions, self.systems))[question]
        at = np.arange(n)
        odds = strengths[first] - strengths[second] + own[at, first] - own[at, second] + self.bias
        won = (random.random(n) < 1 / (1 + np.exp(-odds))).astype(float)
        return Comparisons(first, second, won, question, np.ones(n, dtype=bool), self.systems)

    def truth(self) -> FloatArray:
        """The chance of each system to be preferred to another one by a person, both orders alike."""
        big = World(self.systems, TRUTH // 2, 1, self.bias, 0.5, self.gap)
        return np.asarray(fit_strengths(big.draw(np.random.default_rng(99))).values.mean(axis=0))


WORLDS = (
    *(World(2, 100, 1, bias, swap) for bias, swap in ((0.0, 0.5), (0.6, 0.5), (0.6, 0.8))),
    *(World(2, 100, 5, bias, swap) for bias, swap in ((0.0, 0.5), (0.6, 0.8))),
    *(World(4, 300, 1, bias, swap) for bias, swap in ((0.0, 0.5), (0.6, 0.8))),
    World(4, 300, 3, 0.6, 0.8),
)


def row(world: World, rounds: int) -> str:
    """The coverage and error of the best system's chance by the model and by plain shares, and wrong decisions at the margin."""
    random, truth = np.random.default_rng(1), world.truth()
    best, covered, error, wrong = world.systems - 1, np.zeros(2), np.zeros(2), 0
    for _ in range(rounds):
        made = world.draw(random)
        values = fit_strengths(made).values[:, best]
        own = (made.first == best) | (made.second == best)
        plain = np.where(made.first == best, made.won, 1 - made.won)[own]
        for at, column in enumerate((values, plain)):
            low, high = mean_interval(column) or (float(column.mean()),) * 2
            covered[at] += low <= truth[best] <= high
            error[at] += column.mean() - truth[best]
        # How often the best system would be shipped if it were 2 pp below the second one.
        shifted = fit_strengths(made).values - truth
        shifted[:, best] -= MARGIN
        found = risks(pair_estimates(shifted), MARGIN)
        wrong += bool(found.risk[best] <= found.limit[best])
    cells = [f"{covered[at] / rounds:.3f} | {error[at] / rounds:+.3f}" for at in (0, 1)]
    about = f"| {world.systems} | {world.questions} x {world.people} | {world.bias:g} | {world.swap:.0%} |"
    return f"{about} {cells[0]} | {wrong / rounds:.1%} | {cells[1]} |"


def table(rounds: int) -> str:
    """The table of the documentation."""
    head = "| systems | questions x people | bias | first | model: coverage | error | wrong | plain: coverage | error |"
    return "\n".join([head, "|---:|---|---:|---:|---:|---:|---:|---:|---:|", *(row(world, rounds) for world in WORLDS)])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    print(table(parser.parse_args().rounds))
