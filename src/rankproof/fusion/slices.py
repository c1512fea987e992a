"""Each query's ranking within a run, without copying what is in order already."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..data.arrays import FloatArray
from ..data.ranking import ranked
from ..data.reading import Reading
from ..data.refusals import refusal
from ..data.run import NO_RANK, Run
from .merge import Given

NOTHING: Given = ((), 0, np.zeros(0))


def slices(run: Run, reading: Reading) -> dict[str, Given]:
    """Each query's documents as the reading orders them, where they start, and their scores, higher being better."""
    keys = _keys(run, reading)
    docs, ends = tuple(run.docs), run.offsets.tolist()
    found: dict[str, Given] = {}
    for query, start, end in zip(run.queries, ends, ends[1:], strict=False):
        if end - start < 2 or bool(np.all(keys[start + 1 : end] < keys[start : end - 1])):
            found[query] = docs, start, keys[start:end]
        else:
            found[query] = _sorted(docs[start:end], keys[start:end])
    return found


def _sorted(docs: Sequence[str], keys: FloatArray) -> Given:
    found, scores = ranked(list(docs), keys)
    return found, 0, scores


def _keys(run: Run, reading: Reading) -> FloatArray:
    if reading.order == "score":
        return -run.scores if reading.lower_is_better else run.scores
    if run.docs and (run.ranks is None or NO_RANK in run.ranks):
        raise refusal("rank-missing", source=run.source)
    return np.zeros(0) if run.ranks is None else -run.ranks.astype(np.float64)
