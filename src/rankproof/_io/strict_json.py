"""JSON that is parsed strictly, with lines in errors, and objects as dataclasses, which are the schema of every JSON file."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from rankproof._io.file_errors import file_error
from rankproof._io.files import open_plain_file, unreadable_file_error
from rankproof._io.memory import check_memory
from rankproof.errors import ExternalError, InputError, escape_invisible, for_message

if TYPE_CHECKING:
    from json import JSONDecoder

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|-?Infinity|NaN|-?[0-9][-+.0-9eE]*', re.DOTALL)
_NEXT = re.compile(r"[^ \t\r\n,]")
_MAX_DIGITS = 4300
_LONG_TEXT = 1 << 20

T = TypeVar("T")
JsonPath = tuple[str | int, ...]


class _ConstantError(Exception):
    pass


class _RepeatError(Exception):
    pass


def parse_strict_json(text: str, *, source: str, line: int = 1, nan_is_null: bool = False) -> Any:
    """The value of the text; `line` is the number of its first line.

    `nan_is_null` reads NaN, which Python writes for a missing number, as null.
    """
    import json

    if len(text) > _LONG_TEXT:
        check_memory(_parsed_size(text), source)
    try:
        # Only `loads` names a byte-order mark in its error.
        return json.loads(text) if text.startswith("\ufeff") else _decoder(nan_is_null).decode(text)
    except _ConstantError as error:
        at = next(at for at, token in _tokens(text) if token == str(error))
        raise _error_at(text, at, line, "json-constant", source, token=str(error)) from None
    except _RepeatError:
        at, key = next((at, keys[-1]) for at, keys, repeated in _positions(text) if repeated)
        raise _error_at(text, at, line, "json-repeat", source, key=key) from None
    except json.JSONDecodeError as error:
        raise _error_at(text, error.pos, line, "json", source, reason=error.msg) from None
    except RecursionError:
        raise file_error("json-deep", source=source, line=line) from None
    except ValueError:
        at = next((at for at, token in _tokens(text) if token.lstrip("-").isdigit() and len(token) > _MAX_DIGITS), 0)
        raise _error_at(text, at, line, "json-digits", source) from None


def _parsed_size(text: str) -> int:
    """About the bytes that the values of the text take as Python objects: characters, and headers of objects."""
    weights = {"{": 240, "[": 64, ",": 48, ":": 96, '"': 30}
    return len(text) + sum(weight * text.count(mark) for mark, weight in weights.items())


@cache
def _decoder(nan_is_null: bool) -> JSONDecoder:
    import json

    return json.JSONDecoder(object_pairs_hook=_object, parse_constant=_null_for_nan if nan_is_null else _refuse_constant)


def line_of(text: str, path: JsonPath) -> int | None:
    """The line of the value at the path of keys and indexes."""
    at = next((at for at, keys, _ in _positions(text) if keys == path), None)
    return None if at is None else _line_and_column(text, at)[0]


def lines_inside(text: str, path: JsonPath) -> list[int]:
    """The line of each key or item directly inside the value at the path."""
    lines, line, counted = [], 1, 0
    for at, keys, _ in _positions(text):
        if keys and keys[:-1] == path:
            line += text.count("\n", counted, at)
            counted = at
            lines.append(line)
    return lines


def item_lines(text: str, *, source: str) -> Iterator[int]:
    """The line of each item of the array in the text, which is valid JSON."""
    import json

    decode = json.JSONDecoder().raw_decode
    line, counted, end = 1, 0, text.index("[") + 1
    while (match := _NEXT.search(text, end)) and match.group() != "]":
        line += text.count("\n", counted, match.start())
        counted = match.start()
        yield line
        try:
            _, end = decode(text, counted)
        except RecursionError:
            raise file_error("json-deep", source=source, line=line) from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    # The standard parser keeps the last of repeated keys silently: a judgement would be lost without a word.
    if len(members) < len(pairs):
        raise _RepeatError
    return members


def _refuse_constant(token: str) -> Any:
    raise _ConstantError(token)


def _null_for_nan(token: str) -> Any:
    return None if token == "NaN" else _refuse_constant(token)


def _tokens(text: str) -> Iterator[tuple[int, str]]:
    for match in _TOKEN.finditer(text):
        yield match.start(), match.group()


def _positions(text: str) -> Iterator[tuple[int, JsonPath, bool]]:
    """Every key and array item: its offset, its path, and whether it repeats a key of its object."""
    import json

    path: list[str | int] = []
    seen: list[set[str]] = []
    before, item_follows = (0, ""), False
    for at, token in _tokens(text):
        if item_follows:
            yield at, tuple(path), False
        item_follows = token == "[" or (token == "," and isinstance(path[-1], int))
        if token == ":":
            key = path[-1] = json.loads(before[1])
            yield before[0], tuple(path), key in seen[-1]
            seen[-1].add(key)
        elif token in "{[":
            path.append("" if token == "{" else 0)
            seen.append(set())
        elif token in "}]":
            path.pop()
            seen.pop()
        elif item_follows:
            path[-1] = int(path[-1]) + 1
        before = (at, token)


def _error_at(text: str, at: int, first: int, code: str, source: str, **fields: object) -> InputError:
    line, column = _line_and_column(text, at)
    return file_error(code, source=source, line=first + line - 1, position=column, **fields)


def _line_and_column(text: str, at: int) -> tuple[int, int]:
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)


_DAMAGED_FIX = "the file is corrupt or was edited: run the experiment again"
_SCALARS: Mapping[Any, str] = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}
_ABSENT = object()
_Fail = Callable[[str], InputError]


class JsonObject:
    """An object of a JSON file, with its line and the fix for a value that cannot be read."""

    def __init__(self, plain: Any, source: str, *, line: int | None = None, damaged_fix: str = _DAMAGED_FIX) -> None:
        self.source, self._line, self._damaged_fix = source, line, damaged_fix
        if not isinstance(plain, dict):
            raise self.error("the document is not an object")
        self.plain: dict[str, Any] = plain

    def error(self, what: str, fix: str | None = None) -> InputError:
        """An error in this file."""
        return InputError(what, fix=fix or self._damaged_fix, source=self.source, line=self._line)

    def read(self, kind: type[T]) -> T:
        """The object as a dataclass; an error names the path of the first key that is missing or has a wrong value.

        The fields are the keys, and their types are what each key may hold: a scalar, a Literal, a dataclass, a tuple or list of
        one type, a mapping of texts to one type, a union. A field with a default may be missing. Other keys are ignored.
        """
        record: T = _read(kind, self.plain, "", self.error)
        return record

    def member(self, key: str, kind: type[T]) -> T:
        """The value under one key, of a type that a field may have."""
        if key not in self.plain:
            raise self.error(f"{for_message(key)} is missing")
        value: T = _read(kind, self.plain[key], key, self.error)
        return value


def fits(kind: Any, value: Any) -> bool:
    """Whether a value of JSON or TOML has a type that the field of a record may have."""
    try:
        _read(kind, value, "", lambda what: InputError(what, fix=""))
    except InputError:
        return False
    return True


def plain_record(value: Any, without: frozenset[str] = frozenset()) -> Any:
    """The dataclass as a JSON value, without the fields of these names and without those that are None by default."""
    if is_dataclass(value):
        named = {field: getattr(value, field.name) for field in fields(value) if field.name not in without}
        kept = {field.name: member for field, member in named.items() if member is not None or field.default is not None}
        return {name: plain_record(member, without) for name, member in kept.items()}
    if isinstance(value, tuple):
        return [plain_record(item, without) for item in value]
    if isinstance(value, Mapping) and any(map(is_dataclass, value.values())):
        return {key: plain_record(item, without) for key, item in value.items()}
    return value


def _read(kind: Any, value: Any, path: str, fail: _Fail) -> Any:
    origin, arguments = get_origin(kind), get_args(kind)
    if kind is Any:
        return value
    if origin in (Union, UnionType):
        return None if value is None and NoneType in arguments else _read(_type_of(value, arguments), value, path, fail)
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
    """The type of several that a value is read as: the first that it has, else the first."""
    first, *others = (member for member in allowed if member is not NoneType)
    return next((member for member in (first, *others) if fits(member, value)), first) if others else first


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
    # JavaScript and other programs write 1 for 1.0.
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


def read_json(path: Path) -> Any:
    """The value of a JSON file of a model."""
    import json

    try:
        with open_plain_file(str(path)) as file:
            check_memory(path.stat().st_size, str(path))
            return json.loads(file.read())
    except OSError as error:
        raise unreadable_file_error(path, error) from None
    except (ValueError, RecursionError) as error:
        raise ExternalError(escape_invisible(f"{path}: not JSON ({error}); get the file again, it is damaged")) from None


def read_json_object(path: Path) -> dict[str, Any]:
    """The object of a JSON file of a model, an empty one if the file does not exist."""
    if not path.exists():
        return {}
    value = read_json(path)
    if not isinstance(value, dict):
        raise ExternalError(escape_invisible(f"{path}: not a JSON object; get the file again, it is damaged"))
    return value


_END = b"\n}\n"
_DIGEST = re.compile(rb',\n "digest": "([0-9a-f]{64})"\n}\n\Z')
_LENGTH = len(',\n "digest": ""\n}\n') + 64


def with_digest(content: bytes) -> bytes:
    """The JSON object, indented by one space, with a last key: the sha256 of the content without it."""
    assert content.endswith(_END)
    return content.removesuffix(_END) + f',\n "digest": "{hashlib.sha256(content).hexdigest()}"'.encode() + _END


def has_own_digest(content: bytes) -> bool:
    """Whether the content is what `with_digest` gave."""
    body, last = content[:-_LENGTH], content[-_LENGTH:]
    digest = _DIGEST.fullmatch(last)
    return digest is not None and hashlib.sha256(body + _END).hexdigest().encode() == digest[1]
