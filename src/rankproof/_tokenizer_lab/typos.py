"""Queries with random typos, the same for every system, seeded by the id of the query.

An edit inserts, deletes or replaces a character, or swaps two neighbours; spaces stay. New letters are a to z for Latin script,
else letters of the query and their neighbours in Unicode; a digit is replaced by a digit. Edits are cumulative and never restore
an earlier text: a query with two edits is the query with one edit, edited once more. A query never becomes blank.
"""

from __future__ import annotations

import random
import unicodedata
from collections import Counter
from collections.abc import Callable
from string import ascii_lowercase, digits

from rankproof._data.dataset import Queries, Query
from rankproof._data.validation import checked_integer

MAX_EDITS = 20
_NEIGHBOUR_RANGE = 8
_MAX_ATTEMPTS = 100
Edit = Callable[[str, random.Random, str], str]


def with_typos(queries: Queries, edits: int, seed: int = 0) -> Queries:
    """The queries with `edits` typos each; ids and fields stay."""
    checked_integer("edits", edits, least=0, most=MAX_EDITS)
    if not edits:
        return queries
    changed = (
        Query(one.id, apply_typos(one.text, edits, f"{seed}\n{one.id}"), one.title, one.fields) for one in queries.values()
    )
    return Queries(changed, source=queries.source)


def apply_typos(text: str, edits: int, key: str) -> str:
    """The text after `edits` random edits, seeded by `key`; a blank text stays."""
    if not text.strip():
        return text
    draw, letters = random.Random(key), typo_letters(text)
    seen = [text]
    for _ in range(edits):
        seen.append(_edit_once(seen, draw, letters))
    return seen[-1]


def typo_letters(text: str) -> str:
    """The letters that a typo may add to the text."""
    own = sorted({char for char in text.lower() if _is_letter(char)} or {char for char in text if not char.isspace()})
    scripts = Counter(_script(char) for char in text.lower() if _is_letter(char))
    if scripts and scripts.most_common(1)[0][0] == "LATIN":
        return ascii_lowercase
    return "".join(dict.fromkeys(near for char in own for near in (char, *_neighbours(char))))


def _edit_once(seen: list[str], draw: random.Random, letters: str) -> str:
    """The last text after one edit, different from all earlier texts."""
    for _ in range(_MAX_ATTEMPTS):
        found = draw.choice(_EDITS)(seen[-1], draw, letters)
        if found.strip() and found not in seen:
            return found
    return seen[-1] + draw.choice(letters)


def _insert(text: str, draw: random.Random, letters: str) -> str:
    at = draw.randrange(len(text) + 1)
    return text[:at] + draw.choice(letters) + text[at:]


def _delete(text: str, draw: random.Random, letters: str) -> str:
    at = draw.choice(_letter_positions(text))
    return text[:at] + text[at + 1 :]


def _replace(text: str, draw: random.Random, letters: str) -> str:
    at = draw.choice(_letter_positions(text))
    new = draw.choice(digits if text[at] in digits else letters)
    upper = new.upper()
    return text[:at] + (upper if text[at].isupper() and len(upper) == 1 else new) + text[at + 1 :]


def _swap(text: str, draw: random.Random, letters: str) -> str:
    pairs = [
        at for at in _letter_positions(text) if at + 1 < len(text) and not text[at + 1].isspace() and text[at] != text[at + 1]
    ]
    if not pairs:
        return text
    at = draw.choice(pairs)
    return text[:at] + text[at + 1] + text[at] + text[at + 2 :]


_EDITS: tuple[Edit, ...] = (_insert, _delete, _replace, _swap)


def _letter_positions(text: str) -> list[int]:
    return [at for at, char in enumerate(text) if not char.isspace()]


def _neighbours(char: str) -> list[str]:
    """The neighbours in Unicode with the same script and category."""
    code, kind = ord(char), unicodedata.category(char)
    near = (
        chr(at)
        for at in range(max(code - _NEIGHBOUR_RANGE, 0), min(code + _NEIGHBOUR_RANGE, 0x10FFFF) + 1)
        if not 0xD800 <= at < 0xE000
    )
    return [one for one in near if unicodedata.category(one) == kind and _script(one) == _script(char)]


def _is_letter(char: str) -> bool:
    return unicodedata.category(char)[0] in "LM"


def _script(char: str) -> str:
    """The first word of the Unicode name, which is the script for letters."""
    return unicodedata.name(char, "").split(" ")[0] if char.isalpha() or _is_letter(char) else ""
