"""A ranking whose top has new scores: put in their order, with scores that still fall from place to place."""

from __future__ import annotations

import numpy as np

from ..data.arrays import FloatArray
from ..data.ranking import Ranking

FINEST_STEP = 2.0**-30


def resorted(docs: list[str], scores: FloatArray, top: int) -> Ranking:
    """The top by the new scores, documents of equal score in the order they had, and the rest behind in theirs.

    Scores descend strictly: equal ones are told apart by the last bit, and each of the rest lies a step below the one before.
    """
    order = np.argsort(-scores, kind="stable")
    ordered = [docs[at] for at in order.tolist()] + docs[top:]
    falling = scores[order]
    for at in range(1, len(falling)):
        falling[at] = min(falling[at], np.nextafter(falling[at - 1], -np.inf))
    least = float(falling[-1])
    steps = max(1.0, abs(least) * FINEST_STEP) * np.arange(1, len(docs) - len(falling) + 1)
    return ordered, np.concatenate([falling, least - steps])
