"""How many queries decide, from the values seen."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from rankproof._analysis.decision.record import Decision, QueriesNeeded
from rankproof._data.arrays import FloatArray
from rankproof._statistics.decision_rule import (
    PairEstimates,
    further_query,
    needed_scores,
    normal_scores,
    pair_estimates,
    race_sizes,
    rival_correlations,
)
from rankproof._statistics.means import draw_means, effective_size, weighted_mean
from rankproof._statistics.options import Looks

_GROWTH, _MOST = 1.15, 20.0
_EVEN, _LIKELY = 0.5, 0.8
_BLOCK = 2**20  # Pairs of systems in draws that are in memory at the same time.


def queries_needed(
    values: FloatArray, weights: FloatArray | None, margin: float, looks: Looks, least: int, *, seed: int = 0
) -> QueriesNeeded:
    """The fewest queries, in steps of 15% up to 20 times as many, at which a system is good enough in such a share of draws.

    A draw has the means of all queries, seen and to come, from the covariance of the values and one further query.
    """
    estimates = pair_estimates(values, weights)
    centre = np.array([weighted_mean(column, weights) for column in values.T])
    off = draw_means(values, weights, seed=seed, further=further_query(values, weights)) - centre
    n, even = effective_size(len(values), weights), None
    size = max(n * _GROWTH, float(least))
    while size <= max(_MOST * n, float(least)):
        chance = _chance(estimates, off, n, size, margin, looks)
        counted = math.ceil(size * len(values) / n)
        if even is None and chance >= _EVEN:
            even = counted
        if chance >= _LIKELY:
            return QueriesNeeded(even, counted)
        size *= _GROWTH
    return QueriesNeeded(even, None)


def _chance(estimates: PairEstimates, off: FloatArray, n: float, size: float, margin: float, looks: Looks) -> float:
    """The share of draws in which a system is good enough at this number of queries."""
    # The queries seen are among the future ones, so only the others vary.
    shifts = math.sqrt(max(0.0, 1 - n / size)) * off
    errors = estimates.errors * math.sqrt(n / size)
    best = (estimates.differences.sum(axis=1) + off.shape[1] * shifts).argmax(axis=1)
    apart = estimates.differences[:, best].T + shifts - np.take_along_axis(shifts, best[:, None], axis=1)
    against = normal_scores((apart + margin) / errors[:, best].T, size - 1)
    race, correlations = race_sizes(against, best), rival_correlations(estimates, margin)
    # A table of all pairs for each draw would take gigabytes for some hundred systems, and most of them are far below the best.
    possible = against >= needed_scores(np.zeros(1), 2, looks)
    np.put_along_axis(possible, best[:, None], True, axis=1)
    draws, systems = np.nonzero(possible)
    enough = np.zeros(len(off), dtype=bool)
    # The needed score depends on the size of the race, which differs between draws.
    for count in np.unique(race).tolist():
        places = np.flatnonzero(race[draws] == count)
        for start in range(0, len(places), rows := max(1, _BLOCK // off.shape[1])):
            draw, system = draws[places[start : start + rows]], systems[places[start : start + rows]]
            differences = estimates.differences[system] + shifts[draw, system][:, None] - shifts[draw]
            scores = normal_scores((differences + margin) / errors[system], size - 1)
            scores[np.arange(len(system)), system] = np.inf
            good = (scores >= needed_scores(margin / errors[system], count, looks, correlations)).all(axis=1)
            enough[draw[good]] = True
    return float(enough.mean())


def queries_needed_sentences(decision: Decision) -> Iterator[str]:
    """How many queries decide an open decision."""
    needed = decision.needed
    if needed is None:
        return
    if needed.likely is not None and needed.even is not None:
        even, likely = rounded_up(needed.even), rounded_up(needed.likely)
        if even == likely:
            yield f"About {likely:,} queries decide with a chance of 80% ({likely - decision.n:,} more)."
        else:
            yield f"About {even:,} queries decide with even chances, {likely:,} with 80%."
    elif needed.even is not None:
        yield f"About {rounded_up(needed.even):,} queries decide with even chances; even 20 times as many do not with 80%."
    else:
        yield "More queries alone are unlikely to decide."


def rounded_up(number: float) -> int:
    """The number with two digits, rounded up."""
    unit = int("1" + "0" * max(0, len(str(math.ceil(number))) - 2))
    return math.ceil(number / unit) * unit
