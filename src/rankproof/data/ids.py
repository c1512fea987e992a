"""Ids are text: what a value must be to serve as one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from ..errors import InputError
from .refusals import refusal


def checked_id(value: object, column: str, *, source: str = "", line: int | None = None) -> str:
    """The value as an id: text as it is, an integer as its decimal text, anything else refused."""
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return str(int(value))
    if not isinstance(value, str):
        raise refusal("id-type", source=source, line=line, column=column, token=repr(value), kind=type(value).__name__)
    if not value:
        raise refusal("id-empty", source=source, line=line, column=column)
    if not value.isascii():
        _refuse_surrogates(value, column, source, line)
    return value


def checked_keys(keys: Iterable[object], column: str, *, source: str = "") -> Iterator[str]:
    """The keys of a mapping as ids; two that are the same text, like 1 and "1", are refused."""
    seen: set[str] = set()
    for key in keys:
        name = checked_id(key, column, source=source)
        if name in seen:
            raise refusal("id-clash", source=source, column=column, token=name)
        seen.add(name)
        yield name


def _refuse_surrogates(value: str, column: str, source: str, line: int | None) -> None:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise _surrogate(value, column, source, line) from None


def _surrogate(value: str, column: str, source: str, line: int | None) -> InputError:
    return refusal("id-surrogate", source=source, line=line, column=column, token=ascii(value))
