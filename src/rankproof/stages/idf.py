"""How telling a word is, as BM25 has it."""

from __future__ import annotations

import math


def idf(found: int, size: int) -> float:
    """ln(1 + (N - df + 0.5) / (df + 0.5)): the fewer of `size` documents have the word, the more it tells."""
    return math.log(1 + (size - found + 0.5) / (found + 0.5))
