"""JSON without its loopholes: no NaN, no key twice in an object, no depth or digits without end; faults have their place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from .faults import fault

if TYPE_CHECKING:
    from json import JSONDecoder

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|-?Infinity|NaN|-?[0-9][-+.0-9eE]*', re.DOTALL)
_NEXT = re.compile(r"[^ \t\r\n,]")
_CONSTANTS = ("NaN", "Infinity", "-Infinity")
_MAX_DIGITS = 4300

Path = tuple[str | int, ...]


class _ConstantError(Exception):
    pass


class _RepeatError(Exception):
    pass


def parse(text: str, *, source: str, line: int = 1) -> Any:
    """The value that the text holds; `line` is the number of its first line."""
    import json

    try:
        # Only `loads` refuses a byte-order mark by its name.
        return json.loads(text) if text.startswith("\ufeff") else _decoder().decode(text)
    except _ConstantError as error:
        at = next(at for at, token in _tokens(text) if token in _CONSTANTS)
        raise _at(text, at, line, "json-constant", source, token=str(error)) from None
    except _RepeatError:
        at, key = next((at, keys[-1]) for at, keys, repeated in _places(text) if repeated)
        raise _at(text, at, line, "json-repeat", source, key=key) from None
    except json.JSONDecodeError as error:
        raise _at(text, error.pos, line, "json", source, reason=error.msg) from None
    except RecursionError:
        raise fault("json-deep", source=source, line=line) from None
    except ValueError:
        at = next((at for at, token in _tokens(text) if token.lstrip("-").isdigit() and len(token) > _MAX_DIGITS), 0)
        raise _at(text, at, line, "json-digits", source) from None


@cache
def _decoder() -> JSONDecoder:
    import json

    return json.JSONDecoder(object_pairs_hook=_object, parse_constant=_refuse_constant)


def line_of(text: str, path: Path) -> int | None:
    """The line of the value that the path of keys and indices leads to."""
    at = next((at for at, keys, _ in _places(text) if keys == path), None)
    return None if at is None else _place(text, at)[0]


def item_lines(text: str, *, source: str) -> Iterator[int]:
    """The line of each item of the array that the text holds, and that was parsed before."""
    import json

    decode = json.JSONDecoder().raw_decode
    line, counted, end = 1, 0, text.index("[") + 1
    while (found := _NEXT.search(text, end)) and found.group() != "]":
        line += text.count("\n", counted, found.start())
        counted = found.start()
        yield line
        try:
            _, end = decode(text, counted)
        except RecursionError:
            raise fault("json-deep", source=source, line=line) from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _RepeatError
    return found


def _refuse_constant(token: str) -> Any:
    raise _ConstantError(token)


def _tokens(text: str) -> Iterator[tuple[int, str]]:
    for match in _TOKEN.finditer(text):
        yield match.start(), match.group()


def _places(text: str) -> Iterator[tuple[int, Path, bool]]:
    """Every key and every item of an array: its place, its path, and whether it is a key that its object already has."""
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


def _at(text: str, at: int, first: int, code: str, source: str, **fields: object) -> InputError:
    line, column = _place(text, at)
    return fault(code, source=source, line=first + line - 1, position=column, **fields)


def _place(text: str, at: int) -> tuple[int, int]:
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
