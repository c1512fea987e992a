"""What a ranking would have got, from clicks on other rankings: importance weights, their estimators, and how much they rest on.

Definitions are those of the Open Bandit Pipeline (Saito et al. 2021), where a round is a list that was shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from rankproof._data.arrays import FloatArray
from rankproof._statistics.options import Estimator
from rankproof._statistics.position_bias import IntpArray


@dataclass(frozen=True, eq=False, slots=True)
class Rounds:
    """What was shown in each round, as columns with a row per item: its round, reward and importance weight.

    `predicted` is the reward that a model expects of the item as it was shown, `policy` per round what it expects of the target.
    `attention` is what a weight counts in their mean, which is 1 if the log covers the target: 1 for one item per round.
    """

    round: IntpArray
    reward: FloatArray
    weight: FloatArray
    predicted: FloatArray
    attention: FloatArray
    policy: FloatArray

    def sums(self, items: FloatArray) -> FloatArray:
        """The sum over the items of each round."""
        return np.bincount(self.round, items, minlength=len(self.policy)).astype(np.float64, copy=False)


def inverse_propensity(parts: Iterable[Rounds], clip: float) -> FloatArray:
    """Horvitz and Thompson (1952): rewards times weights."""
    return np.concatenate([rounds.sums(rounds.reward * rounds.weight) for rounds in parts])


def self_normalised(parts: Iterable[Rounds], clip: float) -> FloatArray:
    """Rewards over the mean weight (Swaminathan and Joachims 2015), linearised: the mean is that of the ratio."""
    both = [
        np.stack([rounds.sums(rounds.reward * rounds.weight), rounds.sums(rounds.attention * rounds.weight)]) for rounds in parts
    ]
    sums, shares = np.concatenate(both, axis=1)
    covered = float(shares.mean())
    if covered == 0:
        return np.full(len(sums), np.nan)
    value = float(sums.mean()) / covered
    return np.asarray(value + (sums - value * shares) / covered)


def clipped(parts: Iterable[Rounds], clip: float) -> FloatArray:
    """Rewards times weights of at most `clip` (Bottou et al. 2013)."""
    return np.concatenate([rounds.sums(rounds.reward * np.minimum(rounds.weight, clip)) for rounds in parts])


def doubly_robust(parts: Iterable[Rounds], clip: float) -> FloatArray:
    """The model's prediction, corrected by the weighted errors of the model on what was shown (Dudik, Langford and Li 2011)."""
    return np.concatenate([rounds.policy + rounds.sums(rounds.weight * (rounds.reward - rounds.predicted)) for rounds in parts])


ESTIMATORS: Mapping[Estimator, Callable[[Iterable[Rounds], float], FloatArray]] = {
    "ips": inverse_propensity,
    "snips": self_normalised,
    "clipped": clipped,
    "dr": doubly_robust,
}
"""Each estimator as a value per round, whose mean is the estimate; rounds come in parts."""


def effective_sample_size(rounds: Rounds) -> float:
    """How many rounds of the target the weighted rounds are worth (Kish 1965), by the attention that their items got."""
    weighted = float(rounds.attention @ rounds.weight)
    squares = float(rounds.attention @ (rounds.weight * rounds.weight))
    return len(rounds.policy) * weighted**2 / (float(rounds.attention.sum()) * squares) if squares else 0.0
