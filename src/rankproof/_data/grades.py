"""Grades as integers: from texts, from values, by a map; and the error that lists the grades that need a map."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from rankproof._data.row_errors import MAX_GRADE, OnConflict, row_error
from rankproof.errors import InputError, UsageError, for_message, type_phrase

GradeMap = Mapping[str, int]

_WHOLE_NUMBER = re.compile(r"([+-]?[0-9]+)(\.0*)?")
_SHORT_DECIMAL = re.compile(r"[+-]?[0-9]{1,4}(\.[0-9]{1,6})?")
_BOOLEANS = {"true": 1, "True": 1, "TRUE": 1, "false": 0, "False": 0, "FALSE": 0}
_LONGEST_INTEGER = 4000


class GradeReader:
    """Reads the grades of one table.

    `converted` counts the grades written as whole floats or booleans. A grade that needs a map is read as 0 and collected, so
    that one error lists all of them. `line_now` gives the line of the current row where rows are read without lines.
    """

    def __init__(
        self, source: str, grade_map: GradeMap | None = None, *, line_now: Callable[[], int | None] = lambda: None
    ) -> None:
        self.source, self._map, self._line_now = source, checked_grade_map(grade_map), line_now
        self.converted = 0
        self._counts: Counter[str] = Counter()
        self._known: dict[str, tuple[int, bool]] = {}
        self._labels: list[str] = []
        self._first_line: int | None = None

    def of_text(self, token: str, *, line: int | None) -> int:
        """The grade of a text."""
        self._counts[token] += 1
        known = self._known.get(token)
        if known is None:
            known = self._known[token] = self._parsed(token, line)
        self.converted += known[1]
        return known[0]

    def of_value(self, value: object, *, query: str, doc: str, line: int | None) -> int:
        """The grade of a value of JSON, Parquet, a frame or a dict; a map with the label 1 also maps 1.0."""
        plain = value.item() if isinstance(value, np.generic) else value
        if plain is None or (isinstance(plain, float) and math.isnan(plain)):
            raise row_error("grade-null", source=self.source, line=line, query=query, doc=doc)
        if isinstance(plain, bool):
            return self.of_text(str(plain).lower(), line=line)
        if isinstance(plain, int | float):
            return self.of_text(str(plain if isinstance(plain, float) else int(plain)), line=line)
        if isinstance(plain, str) and (self._map is not None or not _WHOLE_NUMBER.fullmatch(plain)):
            return self.of_text(plain, line=line)
        raise row_error("grade-type", source=self.source, line=line, query=query, doc=doc, kind=type(value).__name__)

    def error(self) -> InputError | None:
        """The error that lists every grade that needs a map, with its count; None if there is none."""
        if not self._labels:
            return None
        first, has_map = self._labels[0], self._map is not None
        expected = "in the grade map" if has_map else "an integer"
        what = f'grade "{for_message(first)}" is not {expected}; grades found: {self._found()}'
        return InputError(what, fix=self._fix(), source=self.source, line=self._first_line)

    def _parsed(self, token: str, line: int | None) -> tuple[int, bool]:
        """The grade, and whether it was written as a whole float or a boolean."""
        whole = _WHOLE_NUMBER.fullmatch(token)
        plain = whole[1] if whole else token
        mapped = None if self._map is None else self._map.get(token, self._map.get(plain))
        if mapped is not None:
            return mapped, False
        if not token.strip():
            raise row_error("grade-empty", source=self.source, line=line)
        if whole:
            return self._integer(plain, line), whole[2] is not None
        if token in _BOOLEANS:
            return _BOOLEANS[token], True
        if not self._labels:
            self._first_line = self._line_now() if line is None else line
        self._labels.append(token)
        return 0, False

    def _integer(self, token: str, line: int | None) -> int:
        # Python rejects integers of more than 4,300 digits, and reading long ones takes quadratic time.
        grade = 1 << 64 if len(token) > _LONGEST_INTEGER else int(token)
        code = "grade-high" if grade > MAX_GRADE else None
        code = code if -(1 << 63) <= grade < 1 << 63 else "grade-bits"
        if code is not None:
            raise row_error(code, source=self.source, line=line, token=token)
        return grade

    def _found(self) -> str:
        """The grades that need a map, then the others, each with its count."""
        known = set(self._labels)
        tokens = [*self._labels, *(token for token in self._counts if token not in known)]
        shown = [f"{for_message(token)} ({self._counts[token]})" for token in tokens[:MOST_LABELS]]
        rest = len(tokens) - MOST_LABELS
        return ", ".join(shown) + (f" and {rest} more" if rest > 0 else "")

    def _fix(self) -> str:
        if len(self._counts) > MOST_LABELS:
            return "check the column: grades are a few small integers"
        known = {} if self._map is None else {**self._map}
        missing = [*self._labels] if known else [*self._counts]
        fix = _map_advice(known, missing)
        lone = self._first_line == 1 and len(self._labels) == 1 and self._counts[self._labels[0]] == 1
        return f"if the line is a header, remove it; if not, {fix}" if lone and self._labels[0][:1].isalpha() else fix


MOST_LABELS = 20
"""How many grades a message lists."""

_SCALES: tuple[Mapping[str, int], ...] = (
    {"e": 3, "s": 2, "c": 1, "i": 0},
    {"exact": 3, "substitute": 2, "complement": 1, "irrelevant": 0},
    {"exact": 2, "partial": 1, "irrelevant": 0},
    {"perfect": 4, "excellent": 3, "good": 2, "fair": 1, "bad": 0},
    {"highlyrelevant": 3, "relevant": 2, "partiallyrelevant": 1, "notrelevant": 0},
    {"relevant": 2, "partiallyrelevant": 1, "irrelevant": 0},
    {"relevant": 2, "partial": 1, "irrelevant": 0},
    {"relevant": 2, "partial": 1, "notrelevant": 0},
    {"relevant": 1, "nonrelevant": 0},
    {"high": 3, "medium": 2, "low": 1, "none": 0},
    {"yes": 1, "no": 0},
)
"""Scales whose order is known, for the suggested map; letters only, in lower case."""


def suggested_map(tokens: list[str]) -> dict[str, int] | None:
    """A grade for every token, no two the same; None if their order is not known."""
    return _scaled_decimals(tokens) or next(filter(None, (_on_scale(tokens, scale) for scale in _SCALES)), None)


def _on_scale(tokens: list[str], scale: Mapping[str, int]) -> dict[str, int] | None:
    if any(map(str.isdigit, "".join(tokens))):
        return None
    grades = {token: scale.get("".join(filter(str.isalpha, token)).lower(), -1) for token in tokens}
    return grades if -1 not in grades.values() and len({*grades.values()}) == len(grades) else None


def _scaled_decimals(tokens: list[str]) -> dict[str, int] | None:
    """Decimals times the smallest number that makes all of them integers."""
    if not all(_SHORT_DECIMAL.fullmatch(token) for token in tokens):
        return None
    from fractions import Fraction

    values = {token: Fraction(token) for token in tokens}
    factor = math.lcm(*(value.denominator for value in values.values()))
    grades = {token: int(value * factor) for token, value in values.items()}
    return grades if max(grades.values()) <= MAX_GRADE and len({*grades.values()}) == len(grades) else None


def _map_advice(known: GradeMap, missing: list[str]) -> str:
    """How to write the map: with grades if the order of the labels is known, else with a place for each."""
    import shlex

    if any("," in label or label != label.strip() or not label.isprintable() for label in (*known, *missing)):
        return "rename the labels: one in a grade map has no comma, and no white space around it"
    grades = None if known else suggested_map(missing)
    if grades is not None:
        text = ",".join(f"{label}={grade}" for label, grade in sorted(grades.items(), key=lambda item: -item[1]))
        return f"map them, as in --grade-map {shlex.quote(text)}"
    text = ",".join([*(f"{label}={grade}" for label, grade in known.items()), *(f"{label}=?" for label in missing)])
    return f"map them, with an integer for each ?: --grade-map {shlex.quote(text)}"


def describe_converted(count: int) -> str:
    """A sentence on grades that were written as whole floats or booleans."""
    number = "1 grade is" if count == 1 else f"{count} grades are"
    return f"{number} written as a float or a boolean, such as 2.0 or true, and read as an integer"


def describe_merged(count: int) -> str:
    """A sentence on documents whose grades differ between subtopics."""
    have = "1 document has" if count == 1 else f"{count} documents have"
    return f"{have} different grades for different subtopics; measures without subtopics take the largest (--on-conflict)"


def describe_conflicts(count: int, on_conflict: OnConflict) -> str:
    """A sentence on pairs with two grades."""
    kept = {"error": "none", "max": "highest", "min": "lowest"}.get(on_conflict, on_conflict)
    return f"{'1 pair has' if count == 1 else f'{count} pairs have'} two grades; the {kept} is kept (--on-conflict)"


_EXAMPLE = "write it like E=3,S=2,C=1,I=0"
_MAPPING_FIX = 'pass a mapping of text to integers, like {"E": 3, "S": 2, "C": 1, "I": 0}'
_MAP_GRADE = re.compile(r"[+-]?[0-9]{1,18}")


def parse_grade_map(text: str) -> dict[str, int]:
    """The map of a text like `E=3,S=2`; labels are case-sensitive."""
    grades: dict[str, int] = {}
    for part in text.split(","):
        label, equals, grade = part.strip().rpartition("=")
        if not equals or not label or not _MAP_GRADE.fullmatch(grade):
            raise UsageError(
                f'the part "{for_message(part)}" of grade map "{for_message(text)}" is not label=integer', fix=_EXAMPLE
            )
        if label in grades:
            raise UsageError(f'grade map names "{for_message(label)}" twice', fix="give each label one grade")
        if int(grade) > MAX_GRADE:
            raise UsageError(f"grade map has {grade}, above the limit of {MAX_GRADE}", fix=_EXAMPLE)
        grades[label] = int(grade)
    return grades


def checked_grade_map(grades: Any) -> GradeMap | None:
    """The map; anything but text to grades is an error."""
    if grades is None:
        return None
    if not isinstance(grades, Mapping):
        raise UsageError(f"the grade map is {type_phrase(grades)}", fix=_MAPPING_FIX)
    for label, grade in grades.items():
        if not isinstance(label, str):
            raise UsageError(f"the grade map has the label {for_message(repr(label))}, which is not text", fix=_MAPPING_FIX)
        if not isinstance(grade, int) or isinstance(grade, bool) or not -(1 << 63) <= grade <= MAX_GRADE:
            what = f'the grade map gives "{for_message(label)}" {for_message(repr(grade))}'
            raise UsageError(f"{what}, which is not an integer up to {MAX_GRADE}", fix=_MAPPING_FIX)
    return grades


_UNKNOWN = "unknown:"


def judge_name(label: str) -> str:
    """The label of a machine judge, or the name of a judge of unknown kind."""
    return label.removeprefix(_UNKNOWN)


def _judge_text(label: str) -> str:
    """The label of a machine judge, or a name of which nobody knows whether it is one."""
    return f"{for_message(judge_name(label))}{', a person or a machine' if label.startswith(_UNKNOWN) else ''}"


def describe_judges(judge_labels: Mapping[str, int], judgements: int) -> str:
    """A sentence on who made the judgements; `judge_labels` counts those of machines."""
    made = sum(judge_labels.values())
    by = ", ".join(
        f"{_judge_text(label)} ({count})" if len(judge_labels) > 1 else _judge_text(label)
        for label, count in judge_labels.items()
    )
    rest = judgements - made
    are_unknown = any(label.startswith(_UNKNOWN) for label in judge_labels)
    others = (
        f"none {'known to be ' if are_unknown else ''}by people"
        if not rest
        else f"{rest} by people: human and machine judgements are mixed"
    )
    mixed = "; several judges are mixed" if len(judge_labels) > 1 else ""
    return f"{made} of {judgements} judgements were made by {by}, {others}{mixed}"
