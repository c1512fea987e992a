"""Whether a value below chance is more than bad luck: how likely a random ranking is to find as little."""

from __future__ import annotations

from collections.abc import Mapping

from ..evidence import Evidence
from ..measured import measured
from .chance import chance_of

SUCCESS = "Success@10"
SURE = 0.01
"""A random ranking that does as badly this seldom is no explanation."""
WORSE, BELOW = "WORSE THAN RANDOM", "below chance, by luck or fault"


def unlucky(evidence: Evidence) -> Mapping[str, float]:
    """System to how likely a random ranking is to have as few queries with a success in the first ten, or fewer."""
    found = {}
    for system, each in measured(evidence, [SUCCESS]).items():
        one = each[SUCCESS]
        chance = chance_of(evidence, one.measure, one.query_ids)
        if chance is not None:
            found[system] = chance.of_at_most(round(one.value * one.queries))
    return found


def verdict(probability: float | None) -> str:
    """What to call a value below chance."""
    return WORSE if probability is not None and probability <= SURE else BELOW


def said_of_luck(probability: float | None) -> str:
    """The probability in words, after a semicolon."""
    return "" if probability is None else f"; a random ranking does as badly in {SUCCESS} with probability {probability:.2g}"
