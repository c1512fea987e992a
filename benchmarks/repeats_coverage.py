"""How often the interval of a difference covers the truth if systems are asked the same question several times.

A question has a chance of a right answer for each of two systems; answers are right or wrong by that chance. The difference
between the chances varies little or much from question to question. The interval is Student's t of the paired differences: of
question means, of all rows as if each were a question of its own, and of the first row of each question alone.
"""

from __future__ import annotations

import argparse
from functools import partial

import numpy as np

from rankproof._data.arrays import FloatArray
from rankproof._statistics.intervals import mean_interval
from rankproof._statistics.paired import split_variance

from .simulation import Cell, StoredCells

DESIGNS = ((40, 3), (40, 10), (50, 3), (80, 3), (100, 5), (100, 10), (200, 1), (240, 1))
SPREADS = {"little": 0.05, "much": 0.35}
"""The standard deviation of the difference between the chances of a question."""
GAIN = 0.05
ROUNDS = 2_000
_MANY_QUESTIONS = 1_000_000
Random = np.random.Generator


def chances(questions: int, spread: float, random: Random) -> FloatArray:
    """The chance of a right answer by question and system."""
    base = random.beta(2, 2, questions)
    gained = np.clip(base + GAIN + random.normal(0, spread, questions), 0, 1)
    return np.column_stack([gained, base])


def covers(differences: FloatArray, truth: float) -> tuple[bool, float]:
    """Whether the 95% interval of the mean covers the truth, and half of its width."""
    interval = mean_interval(differences)
    if interval is None:
        return bool(differences[0] == truth), 0.0
    return interval[0] <= truth <= interval[1], (interval[1] - interval[0]) / 2


def design_cell(questions: int, repeats: int, spread: float, rounds: int, random: Random) -> Cell:
    """Coverage and half widths by question means, by all rows and by first rows; the mean split of the variance."""
    wide = chances(_MANY_QUESTIONS, spread, random)
    truth, between = float((wide[:, 0] - wide[:, 1]).mean()), float((wide[:, 0] - wide[:, 1]).var())
    within = float((wide * (1 - wide)).sum(axis=1).mean())
    names = [f"{what} {how}" for how in ("means", "rows", "first") for what in ("coverage", "half width")]
    sums = dict.fromkeys([*names, "between", "within"], 0.0)
    for _ in range(rounds):
        known = chances(questions, spread, random)
        answers = (random.random((questions, repeats, 2)) < known[:, None, :]).astype(np.float64)
        apart = answers[:, :, 0] - answers[:, :, 1]
        for how, values in (("means", apart.mean(axis=1)), ("rows", apart.ravel()), ("first", apart[:, 0])):
            is_covered, half = covers(values, truth)
            sums[f"coverage {how}"] += is_covered
            sums[f"half width {how}"] += half
        split = split_variance(list(answers[:, :, 0]), list(answers[:, :, 1]))
        if split is not None:
            sums["between"] += split.between
            sums["within"] += split.within
    return {**{name: value / rounds for name, value in sums.items()}, "true between": between, "true within": within}


def retried_cell(questions: int, rounds: int, random: Random) -> Cell:
    """The mean of one system if questions with a low chance are asked ten times and others once."""
    sums = dict.fromkeys(("truth", "means", "rows"), 0.0)
    for _ in range(rounds):
        known = chances(questions, SPREADS["little"], random)[:, 0]
        counts = np.where(known < 0.5, 10, 1)
        right = random.binomial(counts, known)
        sums["truth"] += float(known.mean())
        sums["means"] += float((right / counts).mean())
        sums["rows"] += float(right.sum() / counts.sum())
    return {name: value / rounds for name, value in sums.items()}


def main() -> None:
    """Prints the table and the bias of rows where hard questions are asked more often."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.repeats_coverage", description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    rounds = parser.parse_args().rounds
    stored = StoredCells("repeats_coverage", f"{rounds} rounds, gain {GAIN}")
    print("| differences vary | questions x repeats | question means | all rows | first rows | between (true) | within (true) |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for name, spread in SPREADS.items():
        for questions, repeats in DESIGNS:
            cell = stored.cell(f"{name}, {questions} x {repeats}", partial(design_cell, questions, repeats, spread, rounds))
            shown = [
                f"{100 * cell[f'coverage {how}']:.1f} ± {cell[f'half width {how}']:.3f}" for how in ("means", "rows", "first")
            ]
            split = [f"{cell[part]:.3f} ({cell[f'true {part}']:.3f})" if repeats > 1 else "–" for part in ("between", "within")]
            print(f"| {name} | {questions} x {repeats} | {' | '.join([*shown, *split])} |")
    retried = stored.cell("retried", partial(retried_cell, 100, rounds))
    numbers = ", ".join(f"{name} {retried[name]:.3f}" for name in ("rows", "means", "truth"))
    print(f"\nQuestions with a chance below 0.5 asked ten times, others once: {numbers}.")


if __name__ == "__main__":
    main()
