"""A TOML file as it was read: what it holds, where each key stands, and errors that name the line."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...errors import InputError, nearest, shown
from ...formats.streams import unopenable
from .lines import KeyPath, key_lines

MOST_BYTES = 1 << 20
_BOM = b"\xef\xbb\xbf"
_PLACE = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")
_REPEATS = ("Cannot overwrite a value", "Cannot declare", "Cannot mutate")


@dataclass(frozen=True, slots=True)
class Page:
    """The values of a file by key, and the line of each."""

    source: str
    values: Mapping[str, Any]
    lines: Mapping[KeyPath, int] = field(default_factory=dict)

    @property
    def folder(self) -> str:
        """Where relative paths in the file begin."""
        return os.path.dirname(os.path.abspath(self.source))

    def inside(self, path: KeyPath) -> Any:
        """What stands at that path."""
        found: Any = self.values
        for key in path:
            found = found[key]
        return found

    def error(self, path: KeyPath, what: str, fix: str) -> InputError:
        """An error at the line of that path, or of the nearest table around it that has one."""
        while path and path not in self.lines:
            path = path[:-1]
        return InputError(what, fix=fix, source=self.source, line=self.lines.get(path))

    def unknown(self, path: KeyPath, what: str, name: str, known: Iterable[str]) -> InputError:
        """An error for a name that nobody knows, with the nearest one that somebody does."""
        choices = list(known)
        near = nearest(name, choices)
        fix = f"did you mean {shown(near)}?" if near else f"choose from {', '.join(map(shown, choices))}"
        return self.error(path, f"{what} {shown(name)}", fix)


def read_page(path: str | os.PathLike[str]) -> Page:
    """The file at the path, refused where it is no TOML in UTF-8."""
    source = os.fspath(path)
    text = _text(_content(source), source).replace("\r\n", "\n")
    try:
        return Page(source, tomllib.loads(text), key_lines(text))
    except tomllib.TOMLDecodeError as error:
        raise _broken(str(error), text, source) from None
    except RecursionError:
        raise InputError("nested too deep", fix="an experiment has tables in one table, no deeper", source=source) from None
    except ValueError as error:
        raise InputError(f"a value cannot be read ({error})", fix="write smaller numbers", source=source) from None


def _content(source: str) -> bytes:
    try:
        with open(source, "rb") as file:
            content = file.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        raise unopenable(error, source) from None
    if len(content) > MOST_BYTES:
        raise InputError("the file is over 1 MiB", fix="name an experiment file; documents stand in a folder", source=source)
    return content.removeprefix(_BOM)


def _text(content: bytes, source: str) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        what = f"byte 0x{content[error.start]:02x} is not UTF-8"
        raise InputError(what, fix="save the file as UTF-8", source=source, line=line) from None


def _broken(message: str, text: str, source: str) -> InputError:
    place = _PLACE.search(message)
    reason = message[: place.start()] if place else message
    line = int(place[1]) if place and place[1] else text.rstrip().count("\n") + 1
    if reason.startswith(_REPEATS):
        return InputError("a key or table stands twice", fix="merge the two, or remove one", source=source, line=line)
    fix = 'write it like key = "text", key = 1.5 or [systems.name]'
    return InputError(f"not TOML ({reason})", fix=fix, source=source, line=line)
