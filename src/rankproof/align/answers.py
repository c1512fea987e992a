"""What the native reader is asked and what it answers, to and from our own types."""

from __future__ import annotations

import numpy as np

from ..data.reading import Reading
from . import _native
from .hits import Hits, Judged, Seen
from .reference import other_forms

_ON_DUPLICATE = {"error": 0, "keep-best": 1, "keep-first": 2, "keep-last": 3}


def options_of(reading: Reading) -> _native.Options:
    """The part of a reading that the engine minds."""
    return reading.order == "rank", reading.lower_is_better, reading.float32, _ON_DUPLICATE[reading.on_duplicate]


def judged_of(made: _native.Judgements, only: frozenset[str] | None, source: str) -> Judged:
    """The judgements, with other Unicode forms of their ids marked in the handle."""
    handle, queries, offsets, grades, repeats, highest, foreign, _ = made
    _native.add_forms(handle, [(index, other_forms(_native.documents(handle, index))) for index in foreign])
    _native.mark_queries(handle, other_forms(queries), _native.IS_FORM)
    _native.mark_queries(handle, () if only is None else only, _native.IS_LOOKED_AT)
    return Judged(
        queries=queries,
        offsets=np.frombuffer(offsets, dtype=np.int64),
        grades=np.frombuffer(grades, dtype=np.int64),
        repeats=repeats,
        highest=highest,
        source=source,
        handle=handle,
    )


def hits_of(judged: Judged, found: _native.Aligned) -> Hits:
    """The hits of one run or of a slice of it."""
    (present, retrieved, offsets, ranks, grades), counts, strangers, tags, _ = found
    rows, tied, contradictions, backwards, forwards, unicode_forms, dropped, unjudged = counts
    return Hits(
        judged=judged,
        present=np.frombuffer(present, dtype=np.bool_),
        retrieved=np.frombuffer(retrieved, dtype=np.int64),
        offsets=np.frombuffer(offsets, dtype=np.int64),
        ranks=np.frombuffer(ranks, dtype=np.int64),
        grades=np.frombuffer(grades, dtype=np.int64),
        seen=Seen(
            rows=rows,
            tied=tied,
            contradictions=contradictions,
            backwards=backwards,
            forwards=forwards,
            unicode_forms=unicode_forms,
            dropped=dropped,
            unjudged=unjudged,
            unjudged_queries=strangers,
            tags=tags,
        ),
    )
