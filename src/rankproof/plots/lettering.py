"""Text in a picture: every character visible, no line longer than its room."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from ..errors import visible
from .canvas import MIDDLE, known_characters, width_of

NAME = 1.9
"""How wide the name of a system or segment may be, in inches."""
_LONGEST = 200


def plain(text: str) -> str:
    """The text with what nobody would see, and what the font has no letter for, written as escapes."""
    known = _known()
    shown = "".join(char if ord(char) in known else char.encode("unicode_escape").decode() for char in visible(text[:_LONGEST]))
    return shown if len(text) <= _LONGEST else f"{shown}…"


def fitted(text: str, *, size: float = MIDDLE, room: float = NAME, bold: bool = False, tail: float = 0.4) -> str:
    """The text, with … in its middle where it is wider than its room in inches: names often differ at their end alone."""
    whole = plain(text)
    if width_of(whole, size, bold=bold) <= room:
        return whole
    low, high = 0, len(whole) - 1
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if width_of(_cut(whole, middle, tail), size, bold=bold) <= room else (low, middle - 1)
    return _cut(whole, low, tail)


def fitted_names(names: Sequence[str], *, size: float = MIDDLE, room: float = NAME) -> list[str]:
    """Each name as it fits; those that would look alike get a number, by the order of the alphabet."""
    short = [fitted(name, size=size, room=room) for name in names]
    alike = {text: sorted({name for name, each in zip(names, short, strict=True) if each == text}) for text in set(short)}
    return [
        text if len(alike[text]) == 1 else _numbered(name, alike[text].index(name) + 1, size, room)
        for name, text in zip(names, short, strict=True)
    ]


def _numbered(name: str, number: int, size: float, room: float) -> str:
    mark = f" ({number})"
    return f"{fitted(name, size=size, room=room - width_of(mark, size))}{mark}"


def _cut(text: str, kept: int, tail: float) -> str:
    """So many characters of the text, that part of them from its end."""
    last = int(kept * tail)
    return f"{text[: kept - last].rstrip()}…{text[len(text) - last :].lstrip()}"


def wrapped(text: str, *, size: float, room: float, bold: bool = False, most: int = 4) -> list[str]:
    """The text in lines no wider than the room, the last of at most so many cut with …"""
    lines, words = [""], plain(text).split()
    for at, word in enumerate(words):
        longer = f"{lines[-1]} {word}".lstrip()
        if width_of(longer, size, bold=bold) <= room:
            lines[-1] = longer
        elif len(lines) == most:
            lines[-1] = fitted(" ".join([lines[-1], *words[at:]]), size=size, room=room, bold=bold, tail=0)
            break
        elif lines[-1]:
            lines.append(fitted(word, size=size, room=room, bold=bold))
        else:
            lines[-1] = fitted(word, size=size, room=room, bold=bold)
    return lines


@cache
def _known() -> frozenset[int]:
    return known_characters()
