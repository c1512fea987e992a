"""What each parameter of a measure may be, how it is refused, and how it is written."""

from __future__ import annotations

import math
import numbers
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..data.checks import choice
from ..errors import UsageError, shown
from .gain import NAMED, Gain

_MOST = (1 << 63) - 1
_MOST_GAIN = 1e15
_NAME = re.compile(r"[^'\"()\[\]{}@,=\s]+")


def _number(value: object, name: str) -> float | int:
    """The value as a plain finite number; -0.0 becomes 0.0, so that equal numbers are written alike."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise UsageError(f"{name} {shown(repr(value))} is not a number", fix=f"write {name} as a number")
    try:
        size = float(value)
    except OverflowError:
        size = math.inf
    if not math.isfinite(size):
        raise UsageError(f"{name} is not finite, or too large", fix=f"write {name} as a number")
    return int(value) if isinstance(value, numbers.Integral) else size + 0.0


def _whole(value: object, name: str, *, too_large: str) -> int:
    """The value as a whole number from 1 to what 64 bits hold."""
    plain = _number(value, name)
    if plain != int(plain):
        raise UsageError(f"{name} {plain} is not a whole number", fix="write one, from 1 on")
    if plain < 1:
        raise UsageError(f"{name} must be >= 1", fix=f"it is {shown(str(plain))}")
    if plain > _MOST:
        raise UsageError(f"{name} {shown(str(plain))} is above 2^63 - 1", fix=too_large)
    return int(plain)


def _fraction(value: object, name: str) -> float:
    """The value as a number from 0 to 1."""
    plain = float(_number(value, name))
    if not 0 <= plain <= 1:
        raise UsageError(f"{name} {plain} is not from 0 to 1", fix="write it like 0.5")
    return plain


def _cutoff(value: object) -> int | None:
    return None if value is None else _whole(value, "cutoff", too_large="leave it out to count every document")


def _rel(value: object) -> int | None:
    return None if value is None else _whole(value, "rel", too_large="grades are at most 1000")


def _recall(value: object) -> float | None:
    return None if value is None else _fraction(value, "recall")


def _recalls(value: object) -> tuple[float, ...]:
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise UsageError(f"recalls {shown(repr(value))} is not a list", fix="write it like (0.25,0.5,0.75)")
    points = tuple(sorted({_fraction(one, "recall") for one in value}))
    if not points:
        raise UsageError("recalls is empty", fix="write it like (0.25,0.5,0.75)")
    return points


def _persistence(value: object) -> float:
    plain = _fraction(value, "p")
    if not 0 < plain < 1:
        raise UsageError(f"p {plain} is not between 0 and 1", fix="write it like 0.8")
    return plain


def _beta(value: object) -> float:
    plain = float(_number(value, "beta"))
    if plain < 0:
        raise UsageError(f"beta {plain} is below 0", fix="write it like 2")
    return plain


def _gain(value: object) -> Gain:
    """A known name, or the gain of each grade; a tuple of pairs is what a measure keeps."""
    pairs = list(value.items()) if isinstance(value, Mapping) else value
    if isinstance(pairs, tuple | list) and pairs and all(isinstance(pair, tuple) and len(pair) == 2 for pair in pairs):
        return tuple(sorted({_grade(grade): _worth(gain) for grade, gain in pairs}.items()))
    for name in NAMED:
        if value == name:
            return name
    choices = " or ".join(NAMED)
    raise UsageError(f"gain {shown(str(value))} is not known", fix=f"use {choices}, or the gain of each grade, like {{1:3,2:9}}")


def _worth(value: object) -> float:
    """A gain that keeps nDCG from 0 to 1 and can be summed over any collection."""
    plain = float(_number(value, "gain"))
    if not 0 <= plain <= _MOST_GAIN:
        raise UsageError(f"gain {plain:g} is not from 0 to {_MOST_GAIN:g}", fix="write it like 3")
    return plain


def _grade(value: object) -> int:
    plain = _number(value, "grade")
    if plain != int(plain) or not 0 <= plain <= 1000:
        raise UsageError(f"a gain for grade {shown(str(plain))}", fix="grades with a gain are whole numbers from 0 to 1000")
    return int(plain)


def _one_of(name: str, *known: str) -> Callable[[object], str]:
    return lambda value: choice(name, value, known)


def _model(value: object) -> str:
    """A name that the notation can write."""
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        raise UsageError(f"model {shown(repr(value))} is no name of an encoder", fix="write it like model='minilm'")
    return value


CHECKS: dict[str, Callable[[object], Any]] = {
    "cutoff": _cutoff,
    "rel": _rel,
    "recall": _recall,
    "recalls": _recalls,
    "p": _persistence,
    "beta": _beta,
    "gain": _gain,
    "tokens": _one_of("tokens", "bag", "set"),
    "stop_words": _one_of("stop_words", "none", "english"),
    "model": _model,
}


def written(value: object) -> str:
    """The value as the notation writes it."""
    if isinstance(value, str):
        return f"'{value}'"
    if isinstance(value, tuple) and value and isinstance(value[0], tuple):
        return "{" + ",".join(f"{grade}:{written(gain)}" for grade, gain in value) + "}"
    if isinstance(value, tuple):
        return "(" + ",".join(map(written, value)) + ")"
    return repr(value).removesuffix(".0")
