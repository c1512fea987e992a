"""Simulated per-query values of systems, with a known true mean difference."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rankproof._data.arrays import FloatArray

DEPTH = 10
MARGIN = 0.02
Random = np.random.Generator


@dataclass(frozen=True, slots=True)
class Simulation:
    """`draw(random, n, systems)` gives values by query and system; the first system's true mean is `gain` above the others'."""

    name: str
    draw: Callable[[Random, int, int], FloatArray]
    gain: float = 0.0


def smooth(random: Random, n: int, systems: int) -> FloatArray:
    """Values between 0 and 1 like nDCG's: hard and easy queries, and noise of each system's own."""
    return np.clip(random.beta(2, 2, (n, 1)) + random.normal(0, 0.15, (n, systems)), 0, 1)


def reciprocal(random: Random, n: int, systems: int) -> FloatArray:
    """Values like RR@10's: few numbers, many ties, much skew."""
    return _reciprocal(random.geometric(0.35, (n, systems)))


def success(random: Random, n: int, systems: int) -> FloatArray:
    """Values like Success@5's: 0 or 1, easier on some queries than on others."""
    return (random.random((n, systems)) < random.beta(4, 2, (n, 1))).astype(np.float64)


def lifted(random: Random, n: int, systems: int) -> FloatArray:
    """Reciprocal ranks of which the first system's are truly better, on every query independently."""
    ranks = random.geometric(0.35, (n, systems))
    ranks[:, 0] = random.geometric(0.6, n)
    return _reciprocal(ranks)


def normal(random: Random, n: int, systems: int) -> FloatArray:
    """Values whose differences are normal."""
    return random.normal(0.5, 0.15, (n, systems))


def at_margin(random: Random, n: int, systems: int) -> FloatArray:
    """The same, but for a first system that is better by just the margin."""
    values = normal(random, n, systems) * 0.2
    values[:, 0] += MARGIN
    return values


def _reciprocal(ranks: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> FloatArray:
    found: FloatArray = np.where(ranks <= DEPTH, 1 / ranks, 0.0)
    return found


def _mean(chance: float) -> float:
    """The true mean of the reciprocal of a geometric rank, 0 past the depth."""
    return sum(chance * (1 - chance) ** (rank - 1) / rank for rank in range(1, DEPTH + 1))


NULLS = (Simulation("like nDCG", smooth), Simulation("like RR@10", reciprocal), Simulation("like Success@5", success))
LIFTED = Simulation("like RR@10, one better", lifted, _mean(0.6) - _mean(0.35))
NORMAL = Simulation("normal", normal)
AT_MARGIN = Simulation("normal, one better by the margin", at_margin, MARGIN)
