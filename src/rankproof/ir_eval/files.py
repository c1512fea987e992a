"""Seed 001's files: lines of JSON, and judgements made of them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ..data.qrels import Qrels
from ..errors import UsageError
from ..formats.jsonl_format import objects
from ..formats.opening import open_source
from ..formats.records import judgements
from ..formats.rows import Options
from .ranked import listed


def load_jsonl(path: str | Path) -> list[Any]:
    """The value of every line, blank lines and comments apart; a faulty line is refused with its number."""
    if not isinstance(path, str | os.PathLike):
        raise UsageError(f"{type(path).__name__} is no path", fix="pass the path of a file as text")
    return [value for _, value in objects(open_source(path))]


def build_qrels(items: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, int]]:
    """Query to document to grade, of items like {"query_id": "q1", "doc_id": "d1", "rel": 3}; other usual field names do too."""
    numbered = ((None, item) for item in listed(items, "judgements"))
    qrels = Qrels(judgements(numbered, "qrels", Options()), source="qrels")
    return {query: dict(docs) for query, docs in qrels.items()}
