"""Converts between JSON objects and dataclasses: the fields are the keys, and their types are what each key may hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from types import NoneType
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from rankproof._io.strict_json import JsonObject
from rankproof.errors import InputError, for_message

T = TypeVar("T")
_Fail = Callable[[str], InputError]
_SCALARS: Mapping[Any, str] = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}
_ABSENT = object()


def read_fields(kind: type[T], values: JsonObject) -> T:
    """The object as a dataclass; an error names the file and the path of the first key that is missing or has a wrong value.

    A field with a default may be missing. Keys that are no field are ignored.
    """
    instance: T = _read(kind, values.plain, values.place, values.error)
    return instance


def plain_fields(value: Any, without: frozenset[str] = frozenset()) -> Any:
    """The dataclass as a JSON value, without the fields of these names and without those that are None by default."""
    if is_dataclass(value):
        named = {field: getattr(value, field.name) for field in fields(value) if field.name not in without}
        return {item.name: plain_fields(member, without) for item, member in named.items() if not _is_left_out(item, member)}
    if isinstance(value, tuple):
        return [plain_fields(item, without) for item in value]
    if isinstance(value, Mapping) and any(map(is_dataclass, value.values())):
        return {key: plain_fields(item, without) for key, item in value.items()}
    return value


def _is_left_out(field: Field[Any], value: Any) -> bool:
    return value is None and field.default is None


def _read(kind: Any, value: Any, path: str, fail: _Fail) -> Any:
    origin, arguments = get_origin(kind), get_args(kind)
    if kind is Any:
        return value
    if NoneType in arguments:
        return None if value is None else _read(_type_of(value, arguments), value, path, fail)
    if origin is Literal:
        return _checked(value, path, fail, f"one of {', '.join(arguments)}", value in arguments)
    if origin is tuple or origin is list:
        items = _checked(value, path, fail, "an array", isinstance(value, list))
        return origin(_read_items(arguments[0], items, (f"{path}[{at}]" for at in range(len(items))), fail))
    if origin is not None:
        plain = _checked(value, path, fail, "an object", isinstance(value, dict))
        return dict(zip(plain, _read_items(arguments[1], plain.values(), (_join(path, key) for key in plain), fail), strict=True))
    if is_dataclass(kind):
        return _read_object(kind, _checked(value, path, fail, "an object", isinstance(value, dict)), path, fail)
    return _read_scalar(kind, value, path, fail)


def _type_of(value: Any, allowed: tuple[Any, ...]) -> Any:
    """The type of several that a value is read as: its own, else the first."""
    return type(value) if type(value) in allowed else next(member for member in allowed if member is not NoneType)


def _read_items(kind: Any, items: Any, paths: Any, fail: _Fail) -> Any:
    """The items, at once where every one is a scalar of that type, or null where that is allowed: rankings have many."""
    allowed = set(get_args(kind)) if NoneType in get_args(kind) else {kind}
    if allowed <= {*_SCALARS, NoneType} and all(type(item) in allowed for item in items):
        return items
    return [_read(kind, item, path, fail) for item, path in zip(items, paths, strict=True)]


def _read_object(kind: Any, value: Mapping[str, Any], path: str, fail: _Fail) -> Any:
    arguments = {}
    for field, hint in _fields_with_types(kind):
        plain = value.get(field.name, _ABSENT)
        if plain is not _ABSENT:
            arguments[field.name] = _read(hint, plain, _join(path, field.name), fail)
        elif field.default is MISSING and field.default_factory is MISSING:
            raise fail(f"{for_message(_join(path, field.name))} is missing")
    return kind(**arguments)


def _read_scalar(kind: Any, value: Any, path: str, fail: _Fail) -> Any:
    if kind is float and type(value) is int:
        try:
            return float(value)
        except OverflowError:
            raise fail(f"{for_message(path)} is not a 64-bit float") from None
    return _checked(value, path, fail, _SCALARS[kind], type(value) is kind)


def _checked(value: Any, path: str, fail: _Fail, words: str, fits: Any) -> Any:
    if not fits:
        raise fail(f"{for_message(path)} is not {words}")
    return value


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


@cache
def _fields_with_types(kind: Any) -> tuple[tuple[Field[Any], Any], ...]:
    hints = get_type_hints(kind)
    return tuple((field, hints[field.name]) for field in fields(kind))
