"""JSON that is parsed strictly, with lines in errors, and objects with typed access."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankproof._io.file_errors import file_error
from rankproof._io.files import unreadable_file_error
from rankproof._io.memory import check_memory
from rankproof.errors import ExternalError, InputError, escape_invisible, for_message

if TYPE_CHECKING:
    from json import JSONDecoder


_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|-?Infinity|NaN|-?[0-9][-+.0-9eE]*', re.DOTALL)
_NEXT = re.compile(r"[^ \t\r\n,]")
_MAX_DIGITS = 4300
_LONG_TEXT = 1 << 20

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


class JsonObject:
    """An object of a JSON document, with its path in the document and the fix for a value that cannot be read."""

    def __init__(
        self, plain: Any, source: str, *, place: str = "", line: int | None = None, damaged_fix: str = _DAMAGED_FIX
    ) -> None:
        self._source, self._line, self._damaged_fix = source, line, damaged_fix
        self.place = place
        if not isinstance(plain, dict):
            raise self.error(f"{place or 'the document'} is not an object")
        self.plain: dict[str, Any] = plain

    def error(self, what: str, fix: str | None = None) -> InputError:
        """An error in this file."""
        return InputError(what, fix=fix or self._damaged_fix, source=self._source, line=self._line)

    def text(self, key: str) -> str:
        """Text."""
        value = self._of(key, str, "text")
        return str(value)

    def text_or_none(self, key: str) -> str | None:
        """Text or null."""
        return None if self.plain.get(key) is None else self.text(key)

    def count(self, key: str) -> int:
        """A whole number."""
        return int(self._of(key, int, "a whole number"))

    def number(self, key: str) -> float:
        """A number."""
        return self._float(key, self._of(key, int | float, "a number"))

    def flag(self, key: str) -> bool:
        """True or false."""
        if not isinstance(self.plain.get(key), bool):
            raise self._wrong(key, "true or false")
        return bool(self.plain[key])

    def choice(self, key: str, known: Collection[str]) -> str:
        """One of the known texts."""
        if self.text(key) not in known:
            raise self._wrong(key, f"one of {', '.join(known)}")
        return self.text(key)

    def inside(self, key: str) -> JsonObject:
        """The object under the key."""
        self._of(key, dict, "an object")
        return self._part(self.plain[key], self._path(key))

    def each(self, key: str) -> Iterator[JsonObject]:
        """The objects of the array under the key."""
        for at, item in enumerate(self._of(key, list, "an array")):
            yield self._part(item, f"{self._path(key)}[{at}]")

    def texts(self, key: str) -> list[str]:
        """The texts of the array under the key."""
        items = self._of(key, list, "an array")
        if not all(isinstance(item, str) for item in items):
            raise self._wrong(key, "an array of strings")
        return list(items)

    def numbers(self, key: str) -> list[float]:
        """The numbers of the array under the key."""
        items = self._of(key, list, "an array")
        if not all(isinstance(item, int | float) and not isinstance(item, bool) for item in items):
            raise self._wrong(key, "an array of numbers")
        return [self._float(key, item) for item in items]

    def _float(self, key: str, value: float) -> float:
        try:
            return float(value)
        except OverflowError:
            raise self._wrong(key, "a 64-bit float") from None

    def _of(self, key: str, kind: Any, words: str) -> Any:
        value = self.plain.get(key)
        if not isinstance(value, kind) or isinstance(value, bool):
            raise self._wrong(key, words)
        return value

    def _wrong(self, key: str, words: str) -> InputError:
        what = "missing" if key not in self.plain else f"not {words}"
        return self.error(f"{for_message(self._path(key))} is {what}")

    def _part(self, plain: Any, place: str) -> JsonObject:
        return JsonObject(plain, self._source, place=place, line=self._line, damaged_fix=self._damaged_fix)

    def _path(self, key: str) -> str:
        return f"{self.place}.{key}" if self.place else key


def read_json(path: Path) -> Any:
    """The value of a JSON file of a model."""
    import json

    try:
        return json.loads(path.read_bytes())
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
