"""The grades that a page offers: the scale of the judgements of the results, so that scales are never mixed."""

from __future__ import annotations

from collections.abc import Mapping

from rankproof._data.qrels import GRADES, HIGHEST_GRADE, LOWEST_GRADE
from rankproof._server.responses import HttpError

MOST_GRADES = 11
"""The most grades that have a button each, those of a scale from 0 to 10."""


def grade_scale(qrels: Mapping[str, Mapping[str, int]]) -> tuple[int, ...]:
    """The grades from 0 to the highest one in the judgements, or those that occur; without judgements the rubric's.

    Empty if the judgements have more grades than buttons.
    """
    used = sorted({grade for docs in qrels.values() for grade in docs.values()})
    if not used:
        return tuple(GRADES)
    lowest, highest = min(used[0], LOWEST_GRADE), used[-1]
    if highest - lowest < MOST_GRADES:
        return tuple(range(lowest, max(highest, LOWEST_GRADE + 1) + 1))
    return tuple(used) if len(used) <= MOST_GRADES else ()


def grade_meanings(scale: tuple[int, ...]) -> dict[int, str]:
    """What each grade means: the rubric for a scale from 0 to 3, nothing for any other, whose meaning only its makers know."""
    return dict(GRADES) if scale == tuple(range(LOWEST_GRADE, HIGHEST_GRADE + 1)) else {}


def checked_grade(grade: int, scale: tuple[int, ...]) -> int:
    """The grade, or the error of a request with another one."""
    if grade not in scale:
        raise HttpError(400, f"the grade must be one of {', '.join(map(str, scale))}" if scale else "there is no scale of grades")
    return grade
