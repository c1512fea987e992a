"""How often intervals cover the true difference of two systems on conversations, with sessions as the unit and with turns.

Each session has a difficulty of its own for each system, so its turns are alike: a share of the variance of the difference is
between sessions. Values are 0 or 1. The truth is that of 200,000 sessions; the number of turns may depend on the difficulty.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np

from rankproof._analysis.compare.joined_values import JoinedValues
from rankproof._analysis.compare.sessions import by_session
from rankproof._data.arrays import FloatArray, IntArray
from rankproof._statistics.decision_rule import pair_estimates, risks
from rankproof._statistics.intervals import mean_interval
from rankproof.measures._parse import parse_measure

ROUNDS, TRUTH = 2_000, 200_000
MARGIN = 0.02
GAIN = 0.35


@dataclass(frozen=True)
class World:
    """Sessions with at most `turns` turns; `alike` is the weight of the session in a turn, `longer` if hard ones are longer."""

    sessions: int
    turns: int
    alike: float
    longer: bool = False

    def draw(self, random: np.random.Generator, sessions: int) -> tuple[FloatArray, IntArray]:
        """The values by turn and system, and the session of each turn."""
        hard = random.normal(size=sessions)
        most = 1 + random.binomial(self.turns - 1, 1 / (1 + np.exp(-hard)) if self.longer else np.full(sessions, 0.5))
        session = np.repeat(np.arange(sessions), most)
        own = random.normal(size=(sessions, 2))
        noise = random.normal(size=(len(session), 2))
        level = np.array([0.0, GAIN]) - 0.5 * hard[session][:, None]
        values = level + np.sqrt(self.alike) * own[session] + np.sqrt(1 - self.alike) * noise
        return (values > 0).astype(float), session


WORLDS = tuple(
    World(sessions, turns, alike, longer)
    for sessions in (30, 100)
    for turns, alike, longer in (
        (1, 0.5, False),
        (4, 0.0, False),
        (4, 0.5, False),
        (8, 0.5, False),
        (8, 0.9, False),
        (8, 0.5, True),
    )
)


def row(world: World, rounds: int, seed: int = 0) -> str:
    """Coverage and half width of both intervals, and how often the decision ships a system that is worse by the margin."""
    random = np.random.default_rng(seed)
    truth_values, _ = world.draw(random, TRUTH)
    truth = float((truth_values[:, 1] - truth_values[:, 0]).mean())
    measure = parse_measure("EM")
    covered, widths, shipped = np.zeros(2), np.zeros(2), np.zeros(2)
    for _ in range(rounds):
        values, session = world.draw(random, world.sessions)
        queries = tuple(f"{at:06d}" for at in range(len(values)))
        names = tuple(f"{number:05d}" for number in session.tolist())
        joined = JoinedValues(queries, ("a", "b"), (measure,), values[None], (), sessions=names)
        for at, rows in enumerate((joined, by_session(joined))):
            apart = rows.values[0][:, 1] - rows.values[0][:, 0]
            low, high = mean_interval(apart, weights=rows.weights) or (float(apart.mean()),) * 2
            covered[at] += low <= truth <= high
            widths[at] += (high - low) / 2
            # How often the system that is 2 pp too low would be shipped, if b were worse by as much as it is better.
            equal = rows.values[0] - np.array([0.0, truth + MARGIN])
            found = risks(pair_estimates(equal, rows.weights), MARGIN)
            shipped[at] += bool(found.risk[1] <= found.limit[1])
    cells = [f"{covered[at] / rounds:.3f} | {widths[at] / rounds:.3f} | {shipped[at] / rounds:.1%}" for at in (0, 1)]
    length = f"1 to {world.turns}{', longer if hard' if world.longer else ''}" if world.turns > 1 else "1"
    return f"| {world.sessions} | {length} | {world.alike:g} | {' | '.join(cells)} |"


def table(rounds: int) -> str:
    """The table of the documentation."""
    head = "| sessions | turns | alike | turns: coverage | half width | wrong | sessions: coverage | half width | wrong |"
    return "\n".join([head, "|---:|---|---:|---:|---:|---:|---:|---:|---:|", *(row(world, rounds) for world in WORLDS)])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    print(table(parser.parse_args().rounds))
