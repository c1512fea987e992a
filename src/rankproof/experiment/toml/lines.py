"""Where each key of a TOML text stands: tomllib says what a file holds, this says on which line."""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right

KeyPath = tuple[str | int, ...]

_SPACE = re.compile(r"[ \t]*")
_BETWEEN = re.compile(r"(?:[ \t\n]|#[^\n]*)*")
_KEY = re.compile(r"""[A-Za-z0-9_-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'""")
_TEXT = re.compile(r'''"""(?:[^\\]|\\.)*?"{3,5}(?!")|\'\'\'.*?'{3,5}(?!')|"(?:[^"\\\n]|\\.)*"|'[^'\n]*\'''', re.DOTALL)
_BARE = re.compile(r"[^,\]}\n#]*")


def key_lines(text: str) -> dict[KeyPath, int]:
    """The line of every key and of every item of an array, by its path; the text must be what tomllib accepts."""
    return _Scanner(text.replace("\r\n", "\n")).lines


class _Scanner:
    """Goes through a valid text once, and notes each path at its first place."""

    def __init__(self, text: str) -> None:
        self.lines: dict[KeyPath, int] = {}
        self._text, self._at = text, 0
        self._ends = [found.start() for found in re.finditer("\n", text)]
        self._tables: dict[KeyPath, int] = {}
        self._statements()

    def _statements(self) -> None:
        table: KeyPath = ()
        self._skip(_BETWEEN)
        while self._at < len(self._text):
            if self._takes("[["):
                table = self._header(repeated=True)
                self._at += len("]]")
            elif self._takes("["):
                table = self._header(repeated=False)
                self._at += len("]")
            else:
                self._pair(table)
            self._skip(_BETWEEN)

    def _header(self, *, repeated: bool) -> KeyPath:
        """The path of a table; in one of several of the same name the number of that table is part of it."""
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
        """The parts of a dotted key, each with its place."""
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
            self._skip(_TEXT)
        else:
            self._skip(_BARE)

    def _items(self, path: KeyPath) -> None:
        count = 0
        self._skip(_BETWEEN)
        while not self._takes("]"):
            self._note((*path, count), self._at)
            self._value((*path, count))
            self._next()
            count += 1

    def _inline(self, path: KeyPath) -> None:
        self._skip(_BETWEEN)
        while not self._takes("}"):
            self._pair(path)
            self._next()

    def _next(self) -> None:
        self._skip(_BETWEEN)
        self._takes(",")
        self._skip(_BETWEEN)

    def _takes(self, mark: str) -> bool:
        found = self._text.startswith(mark, self._at)
        self._at += len(mark) if found else 0
        return found

    def _skip(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self._text, self._at)
        assert found is not None, "the text is not valid TOML"
        self._at = found.end()
        return found.group()

    def _note(self, path: KeyPath, at: int) -> None:
        self.lines.setdefault(path, bisect_right(self._ends, at - 1) + 1)
