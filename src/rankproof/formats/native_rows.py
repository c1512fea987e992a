"""TREC text read by the native reader: the same values as the plain reader's, without an object for each row.

Where the native reader refuses a file the answer is None: the plain reader then says what is wrong, and where.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final

import numpy as np

from .. import engine_choice
from ..data.packed_ids import PackedIds
from ..data.qrels import Qrels
from ..data.run import NO_RANK, Run, known
from ..data.source import Source
from ..errors import InputError

BLOCK_BYTES: Final = 1 << 18
WIDEST_SCAN: Final = 3
Table = tuple[tuple[str, ...], bytes, bytes, bytes, bytes, bytes, bytes, tuple[str, ...], bool]


def native_run(
    source: Source, name: str, *, ranked: bool = False, block: int = BLOCK_BYTES, level: int = WIDEST_SCAN
) -> Run | None:
    """The run in the text; `ranked` says that every row must have a rank. `block` and `level` change how it is read alone."""
    table = _table(source, block, level, run=True)
    if table is None:
        return None
    queries, offsets, text, bounds, scores, ranks, lines, tags, _ = table
    found = np.frombuffer(ranks, dtype=np.int64)
    if ranked and NO_RANK in found:
        return None
    return Run(
        name=name,
        queries=queries,
        offsets=np.frombuffer(offsets, dtype=np.int64),
        docs=PackedIds(text, np.frombuffer(bounds, dtype=np.int64)),
        scores=np.frombuffer(scores, dtype=np.float64),
        ranks=known(found),
        lines=np.frombuffer(lines, dtype=np.int64),
        tags=tags,
        source=source.name,
    )


def native_qrels(source: Source, *, block: int = BLOCK_BYTES, level: int = WIDEST_SCAN) -> Qrels | None:
    """The judgements in the text; None also where a document stands twice or a machine's mark is to be kept."""
    table = _table(source, block, level, run=False)
    if table is None or table[-1]:
        return None
    queries, offsets, text, bounds, grades, *_ = table
    docs, values = PackedIds(text, np.frombuffer(bounds, dtype=np.int64)), np.frombuffer(grades, dtype=np.int64).tolist()
    spans = list(pairwise(np.frombuffer(offsets, dtype=np.int64).tolist()))
    found = {query: dict(zip(docs[a:b], values[a:b], strict=True)) for query, (a, b) in zip(queries, spans, strict=True)}
    if sum(map(len, found.values())) < len(values):
        return None
    return Qrels.of_checked(found, source=source.name)


def _table(source: Source, block: int, level: int, *, run: bool) -> Table | None:
    if engine_choice.chosen_name() != "native":
        return None
    native = engine_choice.loaded(engine_choice.READER)
    stream = source.open()
    try:
        table: Table = native.read_table(stream.readinto, run, block, level)
    except (native.Refused, InputError):
        return None
    finally:
        stream.close()
    return table
