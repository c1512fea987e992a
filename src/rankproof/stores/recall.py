"""How much of the exact answer an approximate search finds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..data.ranking import Ranking

ROUNDING = 2.0**-21
"""By how much two libraries may differ in a float32 score near 1."""


def recall_of(found: Sequence[Ranking], exact: Sequence[Ranking]) -> float:
    """The mean share of each exact ranking that was found; documents that score as its last one count as that one would.

    NaN where there is nothing to find.
    """
    shares = [_share(mine, theirs) for mine, theirs in zip(found, exact, strict=True) if theirs[0]]
    return float(np.mean(shares)) if shares else float("nan")


def _share(found: Ranking, exact: Ranking) -> float:
    documents, scores = exact
    last = float(scores[-1]) - ROUNDING * max(1.0, abs(float(scores[0])))
    wanted = set(documents)
    pairs: list[tuple[str, float]] = list(zip(found[0], found[1].tolist(), strict=True))
    met = sum(name in wanted or score >= last for name, score in pairs)
    return min(met, len(documents)) / len(documents)
