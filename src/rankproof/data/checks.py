"""What a setting may be: numbers within bounds, names, choices; anything else is refused in one wording."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any

from ..errors import UsageError, shown


def whole(name: str, value: Any, least: int = 1, most: int | None = None) -> int:
    """A whole number of at least `least` and, where that is given, at most `most`."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least or (most is not None and value > most):
        bounds = f"of at least {least}" if most is None else f"from {least} to {most:,}"
        raise UsageError(f"{name} is {shown(str(value))}", fix=f"choose a whole number {bounds}")
    return value


def number(name: str, value: Any, low: float, high: float) -> float:
    """A number from low to high, both included."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or not low <= value <= high:
        raise UsageError(f"{name} is {shown(str(value))}", fix=f"choose a number from {low:g} to {high:g}")
    return float(value)


def flag(name: str, value: Any) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise UsageError(f"{name} is {shown(str(value))}", fix="choose true or false")
    return value


def text(name: str, value: Any) -> str:
    """Text, which may be empty."""
    if not isinstance(value, str):
        raise UsageError(f"{name} is a {type(value).__name__}", fix="give text")
    return value


def names(name: str, value: Any) -> tuple[str, ...]:
    """A list of texts, none of them empty; one text alone is no list."""
    if isinstance(value, str) or not isinstance(value, Sequence) or not all(isinstance(one, str) and one for one in value):
        raise UsageError(f"{name} is {shown(str(value))}", fix='give a list of names, such as ["title", "text"]')
    return tuple(value)


def choice(name: str, value: Any, known: Collection[str]) -> str:
    """One of the names that are known."""
    if value not in known:
        raise UsageError(f"{name} is {shown(str(value))}", fix=f"choose one of {', '.join(known)}")
    return str(value)
