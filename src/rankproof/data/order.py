"""What a ranking is ordered by, and what becomes of a document that stands twice in it."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

import numpy as np

from ..errors import InputError
from .arrays import FloatArray, IntArray
from .reading import Reading
from .refusals import refusal
from .run import NO_RANK, Run, RunRow

Columns = tuple[Sequence[str], FloatArray, FloatArray]
"""Documents in the order in which they came, their scores, and the keys that order them, highest first."""


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


def settled_columns(run: Run, reading: Reading) -> dict[str, Columns]:
    """Each query's documents without duplicates; the same as `settled`, without an object for each row."""
    spans = dict(zip(run.queries, pairwise(run.offsets.tolist()), strict=True))
    parts = {query: run.docs[start:end] for query, (start, end) in spans.items()}
    if len(spans) == len(run.queries) and all(len(set(docs)) == len(docs) for docs in parts.values()):
        keys = _keys(run, reading)
        return {query: (parts[query], run.scores[start:end], keys[start:end]) for query, (start, end) in spans.items()}
    return {query: _columns(rows, reading) for query, rows in settled(run, reading)[0].items()}


def _keys(run: Run, reading: Reading) -> FloatArray:
    """`order_key` of every row."""
    if reading.order == "rank":
        ranks = np.zeros(len(run.docs), np.int64) if run.ranks is None else run.ranks
        return -np.where(ranks == NO_RANK, 0, ranks).astype(np.float64)
    scores = -run.scores if reading.lower_is_better else run.scores
    with np.errstate(over="ignore"):
        return scores.astype(np.float32).astype(np.float64) if reading.float32 else scores


def _columns(rows: Sequence[RunRow], reading: Reading) -> Columns:
    scores = np.array([row.score for row in rows], dtype=np.float64)
    return [row.doc for row in rows], scores, np.array([order_key(row, reading) for row in rows], dtype=np.float64)


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
