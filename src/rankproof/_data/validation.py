"""Checks of arguments, settings and ids."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, get_args, get_origin

import numpy as np

from rankproof._data.row_errors import row_error
from rankproof._registry import Setting, settings_of
from rankproof.errors import InputError, UsageError, for_message, type_phrase

ID_DIGITS = 16
"""Hexadecimal digits of an id that is made."""


def made_id(column: str, content: Sequence[str]) -> str:
    """An id that depends on the content alone: the first letter of the column and the beginning of a sha256."""
    import hashlib

    return column[0] + hashlib.sha256("\0".join(content).encode()).hexdigest()[:ID_DIGITS]


def checked_integer(name: str, value: Any, least: int | None = 1, most: int | None = None) -> int:
    """The value as an integer within the bounds."""
    if isinstance(value, bool) or not isinstance(value, int) or not _within(value, least, most):
        raise UsageError(f"{name} is {for_message(str(value))}", fix=f"choose a whole number{_bounds(least, most, ',')}")
    return value


def checked_number(name: str, value: Any, low: float | None = None, high: float | None = None) -> float:
    """The value as a finite number within the bounds, which are included."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not _is_finite(value) or not _within(value, low, high):
        raise UsageError(f"{name} is {for_message(str(value))}", fix=f"choose a number{_bounds(low, high, 'g')}")
    # -0.0 becomes 0.0, so that equal numbers are written alike.
    return float(value) + 0.0


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def fields(value: Any, name: str = "fields") -> tuple[str, ...]:
    """The value as names of document fields, at least one and none twice."""
    chosen = checked_names(name, value)
    if not chosen or len(set(chosen)) < len(chosen):
        raise UsageError(
            f"{name} is {for_message(str(list(chosen)))}", fix='specify at least one field, each only once: ["title", "text"]'
        )
    return chosen


def checked_bool(name: str, value: Any) -> bool:
    """The value as true or false."""
    if not isinstance(value, bool):
        raise UsageError(f"{name} is {for_message(str(value))}", fix="choose true or false")
    return value


def checked_text(name: str, value: Any) -> str:
    """The value as text, which may be empty."""
    if not isinstance(value, str):
        raise UsageError(f"{name} is {type_phrase(value)}", fix="pass text")
    return value


def checked_names(name: str, value: Any) -> tuple[str, ...]:
    """The value as a list of texts, none of them empty; a single text is an error."""
    if isinstance(value, str) or not isinstance(value, Sequence) or not all(isinstance(item, str) and item for item in value):
        raise UsageError(f"{name} is {for_message(str(value))}", fix='pass a list of names, such as ["title", "text"]')
    return tuple(value)


def checked_choice(name: str, value: Any, known: Collection[str]) -> str:
    """The value as one of the known names."""
    if value not in known:
        raise UsageError(f"{name} is {for_message(str(value))}", fix=f"choose one of {', '.join(known)}")
    return str(value)


def check_options(value: Any, more: Mapping[Any, Callable[[str, Any], Any]] | None = None) -> None:
    """Checks every setting of a frozen dataclass by its type and Option, and stores numbers as float and lists as tuples.

    `more` has the checks of further types; a value of a type without a check is not changed.
    """
    for setting in settings_of(type(value)):
        plain = getattr(value, setting.field)
        if not (plain is None and setting.optional):
            object.__setattr__(value, setting.field, checked_setting(setting, plain, more))


def checked_setting(setting: Setting, value: Any, more: Mapping[Any, Callable[[str, Any], Any]] | None = None) -> Any:
    """The value of a setting in its plain form; `more` has the checks of further types."""
    name, kind, option = setting.field.rstrip("_"), setting.type, setting.option
    if more and kind in more:
        return more[kind](name, value)
    if option.role == "fields":
        return fields(value, name)
    if kind is int:
        return checked_integer(name, value, *(None if bound is None else int(bound) for bound in (option.least, option.most)))
    if kind is float:
        return checked_number(name, value, option.least, option.most)
    if get_origin(kind) is Literal:
        return checked_choice(name, value, get_args(kind))
    if kind == bool | tuple[str, ...] and not isinstance(value, bool):
        return checked_names(name, value)
    plain: Mapping[Any, Callable[[str, Any], Any]] = {bool: checked_bool, str: checked_text, tuple[str, ...]: checked_names}
    return plain[kind](name, value) if kind in plain else value


def _within(value: float, least: float | None, most: float | None) -> bool:
    return (least is None or value >= least) and (most is None or value <= most)


def _bounds(least: float | None, most: float | None, form: str) -> str:
    """The bounds in words, after "a number"; empty without bounds."""
    if least is None:
        return "" if most is None else f" of at most {most:{form}}"
    return f" of at least {least:{form}}" if most is None else f" from {least:{form}} to {most:{form}}"


def checked_id(value: object, column: str, *, source: str = "", line: int | None = None) -> str:
    """The value as an id: text, or an integer as its decimal text; anything else is an error."""
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return str(int(value))
    if not isinstance(value, str):
        raise row_error("id-type", source=source, line=line, column=column, token=repr(value), kind=type(value).__name__)
    if not value:
        raise row_error("id-empty", source=source, line=line, column=column)
    if not value.isascii():
        _check_surrogates(value, column, source, line)
    if "\0" in value:
        raise row_error("id-nul", source=source, line=line, column=column, token=value)
    return value


def checked_keys(keys: Iterable[object], column: str, *, source: str = "") -> Iterator[str]:
    """The keys of a mapping as ids; two with the same text, like 1 and "1", are an error."""
    seen: set[str] = set()
    for key in keys:
        name = checked_id(key, column, source=source)
        if name in seen:
            raise row_error("id-clash", source=source, column=column, token=name)
        seen.add(name)
        yield name


def _check_surrogates(value: str, column: str, source: str, line: int | None) -> None:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise _surrogate_error(value, column, source, line) from None


def _surrogate_error(value: str, column: str, source: str, line: int | None) -> InputError:
    return row_error("id-surrogate", source=source, line=line, column=column, token=ascii(value))
