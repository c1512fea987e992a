"""Measures of one's own: a function of grades or a class, given as an object or by name as `module:name`."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from inspect import isroutine
from numbers import Real
from typing import ClassVar, TypeGuard, overload

import numpy as np

from rankproof._align.hits import Hits
from rankproof._data.arrays import FloatArray
from rankproof.errors import UsageError, for_message
from rankproof.measures._base import CutoffMeasure, Measure

GradesFunction = Callable[[list[int], list[int]], float]
"""A value of one query from the grades of its ranking, best rank first, and all its judged grades, highest first."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_OWN: dict[str, Measure] = {}


@dataclass(frozen=True, kw_only=True, repr=False)
class FunctionMeasure(CutoffMeasure):
    """A measure that a function computes for each query; `from_function` makes a class of it for each function."""

    source = "your own function"
    kind = "graded"
    function: ClassVar[GradesFunction]

    def values(self, hits: Hits) -> FloatArray:
        return np.array([self._value(*case) for case in _cases(hits, self.depth)], np.float64)

    def _value(self, query: str, grades: list[int], ideal: list[int]) -> float:
        if not ideal or ideal[0] < 1:
            return 0.0
        try:
            value = type(self).function(grades, ideal)
        except Exception as error:
            what = f"{self} failed for query {for_message(query)}: {type(error).__name__}: {for_message(str(error))}"
            raise UsageError(what, fix=f"make it work for grades = {_clip(grades)}, ideal = {_clip(ideal)}") from error
        low, high = self.range
        if not isinstance(value, Real) or not low <= value <= high:
            what = f"{self} returned {for_message(repr(value))} for query {for_message(query)}"
            raise UsageError(what, fix=f"return a number from {low:g} to {high:g}, or declare another range with from_function")
        return float(value)


def _cases(hits: Hits, depth: int) -> Iterator[tuple[str, list[int], list[int]]]:
    """Each query with the grades of its first `depth` documents, 0 where a document is not judged, and its judged grades."""
    lengths = np.minimum(hits.retrieved, depth)
    offsets, judged = hits.offsets, hits.judged
    for at, query in enumerate(hits.queries):
        mine = slice(int(offsets[at]), int(offsets[at + 1]))
        grades = np.zeros(int(lengths[at]), np.int64)
        within = hits.ranks[mine] <= len(grades)
        grades[hits.ranks[mine][within] - 1] = hits.grades[mine][within]
        yield query, grades.tolist(), judged.grades[judged.offsets[at] : judged.offsets[at + 1]].tolist()


def _clip(grades: list[int]) -> str:
    return str(grades) if len(grades) <= 10 else f"{str(grades[:10])[:-1]}, ...]"


@overload
def from_function(
    function: GradesFunction,
    *,
    name: str | None = None,
    range: tuple[float, float] = (0.0, 1.0),
    higher_is_better: bool = True,
    definition: str = "",
) -> Measure: ...
@overload
def from_function(
    function: None = None,
    *,
    name: str | None = None,
    range: tuple[float, float] = (0.0, 1.0),
    higher_is_better: bool = True,
    definition: str = "",
) -> Callable[[GradesFunction], Measure]: ...


def from_function(
    function: GradesFunction | None = None,
    *,
    name: str | None = None,
    range: tuple[float, float] = (0.0, 1.0),
    higher_is_better: bool = True,
    definition: str = "",
) -> Measure | Callable[[GradesFunction], Measure]:
    """A measure from a function of two lists: the grades of the ranking, best rank first, and all judged grades, highest first.

    An unjudged document has grade 0. `@ 10` shortens the ranking to 10 documents. A query without a relevant document gets 0.
    Without a function it is a decorator. The name is the function's; results show it and `parse_measure` knows it.
    """
    if function is None:
        return lambda decorated: from_function(
            decorated, name=name, range=range, higher_is_better=higher_is_better, definition=definition
        )
    if not callable(function):
        raise UsageError(f"{for_message(repr(function))} is not a function", fix="pass a function that takes two lists of grades")
    called = getattr(function, "__name__", "") if name is None else name
    if not isinstance(called, str) or not _NAME.fullmatch(called):
        raise UsageError("the function has no valid name", fix='pass a name of letters, digits, _ and -, like name="first_hit"')
    low, high = range
    if not low < high or math.isnan(low) or math.isnan(high):
        raise UsageError(f"range {range} is not an interval", fix="pass the lowest and the highest value, like (0, 1)")
    documented = (function.__doc__ or "").strip().partition("\n\n")[0].replace("\n", " ")
    members = {
        "__module__": function.__module__,
        "__doc__": function.__doc__,
        "name": called,
        "title": called,
        "definition": definition or documented or "computed by a function",
        "range": (float(low), float(high)),
        "higher_is_better": higher_is_better,
        "function": staticmethod(function),
    }
    made: type[FunctionMeasure] = dataclass(frozen=True, kw_only=True, repr=False)(type(called, (FunctionMeasure,), members))
    return remember(made())


def is_own(value: object) -> TypeGuard[GradesFunction | type[Measure]]:
    """Whether the object is a function or a class that `own_measure` can turn into a measure."""
    return isroutine(value) or (isinstance(value, type) and issubclass(value, Measure))


def own_measure(value: Measure | type[Measure] | GradesFunction) -> Measure:
    """The measure of a function, a class or a measure object, which `parse_measure` then knows by its name."""
    if isinstance(value, Measure):
        return remember(value)
    if isinstance(value, type):
        return remember(value())
    known = next((measure for measure in _OWN.values() if getattr(type(measure), "function", None) is value), None)
    return known or from_function(value)


def remember(measure: Measure) -> Measure:
    """The measure, which `parse_measure` knows from here on; a name of a measure of this package is rejected."""
    from rankproof.measures._parse import forget_parsed, is_own_name

    if is_own_name(measure.name):
        raise UsageError(f"{measure.name} is the name of a measure of rankproof", fix="give yours another name")
    bare = type(measure)()
    if _OWN.get(measure.name.lower()) != bare:
        _OWN[measure.name.lower()] = bare
        forget_parsed()
    return measure


def remembered_measure(name: str) -> Measure | None:
    """The measure of one's own of that name in lower case, None if there is none."""
    return _OWN.get(name)


def import_measure(text: str) -> Measure:
    """The measure that `module:name` names; the module may be a file in the current folder."""
    from rankproof._io.named_code import import_object

    module = text.partition(":")[0]
    imported = import_object(text)
    if not isinstance(imported, Measure) and not is_own(imported):
        what = "has no such name" if imported is None else "is neither a function nor a measure"
        raise UsageError(
            f"{for_message(text)} {what}", fix=f"name a function in {for_message(module)} that takes two lists of grades"
        )
    return own_measure(imported)
