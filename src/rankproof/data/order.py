"""What a ranking is ordered by, and what becomes of a document that stands twice in it."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from ..errors import InputError
from .arrays import FloatArray, IntArray
from .reading import Reading
from .refusals import refusal
from .run import Run, RunRow


def settled(run: Run, reading: Reading) -> tuple[dict[str, list[RunRow]], int]:
    """Each query's rows without duplicates, and how many rows that dropped; the duplicate on the first line is refused."""
    groups: dict[str, list[RunRow]] = {query: [] for query in run.queries}
    for row in run.rows():
        groups[row.query].append(row)
    faults = [fault for rows in groups.values() for fault in _duplicates(rows)]
    if faults and reading.on_duplicate == "error":
        first, second = min(faults, key=lambda pair: pair[1].line or 0)
        raise _duplicate(first, second, run.source)
    kept = {query: _without_duplicates(rows, reading) for query, rows in groups.items()}
    return kept, len(faults)


def _duplicates(rows: Iterable[RunRow]) -> Iterator[tuple[RunRow, RunRow]]:
    first: dict[str, RunRow] = {}
    for row in rows:
        earlier = first.setdefault(row.doc, row)
        if earlier is not row:
            yield earlier, row


def _duplicate(first: RunRow, second: RunRow, source: str) -> InputError:
    where = f"line {first.line}" if first.line else "an earlier row"
    scores = {"first_score": first.score, "score": second.score}
    return refusal("duplicate", source=source, line=second.line, doc=second.doc, query=second.query, first=where, **scores)


def _without_duplicates(rows: list[RunRow], reading: Reading) -> list[RunRow]:
    kept: dict[str, RunRow] = {}
    for row in rows:
        earlier = kept.get(row.doc)
        better = earlier is not None and order_key(row, reading) > order_key(earlier, reading)
        if earlier is None or reading.on_duplicate == "keep-last" or (reading.on_duplicate == "keep-best" and better):
            kept[row.doc] = row
    return list(kept.values())


def best_first(docs: Sequence[str], keys: FloatArray) -> IntArray:
    """The places of a query's documents in their order: key descending, then id descending by its UTF-8 bytes."""
    if bool(np.all(keys[1:] < keys[:-1])):
        return np.arange(len(docs))
    if len(np.unique(keys)) == len(keys):
        return np.argsort(-keys)
    # Text compares by code point, which for UTF-8 is the order of the bytes.
    by_id = np.array(sorted(range(len(docs)), key=docs.__getitem__, reverse=True))
    return by_id[np.argsort(-keys[by_id], kind="stable")]


def order_key(row: RunRow, reading: Reading) -> float:
    """The number by which rows are ordered, highest first."""
    if reading.order == "rank":
        return -float(row.rank or 0)
    return strength(row, reading)


def strength(row: RunRow, reading: Reading) -> float:
    """The score, turned round where lower is better and rounded to float32 where asked: higher is better."""
    score = -row.score if reading.lower_is_better else row.score
    return _as_float32(score) if reading.float32 else score


def _as_float32(value: float) -> float:
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")
