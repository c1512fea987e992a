"""The grades of unjudged documents that make nDCG highest.

With gains written as steps L1 < L2 < …, the DCG and the ideal DCG are both sums over steps: of how many documents reach the step.
For fixed t the best count of unjudged documents at each step, for DCG - t x ideal DCG, is found on its own; raising t until
nothing is gained (Dinkelbach 1967) gives the highest ratio. More judged documents reach a lower step, so the counts fall from
step to step as they must.
"""

from __future__ import annotations

import numpy as np

from ...align.hits import Hits
from ...data.arrays import FloatArray, IntArray
from ...measures import Measure
from ...measures.gain import Gain, discounts, gains
from ..arrangements import judged_hits_of


def best_gain(measure: Measure, hits: Hits, query: int, ranks: IntArray, highest: int) -> IntArray:
    """A grade for each unjudged rank within the cutoff, -1 for none."""
    gain: Gain = getattr(measure, "gain", "linear")
    depth = int(getattr(measure, "depth", 1))
    judged = hits.judged
    every = gains(judged.grades[judged.offsets[query] : judged.offsets[query + 1]], gain)
    grades = np.arange(max(highest, judged.highest, 1) + 1)
    steps: FloatArray = np.unique(np.append(gains(grades, gain), 0.0))
    own_ranks, own_grades = judged_hits_of(hits, query)
    top = own_ranks <= depth
    met = float((gains(own_grades[top], gain) * discounts(own_ranks[top])).sum())
    reached = _Steps(met, steps, every, ranks, depth).best()
    return _grade_of(steps, gains(grades, gain))[reached]


class _Steps:
    """The gain of one query as steps; `counts[s]` is how many unjudged documents reach step s + 1."""

    def __init__(self, met: float, steps: FloatArray, every: FloatArray, ranks: IntArray, depth: int) -> None:
        self.met, self.heights, self.size = met, np.diff(steps), len(ranks)
        self.gained = np.concatenate(([0.0], np.cumsum(discounts(ranks))))
        places = np.arange(1, min(depth, len(every) + len(ranks)) + 1)
        whole = np.concatenate(([0.0], np.cumsum(discounts(places))))
        reaching = np.array([int((every >= step).sum()) for step in steps[1:]], dtype=np.int64)
        self.ideal = np.array([[whole[min(count + more, len(whole) - 1)] for more in range(self.size + 1)] for count in reaching])

    def best(self) -> IntArray:
        """The step that each unjudged document reaches, by rank, when the ratio is highest."""
        counts = np.zeros(len(self.heights), dtype=np.int64)
        ratio = -1.0
        while (now := self._ratio(counts)) > ratio:
            ratio, kept = now, counts
            counts = np.argmax(self.gained - ratio * self.ideal, axis=1)
        return np.array([int((kept > place).sum()) for place in range(self.size)], dtype=np.int64)

    def _ratio(self, counts: IntArray) -> float:
        whole = float(self.heights @ self.ideal[np.arange(len(counts)), counts])
        gained = self.met + float(self.heights @ self.gained[counts])
        return gained / whole if whole else 0.0


def _grade_of(steps: FloatArray, worth: FloatArray) -> IntArray:
    """For each step the least grade that is worth it, and -1, no grade, for nothing."""
    return np.array([int(np.argmax(worth == step)) if step else -1 for step in steps], dtype=np.int64)
