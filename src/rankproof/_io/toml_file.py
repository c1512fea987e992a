"""TOML files with the line of each key, and values as TOML."""

from __future__ import annotations

import json
import os
import re
import tomllib
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from io import BufferedReader
from typing import Any

from rankproof._io.open import path_text
from rankproof._io.streams import open_error, open_input
from rankproof.errors import InputError, closest_name, for_message, is_hidden

KeyPath = tuple[str | int, ...]

_SPACE = re.compile(r"[ \t]*")
_SPACE_AND_COMMENTS = re.compile(r"(?:[ \t\n]|#[^\n]*)*")
_KEY = re.compile(r"""[A-Za-z0-9_-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'""")
_STRING = re.compile(r'''"""(?:[^\\]|\\.)*?"{3,5}(?!")|\'\'\'.*?'{3,5}(?!')|"(?:[^"\\\n]|\\.)*"|'[^'\n]*\'''', re.DOTALL)
_BARE_VALUE = re.compile(r"[^,\]}\n#]*")


def key_lines(text: str) -> dict[KeyPath, int]:
    """The line of every key and array item by its path; the text must be valid TOML."""
    return _Scanner(text.replace("\r\n", "\n")).lines


# tomllib gives values without places, and a parser that keeps them would be one more package for the lines in messages.
class _Scanner:
    """Scans a valid text once and records the first line of each path."""

    def __init__(self, text: str) -> None:
        self.lines: dict[KeyPath, int] = {}
        self._text, self._at = text, 0
        self._ends = [match.start() for match in re.finditer("\n", text)]
        self._tables: dict[KeyPath, int] = {}
        self._statements()

    def _statements(self) -> None:
        table: KeyPath = ()
        self._skip(_SPACE_AND_COMMENTS)
        while self._at < len(self._text):
            if self._takes("[["):
                table = self._header(repeated=True)
                self._at += len("]]")
            elif self._takes("["):
                table = self._header(repeated=False)
                self._at += len("]")
            else:
                self._pair(table)
            self._skip(_SPACE_AND_COMMENTS)

    def _header(self, *, repeated: bool) -> KeyPath:
        """The path of a table; for an array of tables it includes the table's index."""
        path: KeyPath = ()
        keys = self._keys()
        for place, (key, at) in enumerate(keys):
            path = (*path, key)
            self._note(path, at)
            if repeated and place == len(keys) - 1:
                self._tables[path] = self._tables.get(path, -1) + 1
            if path in self._tables:
                path = (*path, self._tables[path])
                self._note(path, at)
        return path

    def _pair(self, table: KeyPath) -> None:
        path = table
        for key, at in self._keys():
            path = (*path, key)
            self._note(path, at)
        self._at += len("=")
        self._skip(_SPACE)
        self._value(path)

    def _keys(self) -> list[tuple[str, int]]:
        """The parts of a dotted key, each with its offset."""
        parts = []
        while True:
            self._skip(_SPACE)
            at = self._at
            token = self._skip(_KEY)
            parts.append((tomllib.loads(f"key = {token}")["key"] if token[0] in "\"'" else token, at))
            self._skip(_SPACE)
            if not self._takes("."):
                return parts

    def _value(self, path: KeyPath) -> None:
        if self._takes("["):
            self._items(path)
        elif self._takes("{"):
            self._inline(path)
        elif self._text[self._at] in "\"'":
            self._skip(_STRING)
        else:
            self._skip(_BARE_VALUE)

    def _items(self, path: KeyPath) -> None:
        count = 0
        self._skip(_SPACE_AND_COMMENTS)
        while not self._takes("]"):
            self._note((*path, count), self._at)
            self._value((*path, count))
            self._next()
            count += 1

    def _inline(self, path: KeyPath) -> None:
        self._skip(_SPACE_AND_COMMENTS)
        while not self._takes("}"):
            self._pair(path)
            self._next()

    def _next(self) -> None:
        self._skip(_SPACE_AND_COMMENTS)
        self._takes(",")
        self._skip(_SPACE_AND_COMMENTS)

    def _takes(self, mark: str) -> bool:
        taken = self._text.startswith(mark, self._at)
        self._at += len(mark) if taken else 0
        return taken

    def _skip(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self._text, self._at)
        assert match is not None, "the text is not valid TOML"
        self._at = match.end()
        return match.group()

    def _note(self, path: KeyPath, at: int) -> None:
        self.lines.setdefault(path, bisect_right(self._ends, at - 1) + 1)


MAX_TOML_BYTES = 1 << 20
_MOST_KEY_PARTS = 32
_KEY_PART = r"""(?>[A-Za-z0-9_-]+|"(?>(?:[^"\\\n]|\\.)*)"|'[^'\n]*+')[ \t]*+"""
_KEY_OR_STRING = re.compile(
    r""""{3}(?>(?:[^"\\]|\\.|"{1,2}(?!"))*)(?:"{3,5}|\Z)|'{3}(?>(?:[^']|'{1,2}(?!'))*)(?:'{3,5}|\Z)|#[^\n]*+"""
    rf"|(?P<deep>(?:{_KEY_PART}\.[ \t]*+){{{_MOST_KEY_PARTS}}}){_KEY_PART}|{_KEY_PART}",
    re.DOTALL,
)
"""A string of several lines, a comment, a key with too many parts, or any word or string."""
_BOM = b"\xef\xbb\xbf"
_ERROR_PLACE = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")
_DUPLICATE_MESSAGES = ("Cannot overwrite a value", "Cannot declare", "Cannot mutate")


@dataclass(frozen=True, slots=True)
class TomlFile:
    """The values of a file by key, and the line of each."""

    source: str
    values: Mapping[str, Any]
    lines: Mapping[KeyPath, int] = field(default_factory=dict)

    @property
    def folder(self) -> str:
        """The folder that relative paths in the file start from."""
        return os.path.dirname(os.path.abspath(self.source))

    def inside(self, path: KeyPath) -> Any:
        """The value at that path."""
        value: Any = self.values
        for key in path:
            value = value[key]
        return value

    def error(self, path: KeyPath, what: str, fix: str) -> InputError:
        """An error at the line of that path, or of the nearest table above it."""
        # A missing key has no line of its own: the table that lacks it has.
        while path and path not in self.lines:
            path = path[:-1]
        return InputError(what, fix=fix, source=self.source, line=self.lines.get(path))

    def unknown(self, path: KeyPath, what: str, name: str, known: Iterable[str]) -> InputError:
        """An error for an unknown name, with the most similar known one."""
        choices = list(known)
        near = closest_name(name, choices)
        fix = f"did you mean {for_message(near)}?" if near else f"choose from {', '.join(map(for_message, choices))}"
        return self.error(path, f"{what} {for_message(name)}", fix)


def read_toml(path: str | os.PathLike[str]) -> TomlFile:
    """The TOML file at the path; anything but TOML in UTF-8 is an error."""
    source = path_text(path)
    text = _decode(_read_bytes(source), source).replace("\r\n", "\n")
    values = toml_values(text, source)
    try:
        return TomlFile(source, values, key_lines(text))
    except RecursionError:
        raise _depth_error(source) from None


def toml_values(text: str, source: str) -> dict[str, Any]:
    """The values of the text; a key of too many parts, for which the parser would take minutes, is an error."""
    # The parser walks every prefix of a dotted key.
    line = _deep_key_line(text)
    if line is not None:
        raise _depth_error(source, line)
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _syntax_error(str(error), text, source) from None
    except RecursionError:
        raise _depth_error(source) from None
    except ValueError as error:
        raise InputError(f"a value cannot be read ({error})", fix="write smaller numbers", source=source) from None


def _depth_error(source: str, line: int | None = None) -> InputError:
    return InputError("nested too deeply", fix="write tables inside one table, no deeper", source=source, line=line)


def _deep_key_line(text: str) -> int | None:
    """The line of the first dotted key with too many parts; strings and comments are no keys."""
    deep_key = next((token for token in _KEY_OR_STRING.finditer(text) if token["deep"] is not None), None)
    return None if deep_key is None else text.count("\n", 0, deep_key.start()) + 1


def _read_bytes(source: str) -> bytes:
    try:
        with BufferedReader(open_input(source)) as file:
            content = file.read(MAX_TOML_BYTES + 1)
    except (OSError, ValueError) as error:
        raise open_error(error, source) from None
    if len(content) > MAX_TOML_BYTES:
        raise InputError("the file is over 1 MiB", fix="specify an experiment file, not a dataset", source=source)
    return content.removeprefix(_BOM)


def _decode(content: bytes, source: str) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        what = f"byte 0x{content[error.start]:02x} is not UTF-8"
        raise InputError(what, fix="save the file as UTF-8", source=source, line=line) from None


def _syntax_error(message: str, text: str, source: str) -> InputError:
    place = _ERROR_PLACE.search(message)
    reason = message[: place.start()] if place else message
    line = int(place[1]) if place and place[1] else text.rstrip().count("\n") + 1
    if reason.startswith(_DUPLICATE_MESSAGES):
        return InputError("a key or table occurs twice", fix="merge them, or remove one", source=source, line=line)
    fix = 'write it like key = "text", key = 1.5 or [systems.name]'
    return InputError(f"not TOML ({reason})", fix=fix, source=source, line=line)


_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_NON_ASCII = re.compile("[^\x20-\x7e]")


def toml_key(name: str) -> str:
    """The name as a key, in quotes where it needs them."""
    return name if _BARE_KEY.fullmatch(name) else toml_value(name)


def toml_value(value: Any) -> str:
    """A text, number, boolean, list or table, on one line."""
    if isinstance(value, str):
        return _NON_ASCII.sub(_escape, json.dumps(value, ensure_ascii=False))
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{toml_key(key)} = {toml_value(item)}" for key, item in value.items()) + "}"
    return "[" + ", ".join(map(toml_value, value)) + "]"


def _escape(match: re.Match[str]) -> str:
    char = match[0]
    return f"\\U{ord(char):08x}" if is_hidden(char) else char
