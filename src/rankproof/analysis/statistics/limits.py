"""What a test cannot show, whatever the systems are: no p is below the least that its flips or deals can give."""

from __future__ import annotations

import math

from .flips import EXACT


def least_p(n: int, samples: int) -> float:
    """The least p of the sign-flip test on n queries."""
    every = 2.0 ** (1 - n)
    return every if n <= EXACT else max(1 / (1 + samples), every)


def least_label_p(n: int, size: int, samples: int) -> float:
    """The least p of the permutation of labels, for a segment of that size among n queries."""
    return max(1 / (1 + samples), 1 / math.comb(n, size))


def fewest_queries(level: float) -> int:
    """How many queries the sign-flip test takes to give a p of the level."""
    return math.ceil(1 - math.log2(level))


def shortage(least: float, level: float, n: int | None = None) -> str | None:
    """Why no p reaches the level that one of many tests may need, and what would help; None where one can."""
    if least <= level:
        return None
    fix = f"samples: at least {math.ceil(1 / level) - 1:,}"
    if n is not None and n < fewest_queries(level):
        fix = f"queries: at least {fewest_queries(level)}"
    return f"the least p that this test can give is {least:.2g}, and one test may need {level:.2g}; take more {fix}"
