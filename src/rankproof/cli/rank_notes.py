"""What is said of a run whose ranks and scores do not agree, or whose rankings were cut before a measure's cutoff."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..data.direction import Direction

if TYPE_CHECKING:
    from ..evaluation import Result

_A_CUT = 10
"""Rankings that end at fewer documents than this are small, not cut."""


def cut_short(result: Result) -> list[str]:
    """A sentence for each depth at which rankings were cut, though a measure looks further."""
    owners: dict[str, list[str]] = {}
    for system in result.systems:
        depth = system.depth or 0
        deeper = [name for name, one in system.measures.items() if _cutoff(one.measure) > depth]
        if depth >= _A_CUT and deeper:
            said = f"no ranking has more than {depth} documents, so {', '.join(deeper)} can see no more than these"
            owners.setdefault(said, []).append(system.name)
    everyone = len(result.systems)
    return [f"{'all systems' if len(names) == everyone else ', '.join(names)}: {said}" for said, names in owners.items()]


def _cutoff(measure: object) -> int:
    return getattr(measure, "cutoff", None) or 0


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
