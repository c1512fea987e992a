"""Replies read strictly: what is not exactly what was asked for raises UnreadableError, and is asked for again."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from typing import Any

from .asker import UnreadableError
from .spoken import spoken

_PROSE_BRACES = re.compile(r"\{\s*[^{}\"\s][^{}\"]*\}")
_LONGEST_CHOICE = 80
_MARKS = r"[\s\"'`*.:()\[\]]*"
_GOES_ON = re.compile(r"\s*>")
_MENTION = re.compile(r"\[([0-9]{1,9})\]")
_ORDERS = (
    re.compile(r"\[[0-9]{1,9}\](?:\s*>\s*\[[0-9]{1,9}\])+"),
    re.compile(r"(?<![\[0-9.])[0-9]{1,9}(?:\s*>\s*[0-9]{1,9})+(?![\]0-9]|\.[0-9])"),
    re.compile(r"\[\s*[0-9]{1,9}(?:\s*,\s*[0-9]{1,9})*\s*\]"),
)


def json_in(text: str) -> dict[str, Any]:
    """The one JSON object that the text holds, in a code fence or in prose; two different ones are of no use."""
    said = spoken(text)
    found: dict[str, dict[str, Any]] = {}
    at = said.find("{")
    while at >= 0:
        prose = _PROSE_BRACES.match(said, at)
        if prose:
            end = prose.end()
        else:
            written, value, end = _object_at(said, at)
            found[written] = value
        at = said.find("{", end)
    if len(found) != 1:
        raise UnreadableError(f"{len(found)} different JSON objects where one was asked for" if found else "no JSON object")
    return next(iter(found.values()))


def whole_in(value: object, low: int, high: int) -> int:
    """A whole number from low to high."""
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise UnreadableError(f"not a whole number from {low} to {high}")
    return value


def order_in(text: str, count: int) -> list[int]:
    """The numbers 1 to count, each once, in the order that the text gives: [2] > [1] > [3], 2 > 1 > 3 or the JSON list [2, 1, 3].

    Prose may stand around it; two different orders, and a number in brackets that was never given, are of no use.
    """
    said = spoken(text)
    if any(not 1 <= int(number) <= count for number in _MENTION.findall(said)):
        raise UnreadableError(f"a number that is not from 1 to {count}")
    found = {order for pattern in _ORDERS for order in _orders(pattern, said, count)}
    if len(found) != 1:
        raise UnreadableError(f"{len(found)} different orders where one was asked for" if found else "no order")
    order = list(found.pop())
    if sorted(order) != list(range(1, count + 1)):
        raise UnreadableError(f"not each of the numbers 1 to {count} once")
    return order


def one_of(text: str, choices: Sequence[str], *, before: str) -> str:
    """The choice that the text consists of, apart from marks around it and the one word that may stand before it."""
    whole = spoken(text)
    pattern = rf"{_MARKS}(?:{re.escape(before)}\s+)?{_MARKS}(\w+){_MARKS}"
    said = re.fullmatch(pattern, whole, re.IGNORECASE) if len(whole) <= _LONGEST_CHOICE else None
    known = {choice.casefold(): choice for choice in choices}
    if not said or said.group(1).casefold() not in known:
        raise UnreadableError(f"not one of {', '.join(choices)}")
    return known[said.group(1).casefold()]


def _object_at(text: str, at: int) -> tuple[str, dict[str, Any], int]:
    """The object that begins there, how it is written in one way, and where it ends."""
    decoder = json.JSONDecoder(object_pairs_hook=_once, parse_constant=_finite, parse_float=_finite)
    try:
        value, end = decoder.raw_decode(text, at)
        return json.dumps(value, sort_keys=True), value, end
    except UnreadableError:
        raise
    except (ValueError, RecursionError):
        raise UnreadableError("JSON that is broken or cut") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise UnreadableError("JSON with a key twice")
    return found


def _finite(token: str) -> float:
    value = float(token)
    if not math.isfinite(value):
        raise UnreadableError("JSON with a number that is not finite")
    return value


def _orders(pattern: re.Pattern[str], text: str, count: int) -> list[tuple[int, ...]]:
    """Every order that the pattern finds; one number alone is only the mention of a passage where there are several."""
    found = []
    for match in pattern.finditer(text):
        numbers = tuple(map(int, re.findall("[0-9]+", match.group())))
        if len(numbers) > 1 or count == 1:
            if _GOES_ON.match(text, match.end()):
                raise UnreadableError("an order that is cut")
            found.append(numbers)
    return found
