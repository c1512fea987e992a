"""What is said of a run whose ranks and scores do not agree."""

from __future__ import annotations

from ..data.direction import Direction


def rank_note(direction: Direction, *, lower_is_better: bool = False) -> str | None:
    """The finding, counted, in words, where there is one."""
    if direction.looks_like_distances:
        has = "higher" if lower_is_better else "lower"
        each = "in 1 query, the only one" if direction.backwards == 1 else f"in {direction.backwards} queries, all"
        return f"{each} that can tell, the better rank has the {has} score: are the scores distances?"
    if direction.contradictions:
        count = direction.contradictions
        rows = "1 row has a rank that contradicts" if count == 1 else f"{count} rows have ranks that contradict"
        return f"{rows} the scores, and the scores decide"
    return None
