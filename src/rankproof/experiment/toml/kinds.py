"""What a key of an experiment file can take, and how a value is known to fit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeGuard, get_args

Plain = Literal["text", "number", "whole", "flag", "texts", "numbers", "stop words"]
PartName = Literal["encoder", "pair model", "chat", "store"]
KindName = Plain | PartName | Literal["system", "systems", "rescorer"]


def is_part(kind: KindName) -> TypeGuard[PartName]:
    """Whether the key takes a model or a store."""
    return kind in get_args(PartName)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_named(value: Any) -> bool:
    """A name, or a table with a name and settings."""
    return _is_text(value) or (isinstance(value, dict) and _is_text(value.get("name")))


def _all(check: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(map(check, value))


_NAMED = 'a name, or a table like {name = "…"}'
KINDS: Mapping[KindName, tuple[str, Callable[[Any], bool]]] = {
    "text": ("text", _is_text),
    "number": ("a number", _is_number),
    "whole": ("a whole number", lambda value: _is_number(value) and isinstance(value, int)),
    "flag": ("true or false", lambda value: isinstance(value, bool)),
    "texts": ("a list of texts", _all(_is_text)),
    "numbers": ("a list of numbers", _all(_is_number)),
    "stop words": ("true, false, or a list of words", lambda value: isinstance(value, bool) or _all(_is_text)(value)),
    "system": ("the name of a system", _is_text),
    "systems": ("a list of names of systems", _all(_is_text)),
    "encoder": (_NAMED, _is_named),
    "pair model": (_NAMED, _is_named),
    "chat": (_NAMED, _is_named),
    "store": (_NAMED, _is_named),
    "rescorer": ("a name", _is_text),
}
