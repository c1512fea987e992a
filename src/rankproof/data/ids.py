"""Ids are text: what a value must be to serve as one."""

from __future__ import annotations

from ..errors import InputError
from .refusals import refusal


def checked_id(value: object, column: str, *, source: str = "", line: int | None = None) -> str:
    """The value as an id: text as it is, an integer as its decimal text, anything else refused."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str):
        raise refusal("id-type", source=source, line=line, column=column, token=repr(value), kind=type(value).__name__)
    if not value:
        raise refusal("id-empty", source=source, line=line, column=column)
    if not value.isascii():
        _refuse_surrogates(value, column, source, line)
    return value


def _refuse_surrogates(value: str, column: str, source: str, line: int | None) -> None:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise _surrogate(value, column, source, line) from None


def _surrogate(value: str, column: str, source: str, line: int | None) -> InputError:
    return refusal("id-surrogate", source=source, line=line, column=column, token=ascii(value))
