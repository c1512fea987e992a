"""What the systems of a comparison cost, as tables: tokens and size, time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from ...analysis.table import Column, Item, Table
from .comparison import Comparison
from .counts import Lengths
from .entry import SLOW_MS, Entry

_MEGA = 1_000_000
Cells = Sequence[tuple[Column, Callable[[Entry], Item]]]
_TOKENS: Cells = (
    (Column("system"), lambda entry: entry.system),
    (
        Column("tok/doc", "number", "tokens of a whole document, the mean; of BM25 its terms, as n-grams"),
        lambda entry: _mean(entry.counts.document_tokens),
    ),
    (
        Column("read/doc", "number", "places that a net's deep layers see: cut where it cuts, joined where it joins; the mean"),
        lambda entry: _mean(entry.counts.document_read),
    ),
    (Column("tok/query", "number", "tokens of a query, the mean"), lambda entry: _mean(entry.counts.query_tokens)),
    (
        Column("unknown", "share", "tokens of the queries that the vocabulary or the index lacks"),
        lambda entry: entry.counts.unknown,
    ),
    (Column("vocab", "count", "different tokens"), lambda entry: entry.counts.vocabulary),
    (
        Column("params M", "number", "millions of parameters"),
        lambda entry: None if entry.counts.parameters is None else entry.counts.parameters / _MEGA,
    ),
)
_TIME: Cells = (
    (Column("system"), lambda entry: entry.system),
    (Column("embed", "number", "ms a query, p50"), lambda entry: _median(entry, "embed")),
    (Column("search", "number", "ms a query, p50"), lambda entry: _median(entry, "search")),
    (Column("total", "number", "ms a query, p50"), lambda entry: _median(entry, "total")),
    (Column("slow", "count", f"queries over {SLOW_MS:.0f} ms, the mean over the repeats"), lambda entry: int(entry.slow.sum())),
    (Column("ms/doc", "number", "to encode a document"), lambda entry: entry.encode_ms),
    (Column("MB", "number", "of the index"), lambda entry: entry.index_bytes / _MEGA),
)
_NAMESAKES = {"bytes-4", "BM25 bytes-4"}
_TWO_MEANINGS = "BM25 bytes-4 counts runs of 4 bytes that overlap; the net bytes-4 reads bytes and joins each 4 into one place"


def tokens(comparison: Comparison) -> Table:
    """What each tokenizer makes of documents and queries."""
    found = _table("tokens", "Tokens", comparison, _TOKENS)
    return replace(found, sentences=(_TWO_MEANINGS,)) if set(comparison.systems) >= _NAMESAKES else found


def time(comparison: Comparison) -> Table:
    """Where the time of a query goes, and how large the index is."""
    main = comparison.main
    per_ms = Column("per ms", "number", f"{main} over the median total time of a query")
    cells: Cells = (*_TIME, (per_ms, lambda entry: entry.per_ms(main)))
    return _table("time", "Time in ms a query (p50) and size", comparison, cells)


def _table(name: str, title: str, comparison: Comparison, cells: Cells) -> Table:
    rows = tuple(tuple(cell(entry) for _, cell in cells) for entry in comparison.under(comparison.first))
    return Table(name, title, tuple(column for column, _ in cells), rows)


def _mean(lengths: Lengths | None) -> float | None:
    return None if lengths is None else lengths.mean


def _median(entry: Entry, part: str) -> float:
    return float(np.median(entry.ms(part)))
