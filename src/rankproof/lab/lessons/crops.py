"""Crops: pieces of a document's text as queries that the document answers, for want of enough judged ones."""

from __future__ import annotations

import re
from random import Random

from ...data.scripts import unspaced

WORDS = (4, 16)
"""How many words a crop has, fewest and most."""
CHARACTERS = (12, 60)
"""How many characters it has in a script that puts no blank between words."""
_WORD = re.compile(r"\S+")
_MUCH = 0.2


def is_unspaced(text: str) -> bool:
    """Whether much of the text is in a script that puts no blank between words."""
    return len(unspaced().findall(text)) > _MUCH * len(text)


def crops_of(text: str, count: int, name: str) -> list[str]:
    """At most so many different pieces, drawn by the name alone; none of a text that is too short for one."""
    random = Random(name)
    starts, ends, sizes = _places(text)
    if len(starts) < sizes[0]:
        return []
    found: dict[str, None] = {}
    for _ in range(count):
        size = random.randint(sizes[0], min(sizes[1], len(starts)))
        first = random.randint(0, len(starts) - size)
        found[text[starts[first] : ends[first + size - 1]].strip()] = None
    return [piece for piece in found if piece]


def _places(text: str) -> tuple[list[int], list[int], tuple[int, int]]:
    if is_unspaced(text):
        return list(range(len(text))), list(range(1, len(text) + 1)), CHARACTERS
    words = list(_WORD.finditer(text))
    return [word.start() for word in words], [word.end() for word in words], WORDS
