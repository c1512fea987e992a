"""The scale of grades that a page offers."""

from __future__ import annotations

import pytest

from rankproof._data.qrels import Qrels
from rankproof._server.judging_queue import check_same_scale, checked_grade, grade_meanings, grade_scale, offered_scale
from rankproof._server.responses import HttpError
from rankproof.errors import UsageError


@pytest.mark.parametrize(
    ("grades", "scale"),
    [
        ([], (0, 1, 2, 3)),
        ([1], (0, 1)),
        ([0], (0, 1)),
        ([0, 1, 2], (0, 1, 2)),
        ([2, 4], (0, 1, 2, 3, 4)),
        ([-2, 1], (-2, -1, 0, 1)),
        ([0, 50, 100], (0, 50, 100)),
        (list(range(0, 101)), ()),
    ],
)
def test_the_scale_is_that_of_the_judgements(grades: list[int], scale: tuple[int, ...]) -> None:
    assert grade_scale({"q": {f"d{at}": grade for at, grade in enumerate(grades)}} if grades else {}) == scale


def test_only_the_usual_scale_has_the_meanings_of_the_rubric() -> None:
    assert set(grade_meanings((0, 1, 2, 3))) == {0, 1, 2, 3}
    assert grade_meanings((0, 1)) == {}


def test_a_grade_of_another_scale_is_rejected() -> None:
    assert checked_grade(1, (0, 1)) == 1
    with pytest.raises(HttpError, match="one of 0, 1"):
        checked_grade(3, (0, 1))


def test_a_scale_with_too_many_grades_is_rejected() -> None:
    qrels = Qrels.from_dict({"q": {f"d{at}": 7 * at for at in range(13)}})
    with pytest.raises(UsageError, match="more than 11 different grades, too many for buttons; map them to fewer grades"):
        offered_scale(qrels, "mine")


def test_grades_of_another_scale_in_the_file_are_rejected() -> None:
    check_same_scale([0, 1], (0, 1), "my.qrels", "--judge")
    with pytest.raises(UsageError, match=r"my\.qrels has the grade 3, and the judgements of the results are from 0 to 1"):
        check_same_scale([0, 3], (0, 1), "my.qrels", "--judge")
