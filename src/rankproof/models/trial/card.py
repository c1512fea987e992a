"""What a checkpoint's card may say: every part can be missing, and none can be of another type."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

_TRUTHS = ("trained",)
_COUNTS = ("steps", "seed", "examples")
_NUMBERS = ("operations", "tokens_per_document", "seconds")
_OBJECTS = ("recipe", "data")
_LISTS_OF_TEXT = ("queries", "texts")


def wrong_part(card: Mapping[str, Any]) -> str | None:
    """The name of the first part that is not what it should be, None where all are."""
    for names, is_right in ((_TRUTHS, _truth), (_COUNTS, _count), (_NUMBERS, _number), (_OBJECTS, _object)):
        for name in names:
            if name in card and not is_right(card[name]):
                return name
    if not all(_loss(pair) for pair in _list(card, "losses")):
        return "losses"
    data = card.get("data", {})
    return next((f"data.{name}" for name in _LISTS_OF_TEXT if not all(isinstance(one, str) for one in _list(data, name))), None)


def _list(parts: Mapping[str, Any], name: str) -> list[Any]:
    """The list of that name, empty where there is none; something else is a list that holds no right part."""
    found = parts.get(name, [])
    return found if isinstance(found, list) else [None]


def _loss(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and _count(value[0]) and _number(value[1])


def _truth(value: Any) -> bool:
    return isinstance(value, bool)


def _count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _object(value: Any) -> bool:
    return isinstance(value, dict)
