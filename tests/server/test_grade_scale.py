"""The scale of grades that a page offers."""

from __future__ import annotations

import pytest

from rankproof._server.grade_scale import checked_grade, grade_meanings, grade_scale
from rankproof._server.responses import HttpError


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
