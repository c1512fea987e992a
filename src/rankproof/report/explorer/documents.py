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

    def columns(self, snippets: Mapping[str, str], titles: Mapping[str, int]) -> dict[str, list[str] | list[int]]:
        """Ids, beginnings of texts, all cut at the same length, the longest that leaves the page small enough, and titles.

        A title is told by how much of its text it is, in the units in which JavaScript counts.
        """
        texts = [snippets.get(doc, "") for doc in self._places]
        place = bisect_left(LENGTHS, -ROOM, key=lambda length: -_room(texts, length))
        length = LENGTHS[min(place, len(LENGTHS) - 1)]
        heads = [_units(snippets.get(doc, "")[: titles.get(doc, 0)]) for doc in self._places]
        return {"ids": list(self._places), "texts": [cut(text, length) for text in texts], "titles": heads}


def cut(text: str, length: int) -> str:
    """The beginning of a text; a cut is marked."""
    return text if len(text) <= length + 1 else f"{text[:length]}…"


def _units(text: str) -> int:
    """How long the text is in UTF-16."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _room(texts: Iterable[str], length: int) -> int:
    return len(json.dumps([cut(text, length) for text in texts]))
