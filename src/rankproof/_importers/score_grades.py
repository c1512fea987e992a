"""Grades from scores between 0 and 1, by thresholds."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import pairwise

from rankproof._importers.base import ImportOptions
from rankproof.errors import UsageError, for_message

Thresholds = tuple[float, ...]
SETTING = "thresholds"
THIRDS: Thresholds = (0.0, 1 / 3, 2 / 3)
"""Scores above 0, above a third and above two thirds: grades 1, 2 and 3."""
SETTING_HELP = "scores above which grades 1, 2, 3 … begin, separated by commas"
_MOST = 20
_NUMBER = re.compile(r"\s*-?[0-9]{1,9}(?:\.[0-9]{1,9}|/[1-9][0-9]{0,8})?\s*")


def thresholds_of(options: ImportOptions, default: Thresholds) -> Thresholds:
    """The thresholds that the setting names: finite numbers in ascending order."""
    text = options.settings.get(SETTING)
    if text is None:
        return default
    parts = text.split(",")[: _MOST + 1]
    thresholds = tuple(float(Fraction(part.strip())) for part in parts) if all(map(_NUMBER.fullmatch, parts)) else ()
    rising = all(low < high for low, high in pairwise(thresholds))
    if not 1 <= len(thresholds) <= _MOST or not rising:
        fix = f"write numbers in ascending order, as in --set {SETTING}=0.25,0.75,1.25"
        raise UsageError(f"{SETTING} is {for_message(text)}", fix=fix)
    return thresholds


def grade_by(score: float, thresholds: Thresholds) -> int:
    """The number of thresholds that the score is above."""
    return sum(score > threshold for threshold in thresholds)


def are_grades(scores: Iterable[float]) -> bool:
    """Whether all scores are whole numbers, which are grades as they are."""
    return all(float(score).is_integer() for score in scores)


def describe_thresholds(thresholds: Sequence[float], what: str = "score") -> str:
    """The rule in words: `grade 1 above a score of 0, 2 above 0.333, 3 above 0.667`."""
    steps = [f"{grade} above {value:.3g}" for grade, value in enumerate(thresholds, start=1)]
    return f"grades by {what}: {', '.join(steps)}"
