"""Cells of tables that hold lists, objects or ids, and grades from scores between 0 and 1."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from rankproof._data.text import clip_text
from rankproof._data.validation import checked_id
from rankproof._formats.rows import is_nan, json_type_name
from rankproof._importers.base import ImportOptions
from rankproof._io.file_errors import file_error
from rankproof.errors import InputError, UsageError, for_message

# An item of a list that Python or numpy printed: numpy puts a space where Python puts a comma.
_ITEM = re.compile(r"""\s*('(?>(?:[^'\\]++|\\.)*)'|"(?>(?:[^"\\]++|\\.)*)"|[+-]?[0-9]+)\s*,?""", re.DOTALL)
_CUT_OFF = re.compile(r"""\s*\[\s*['"]""")
_END = re.compile(r"\s*\]\Z")
_ARRAYS = re.compile(r"array\((\[[^\[\]]*\])(?:,\s*dtype=[\w<>|]+)?\)")
_MOST_COUNTED = 1e15
"""More tokens or money are no count."""
_ARRAY = re.compile(r"array\((\[.*\])(?:,\s*dtype=[\w<>|]+)?\)", re.DOTALL)


class TableCell:
    """One cell of a table, with its column and line for messages."""

    def __init__(self, value: Any, column: str, source: str, line: int | None) -> None:
        self.value = value.item() if isinstance(value, np.generic) else value
        self.column, self.source, self.line = column, source, line

    @property
    def is_missing(self) -> bool:
        """Whether the cell is null, NaN, or an empty text."""
        return (
            self.value is None
            or is_nan(self.value)
            or type(self.value).__name__ == "NAType"
            or (isinstance(self.value, str) and not self.value)
        )

    def text(self) -> str | None:
        """The text, None where the cell is missing; a number is its decimal text."""
        return None if self.is_missing else self._text(self.value, self.column)

    def texts(self) -> tuple[str, ...] | None:
        """The texts of a list, None where the cell is missing; a text that is not a list is a list of one."""
        return None if self.is_missing else tuple(self._text(item, f"{self.column}[{at}]") for at, item in self._items())

    def ids(self) -> tuple[str, ...] | None:
        """The document ids of a list, None where the cell is missing."""
        texts = self.texts()
        return (
            texts if texts is None else tuple(checked_id(text, "document", source=self.source, line=self.line) for text in texts)
        )

    def texts_or_text(self) -> tuple[str, ...] | None:
        """The texts of a list of texts, or the one text, also where that looks like a list; None where the cell is missing."""
        if isinstance(self.value, str) and not _is_list_of_texts(list_in_text(self.value)):
            return None if self.is_missing else (self._text(self.value, self.column),)
        return self.texts()

    def nested_texts(self) -> tuple[tuple[str, ...], ...] | None:
        """The texts of a list of lists, None where the cell is missing; a list of texts is a list of one list."""
        if self.is_missing:
            return None
        items = [item for _, item in self._items()]
        if not any(isinstance(item, list | tuple | np.ndarray) for item in items):
            items = [items]
        groups = (TableCell(item, f"{self.column}[{at}]", self.source, self.line) for at, item in enumerate(items))
        return tuple(group.texts() or () for group in groups)

    def error(self, what: str, fix: str) -> InputError:
        """An error about the cell."""
        return InputError(f"{for_message(self.column)} {what}", fix=fix, source=self.source, line=self.line)

    def _items(self) -> Iterator[tuple[int, Any]]:
        value = list_in_text(self.value) if isinstance(self.value, str) else self.value
        if isinstance(value, str):
            if value.lstrip().startswith("[") and value.rstrip().endswith("]"):
                raise self.error(
                    f"is text that looks like a list and cannot be read: {for_message(value)}", "write it as a JSON list"
                )
            if _CUT_OFF.match(value):
                raise self.error(f"is a list that is cut off: {for_message(clip_text(value))}", "export the file again, as JSONL")
            value = [value]
        if not isinstance(value, list | tuple | np.ndarray) or getattr(value, "ndim", 1) == 0:
            raise self.error(f"is {_kind(value)}, not a list", 'write a list of texts, such as ["first", "second"]')
        return enumerate(value)

    def _text(self, value: Any, place: str) -> str:
        plain = value.item() if isinstance(value, np.generic) else value
        if isinstance(plain, int) and not isinstance(plain, bool):
            return str(plain)
        if not isinstance(plain, str):
            what = "null" if plain is None or is_nan(plain) else _kind(plain)
            raise TableCell(None, place, self.source, self.line).error(f"is {what}, not text", "write it as text, or remove it")
        try:
            plain.encode()
        except UnicodeEncodeError:
            raise file_error("text-surrogate", source=self.source, line=self.line, role="text", token=place) from None
        return plain


def list_in_text(text: str) -> list[Any] | str:
    """The list in a text that is a list in JSON, or as Python or numpy print it; any other text as it is."""
    plain = text.strip()
    if match := _ARRAY.fullmatch(plain):
        plain = match[1]
    if not (plain.startswith("[") and plain.endswith("]")):
        return text
    try:
        value = json.loads(plain)
    except (ValueError, RecursionError):
        value = _printed_list(plain)
    return text if value is None else value


def items_in(value: Any) -> Sequence[Any]:
    """The items of a list, also of one in JSON text; none of any other value."""
    plain = list_in_text(value) if isinstance(value, str) else value
    return list(plain) if isinstance(plain, list | tuple | np.ndarray) else []


def is_count(value: Any) -> bool:
    """Whether the value can be a number of tokens or an amount of money."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < _MOST_COUNTED


def object_in(value: Any) -> Mapping[str, Any] | None:
    """The value if it is an object, or the object in a text in JSON or as Python prints it; None for any other value."""
    if not isinstance(value, str):
        return value if isinstance(value, dict) else None
    plain = value.strip()
    if not (plain.startswith("{") and plain.endswith("}")):
        return None
    try:
        members = json.loads(plain)
    except (ValueError, RecursionError):
        members = _printed_value(plain)
    return members if isinstance(members, dict) and all(isinstance(key, str) for key in members) else None


def _printed_value(text: str) -> Any:
    """The value in a text that Python printed; None for any other text, and for one that is nested too deeply."""
    try:
        return ast.literal_eval(_ARRAYS.sub(r"\1", text))
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return None


def _printed_list(text: str) -> list[Any] | None:
    """The items of a list of strings and integers that Python or numpy printed; None for any other text."""
    items: list[Any] = []
    at = 1
    while not _END.match(text, at):
        item = _ITEM.match(text, at)
        if item is None:
            return None
        try:
            items.append(ast.literal_eval(item[1]))
        except (ValueError, SyntaxError):
            return None
        at = item.end()
    return items


def _is_list_of_texts(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, str) for item in value)


def _kind(value: Any) -> str:
    return "a list" if isinstance(value, list | tuple | np.ndarray) else json_type_name(value)


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
