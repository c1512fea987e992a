"""What a setting may be: numbers within bounds, names, choices; anything else is refused in one wording."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Literal, get_args, get_origin

from .._registry import Setting, settings_of
from ..errors import UsageError, shown


def whole(name: str, value: Any, least: int | None = 1, most: int | None = None) -> int:
    """A whole number within the bounds that are given."""
    if isinstance(value, bool) or not isinstance(value, int) or not _within(value, least, most):
        raise UsageError(f"{name} is {shown(str(value))}", fix=f"choose a whole number{_bounds(least, most, ',')}")
    return value


def number(name: str, value: Any, low: float | None = None, high: float | None = None) -> float:
    """A finite number within the bounds that are given, both included."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or not _within(value, low, high):
        raise UsageError(f"{name} is {shown(str(value))}", fix=f"choose a number{_bounds(low, high, 'g')}")
    return float(value)


def fields(value: Any, name: str = "fields") -> tuple[str, ...]:
    """The document fields that a part reads, at least one and none twice."""
    chosen = names(name, value)
    if not chosen or len(set(chosen)) < len(chosen):
        raise UsageError(f"{name} is {shown(str(list(chosen)))}", fix='name at least one field and none twice: ["title", "text"]')
    return chosen


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


def check_options(value: Any, more: Mapping[Any, Callable[[str, Any], Any]] | None = None) -> None:
    """Checks every setting of a frozen dataclass by its type and Option, and stores numbers as float and lists as tuples.

    `more` has the checks of further types; a type without a check is left alone.
    """
    for setting in settings_of(type(value)):
        given = getattr(value, setting.field)
        if not (given is None and setting.optional):
            object.__setattr__(value, setting.field, _checked(setting, given, more or {}))


def _checked(setting: Setting, given: Any, more: Mapping[Any, Callable[[str, Any], Any]]) -> Any:
    name, kind, option = setting.field, setting.type, setting.option
    if kind in more:
        return more[kind](name, given)
    if option.role == "fields":
        return fields(given, name)
    if kind is int:
        return whole(name, given, *(None if bound is None else int(bound) for bound in (option.least, option.most)))
    if kind is float:
        return number(name, given, option.least, option.most)
    if get_origin(kind) is Literal:
        return choice(name, given, get_args(kind))
    if kind == bool | tuple[str, ...] and not isinstance(given, bool):
        return names(name, given)
    plain: Mapping[Any, Callable[[str, Any], Any]] = {bool: flag, str: text, tuple[str, ...]: names}
    return plain[kind](name, given) if kind in plain else given


def _within(value: float, least: float | None, most: float | None) -> bool:
    return (least is None or value >= least) and (most is None or value <= most)


def _bounds(least: float | None, most: float | None, form: str) -> str:
    """The bounds in words, after "a number"; nothing where there are none."""
    if least is None:
        return "" if most is None else f" of at most {most:{form}}"
    return f" of at least {least:{form}}" if most is None else f" from {least:{form}} to {most:{form}}"
