"""Whether the ranks of a run and its scores agree."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from .order import strength
from .reading import Reading
from .run import RunRow

MANY_QUERIES = 5


@dataclass(frozen=True, slots=True)
class Direction:
    """Rows that score higher than a row of better rank; queries whose better ranks have the lower scores, and the others."""

    contradictions: int = 0
    backwards: int = 0
    forwards: int = 0

    @property
    def looks_like_distances(self) -> bool:
        """Whether in every query that can tell the better rank has the lower score.

        Without ranks the order of rows is weak evidence: it takes several queries that all run the wrong way.
        """
        return self.backwards > 0 and self.forwards == 0 and (self.contradictions > 0 or self.backwards >= MANY_QUERIES)


def direction(rows: Iterable[RunRow], reading: Reading) -> Direction:
    """The directions of all queries together; the rows of a query lie together."""
    found = [query_direction(list(group), reading) for _, group in groupby(rows, key=lambda row: row.query)]
    return Direction(
        contradictions=sum(one.contradictions for one in found),
        backwards=sum(one.backwards for one in found),
        forwards=sum(one.forwards for one in found),
    )


def query_direction(rows: Sequence[RunRow], reading: Reading) -> Direction:
    """The direction of one query; a ranking by rank has none."""
    if reading.order == "rank":
        return Direction()
    backwards, forwards = _ways(rows, reading)
    return Direction(_contradictions(rows, reading), backwards, forwards)


def _contradictions(rows: Sequence[RunRow], reading: Reading) -> int:
    if any(row.rank is None for row in rows):
        return 0
    count, lowest_above, lowest, rank_before = 0, float("inf"), float("inf"), None
    for row in sorted(rows, key=lambda row: row.rank or 0):
        if row.rank != rank_before:
            lowest_above, rank_before = lowest, row.rank
        score = strength(row, reading)
        count += score > lowest_above
        lowest = min(lowest, score)
    return count


def _ways(rows: Sequence[RunRow], reading: Reading) -> tuple[int, int]:
    """(1, 0) when better ranks have the lower scores, (0, 1) when not, (0, 0) when the query cannot tell."""
    ranks = [row.rank for row in rows if row.rank is not None]
    if len(rows) < 3 or (ranks and len(set(ranks)) < len(rows)):
        return 0, 0
    by_rank = sorted(rows, key=lambda row: row.rank or 0) if ranks else rows
    strengths = [strength(row, reading) for row in by_rank]
    if min(strengths) == max(strengths):
        return 0, 0
    rising = all(left <= right for left, right in pairwise(strengths))
    return (1, 0) if rising else (0, 1)
