"""Contexts in the cells of RAG logs: texts, objects with texts, ids and scores, and lists joined in one text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from rankproof._importers.cells import TableCell, list_in_text
from rankproof._importers.rag_merge import Context

_TEXT_KEYS = ("text", "context", "content", "page_content")
_ID_KEYS = ("doc_id", "id", "_id", "source")
_SCORE_KEYS = ("expected_score", "expect_score")
"""How relevant a chunk is, in the ground truth of TruLens."""
_BAR = "|"
_MARKED = re.compile(r"deepeval_source=(?P<source>.*?),deepeval_context=(?P<context>.*)", re.DOTALL)
"""A context with its source in a dataset that DeepEval saves."""
_PRINTED_DOCUMENT = re.compile(r"(?:^\[|\), )Document\(id=([^,\s)]+)")
"""A document of Haystack as Python prints it, with at most 100 characters of its text."""


def items_in(value: Any) -> Sequence[Any]:
    """The items of a list, also of one in JSON text; none of any other value."""
    plain = list_in_text(value) if isinstance(value, str) else value
    return list(plain) if isinstance(plain, list | tuple | np.ndarray) else []


def contexts_of_objects(cell: TableCell) -> tuple[Context, ...] | None:
    """The contexts of a list that has objects; None for any other value."""
    items = items_in(cell.value)
    if not any(isinstance(item, dict) for item in items):
        return None
    return tuple(_context_of(item, at, cell) for at, item in enumerate(items))


def printed_contexts(cell: TableCell) -> tuple[Context, ...] | None:
    """The documents of Haystack in a cell of a CSV file by their ids, as their texts are cut off; None for any other value."""
    text = cell.value.strip() if isinstance(cell.value, str) else ""
    if not text.startswith("[Document(id="):
        return None
    ids = TableCell(_PRINTED_DOCUMENT.findall(text), cell.column, cell.source, cell.line).ids()
    return tuple(Context(id=id) for id in ids or ())


def split_at_bars(cell: TableCell) -> TableCell:
    """The cell of a dataset that DeepEval saved, whose contexts are joined with bars, as a list."""
    if not isinstance(cell.value, str) or cell.is_missing or isinstance(list_in_text(cell.value), list):
        return cell
    return TableCell(cell.value.split(_BAR), cell.column, cell.source, cell.line)


def context_of_text(text: str, cell: TableCell) -> Context:
    """The context of a text, whose source is its id if DeepEval wrote one."""
    match = _MARKED.fullmatch(text)
    if match is None:
        return Context(text.strip())
    ids = TableCell([match["source"].strip()], cell.column, cell.source, cell.line).ids() if match["source"].strip() else None
    return Context(match["context"].strip(), ids[0] if ids else None)


def _context_of(item: Any, at: int, cell: TableCell) -> Context:
    """The context of an item, which is an object with a text and maybe an id and a score, or a text."""
    place = TableCell(item, f"{cell.column}[{at}]", cell.source, cell.line)
    if not isinstance(item, dict):
        return context_of_text(place.text() or "", place)
    text, key = (next((item[name] for name in names if item.get(name) is not None), None) for names in (_TEXT_KEYS, _ID_KEYS))
    if text is None and key is None:
        raise place.error("has no text", 'write {"doc_id": "d1", "text": "…"}, or the text alone')
    ids = TableCell([key], place.column, cell.source, cell.line).ids() if key not in (None, "") else None
    plain = TableCell(text, place.column, cell.source, cell.line).text() if text is not None else None
    return Context(
        None if plain is None and text is None else (plain or "").strip(), ids[0] if ids else None, _score(item, place)
    )


def _score(item: dict[str, Any], place: TableCell) -> float | None:
    """How relevant the context is; None where the object does not say."""
    value = next((item[name] for name in _SCORE_KEYS if item.get(name) is not None), None)
    if value is None:
        return None
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, bool) or not isinstance(plain, int | float) or not 0 <= plain <= _HIGHEST_SCORE:
        raise place.error(f"has a score that is no number from 0 to {_HIGHEST_SCORE}", "write a number from 0 to 1")
    return float(plain)


_HIGHEST_SCORE = 1000
