"""What the systems of a comparison cost, as tables: tokens and size, time."""

from __future__ import annotations

import numpy as np

from ...analysis.table import Column, Item, Table
from .comparison import Comparison
from .counts import Lengths
from .entry import Entry

_MEGA = 1_000_000


def tokens(comparison: Comparison) -> Table:
    """What each tokenizer makes of documents and queries."""
    columns = (
        Column("system"),
        Column("tokens/doc", "number", "the mean"),
        Column("read/doc", "number", "places that the deep layers see, the mean"),
        Column("/query", "number", "tokens, the mean"),
        Column("unknown", "share", "tokens of the queries that the vocabulary or the index lacks"),
        Column("vocab", "count"),
        Column("params M", "number", "millions of parameters"),
    )
    rows = tuple(_token_row(entry) for entry in comparison.under(comparison.first))
    return Table("tokens", "Tokens", columns, rows)


def _token_row(entry: Entry) -> tuple[Item, ...]:
    counts = entry.counts
    size = None if counts.parameters is None else counts.parameters / _MEGA
    read, query = _mean(counts.document_read), _mean(counts.query_tokens)
    document = counts.document_tokens
    return entry.system, _mean(document), read, query, counts.unknown, counts.vocabulary, size


def _mean(lengths: Lengths | None) -> float | None:
    return None if lengths is None else lengths.mean


def time(comparison: Comparison) -> Table:
    """Where the time of a query goes, and how large the index is."""
    columns = (
        Column("system"),
        Column("embed", "number", "ms a query, p50"),
        Column("search", "number", "ms a query, p50"),
        Column("total", "number", "ms a query, p50"),
        Column("slow", "count", "queries over 100 ms"),
        Column("ms/doc", "number", "to encode a document"),
        Column("MB", "number", "of the index"),
        Column("per ms", "number", f"{comparison.main} over the median total time of a query"),
    )
    rows = tuple(_time_row(entry, comparison.main) for entry in comparison.under(comparison.first))
    return Table("time", "Time in ms a query (p50) and size", columns, rows)


def _time_row(entry: Entry, main: str) -> tuple[Item, ...]:
    middles = [float(np.median(entry.ms(part))) for part in ("embed", "search", "total")]
    slow, size = int(entry.slow.sum()), entry.index_bytes / _MEGA
    return entry.system, *middles, slow, entry.encode_ms, size, entry.per_ms(main)
