"""The grades that a page offers: the scale of the judgements of the results, so that scales are never mixed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rankproof._data.qrels import GRADES, HIGHEST_GRADE, LOWEST_GRADE, Qrels
from rankproof._server.responses import HttpError
from rankproof.errors import UsageError, for_message

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


def rubric_of(scale: tuple[int, ...]) -> dict[int, str]:
    """Each grade with what it means, empty where only the makers of the scale know."""
    meanings = grade_meanings(scale)
    return {grade: meanings.get(grade, "") for grade in scale}


def checked_grade(grade: object, scale: tuple[int, ...]) -> int:
    """The grade, or the error of a request with another one."""
    if not isinstance(grade, int) or isinstance(grade, bool) or grade not in scale:
        raise HttpError(400, f"the grade must be one of {', '.join(map(str, scale))}" if scale else "there is no scale of grades")
    return grade


def offered_scale(qrels: Qrels, name: str) -> tuple[int, ...]:
    """The scale of the judgements, of a language model's the rubric; an error if it has too many grades for buttons."""
    scale = grade_scale(qrels)
    if scale and set(scale) <= set(GRADES) and _is_by_rubric(qrels):
        return tuple(GRADES)
    if not scale:
        what = f"the judgements of {for_message(name)} have more than {MOST_GRADES} different grades, too many for buttons"
        raise UsageError(what, fix="map them to fewer grades with --grade-map, and run the experiment again")
    return scale


def _is_by_rubric(qrels: Qrels) -> bool:
    """Whether each judgement is by a machine that graded by the rubric."""
    labels = qrels.judge_labels
    return bool(labels) and all((query, doc) in labels for query, docs in qrels.items() for doc in docs)


def check_same_scale(grades: Iterable[int], scale: tuple[int, ...], file: str, option: str) -> None:
    """Raises an error if a file has a grade of another scale than the results: grades of two scales are never merged."""
    other = sorted({grade for grade in grades if grade not in scale})
    if other:
        what = (
            f"{for_message(file)} has the grade {other[-1]}, and the judgements of the results are from {scale[0]} to {scale[-1]}"
        )
        raise UsageError(what, fix=f"restart with another file: {option} FILE")
