"""The text of a measure taken apart: lists into pieces, a piece into name, parameters and cutoff, parameters into values."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ..errors import UsageError, shown

_LONGEST = 500
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
_WHOLE = re.compile(r"[+-]?[0-9]+")
_MORE = re.compile(r"[+-]?[0-9.][0-9.eE+-]*|[0-9]+=[^=]+")
_PIECE = re.compile(r"(?P<name>[^()@]+?)(?:\((?P<inside>.*)\))?(?:@(?P<at>[^()@]*?))?(?:-l(?P<level>[0-9]+))?")
_SUFFIXED = re.compile(r"(?P<name>.+?)[._](?P<suffix>[0-9.][0-9.eE+-]*|[0-9]+=[^=]+)")
_WORD = re.compile(r"(['\"]?)([A-Za-z][A-Za-z0-9-]*)\1")
_QUOTED = re.compile(r"(['\"])([^'\"()\[\]{}@,=\s]+)\1")
_OPEN, _CLOSE = "([{", ")]}"

Value = float | int | str | tuple[float, ...] | dict[float, float]


@dataclass(frozen=True, slots=True)
class Piece:
    """One measure as it was written; `more` are the numbers that follow it, as in P@5,10."""

    text: str
    name: str
    inside: str | None
    at: str | None
    level: str | None
    more: tuple[str, ...]

    def suffixed(self) -> tuple[str, str] | None:
        """Name and suffix of a spelling like ndcg_cut_10 or P.5, None for any other."""
        match = _SUFFIXED.fullmatch(self.name)
        return None if match is None else (match["name"], match["suffix"])


def pieces(text: str) -> list[Piece]:
    """Every measure of a list; commas and blanks part them, and numbers belong to the one before."""
    groups: list[list[str]] = []
    for part in _parts(re.sub(r"\s*@\s*", "@", text.strip()), ", \t\r\n"):
        if groups and _MORE.fullmatch(part):
            groups[-1].append(part)
        else:
            groups.append([part])
    return [_piece(first, tuple(more)) for first, *more in groups]


def _piece(text: str, more: tuple[str, ...]) -> Piece:
    match = _PIECE.fullmatch(text) if len(text) <= _LONGEST else None
    if match is None:
        raise unreadable(text)
    return Piece(text, match["name"], match["inside"], match["at"], match["level"], more)


def _parts(text: str, separators: str) -> Iterator[str]:
    """The text between separators that stand outside brackets."""
    depth, start = 0, 0
    for at, char in enumerate(text):
        depth += (char in _OPEN) - (char in _CLOSE)
        if depth == 0 and char in separators:
            if text[start:at].strip():
                yield text[start:at].strip()
            start = at + 1
    if text[start:].strip():
        yield text[start:].strip()


def unreadable(text: str) -> UsageError:
    """The refusal of a text that is no measure."""
    return UsageError(f'cannot read "{shown(text)}" as a measure', fix="write it like nDCG@10 or nDCG(gain='exp')@10")


def parameters(inside: str) -> dict[str, Value]:
    """The parameters between the brackets, each written name=value."""
    found: dict[str, Value] = {}
    for part in _parts(inside, ","):
        name, equals, value = (side.strip() for side in part.partition("="))
        if not equals or not name.isidentifier() or name in found:
            raise UsageError(f'cannot read "{shown(part)}" as a parameter', fix="write each parameter once, like rel=2")
        found[name] = _value(value)
    return found


def _value(text: str) -> Value:
    inner = text[1:-1]
    if word := _WORD.fullmatch(text):
        return word[2]
    if quoted := _QUOTED.fullmatch(text):
        return quoted[2]
    if text.startswith("{") and text.endswith("}"):
        return pairs(list(_parts(inner, ",")))
    if (text[:1], text[-1:]) in {("(", ")"), ("[", "]")}:
        return tuple(number(part, "value") for part in _parts(inner, ","))
    return number(text, "value")


def pairs(parts: list[str]) -> dict[float, float]:
    """Gains by grade, each written 1:3 or 1=3."""
    split = [[side.strip() for side in re.split("[:=]", part, maxsplit=1)] for part in parts]
    if any(len(pair) != 2 for pair in split):
        raise UsageError(f'cannot read "{shown(",".join(parts))}" as gains', fix="write them like {1:3,2:9}")
    gains = {number(grade, "grade"): number(gain, "gain") for grade, gain in split}
    if len(gains) != len(split):
        raise UsageError(f'a grade stands twice in "{shown(",".join(parts))}"', fix="give each grade one gain")
    return gains


def number(text: str, what: str) -> float:
    """A decimal number, an integer where it is written as one."""
    if not _NUMBER.fullmatch(text) or len(text) > 100:
        raise UsageError(f'{what} "{shown(text)}" is not a number', fix="write it like 10")
    return int(text) if _WHOLE.fullmatch(text) else float(text)
