"""The lessons themselves: queries, the document that answers each, and documents that only look as if they did."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256

from ...data.arrays import IntArray

ABSENT = -1
"""Stands in `negatives` and `relevant` where a row has fewer than others."""


@dataclass(frozen=True, eq=False)
class Lessons:
    """Pair i teaches that documents[positives[i]] answers queries[i]; the first `real` pairs are judged ones, the others crops.

    `negatives[i]` are documents that BM25 finds for the query and that nobody judged relevant, best first; `relevant[i]` are all
    that must not count against it, the positive included. `ids` are the judged queries that were used, `name` is the dataset's.
    """

    name: str
    documents: tuple[str, ...]
    queries: tuple[str, ...]
    positives: IntArray
    negatives: IntArray
    relevant: IntArray
    real: int
    ids: tuple[str, ...]

    def __post_init__(self) -> None:
        for array in (self.positives, self.negatives, self.relevant):
            assert len(array) == len(self.queries), "every query has its row"
            array.flags.writeable = False

    @cached_property
    def digest(self) -> str:
        """A sha256 of everything in it."""
        texts = json.dumps([self.name, self.documents, self.queries, self.real, self.ids])
        made = sha256(texts.encode())
        for array in (self.positives, self.negatives, self.relevant):
            made.update(f"{array.shape}".encode() + array.astype("<i8").tobytes())
        return made.hexdigest()
