"""A ranking of chunks made one of what they are chunks of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from ...data.ranking import Ranking, ranked

Rule = Literal["best"]
RULE = "a document has the score of its best chunk"


def collapsed(ranking: Ranking, whole: Callable[[str], str], *, pool: int | None, depth: int | None = None) -> Ranking:
    """Each document once, with the score of its best chunk among the first `pool`, the best `depth` of them.

    Documents of equal score are ordered as in every ranking, the larger id first.
    """
    chunks, scores = ranking
    best: dict[str, float] = {}
    for chunk, score in zip(chunks[:pool], scores[:pool].tolist(), strict=True):
        best.setdefault(whole(chunk), score)
    docs, values = ranked(list(best), np.array(list(best.values()), dtype=np.float64))
    return docs[:depth], values[:depth]
