"""The documents of the page as one list: their ids, and as much of their text as the page has room for."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Iterable, Mapping

LENGTHS = (300, 240, 180, 120, 80, 50, 25, 0)
ROOM = 14_000_000


class Documents:
    """Documents in the order in which they are first asked for."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}

    def place(self, doc: str) -> int:
        """Where the document stands in the list."""
        return self._places.setdefault(doc, len(self._places))

    def places(self, docs: Iterable[str]) -> list[int]:
        """The same for many."""
        return [self.place(doc) for doc in docs]

    def columns(self, snippets: Mapping[str, str]) -> dict[str, list[str]]:
        """Ids, and beginnings of texts, all cut at the same length, the longest that leaves the page small enough."""
        texts = [snippets.get(doc, "") for doc in self._places]
        place = bisect_left(LENGTHS, -ROOM, key=lambda length: -_room(texts, length))
        length = LENGTHS[min(place, len(LENGTHS) - 1)]
        return {"ids": list(self._places), "texts": [cut(text, length) for text in texts]}


def cut(text: str, length: int) -> str:
    """The beginning of a text; a cut is marked."""
    return text if len(text) <= length + 1 else f"{text[:length]}…"


def _room(texts: Iterable[str], length: int) -> int:
    return len(json.dumps([cut(text, length) for text in texts]))
