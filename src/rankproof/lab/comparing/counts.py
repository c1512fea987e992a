"""What a tokenizer makes of the texts: tokens, the sequence that a model reads, tokens that it does not know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...data.arrays import IntArray
from ...data.corpus import Corpus
from ...stages.base import Stage
from ...stages.bm25 import BM25
from ...stages.dense import Dense
from ...stages.passages import passages
from .counters import LexicalCounter, TokenCounter, model_counter


@dataclass(frozen=True, slots=True)
class Lengths:
    """How many there are in a text: the mean, and the 95th percentile."""

    mean: float
    p95: float


@dataclass(frozen=True, slots=True)
class Counts:
    """`tokens` are those of whole texts, `read` is the sequence as the deep layers of a model see it: cut where the model cuts,
    after any downsampling.

    `unknown` is the share of the queries' tokens that stand for nothing in the vocabulary or, of BM25, that no document has.
    Whatever a model does not tell is None.
    """

    document_tokens: Lengths | None = None
    query_tokens: Lengths | None = None
    document_read: Lengths | None = None
    query_read: Lengths | None = None
    unknown: float | None = None
    vocabulary: int | None = None
    parameters: int | None = None


@dataclass(frozen=True, eq=False, slots=True)
class DocumentCounts:
    """What was counted of the documents, and the counter that goes on to queries."""

    counter: TokenCounter | None
    tokens: Lengths | None = None
    read: Lengths | None = None

    def with_queries(self, texts: Sequence[str], told: Mapping[str, Any]) -> Counts:
        """The counts of the documents and of these queries; `told` is what the loaded model says of itself."""
        if self.counter is None:
            return Counts()
        facts = {**told, **self.counter.facts}
        return Counts(
            document_tokens=self.tokens,
            query_tokens=_lengths(self.counter.tokens(texts)),
            document_read=self.read,
            query_read=_lengths(self.counter.read(texts)),
            unknown=self.counter.unknown(texts),
            vocabulary=_count(facts.get("vocabulary")),
            parameters=_count(facts.get("parameters")),
        )


def document_counts(stage: Stage, corpus: Corpus) -> DocumentCounts:
    """The counts of a system on all documents; one that no tokenizer is known of counts nothing."""
    if not isinstance(stage, BM25 | Dense):
        return DocumentCounts(None)
    counter: TokenCounter = LexicalCounter(stage.index(corpus)) if isinstance(stage, BM25) else model_counter(stage.model)
    texts = list(passages(corpus, stage.fields).values())
    return DocumentCounts(counter, _lengths(counter.tokens(texts)), _lengths(counter.read(texts)))


def _lengths(found: IntArray | None) -> Lengths | None:
    if found is None or not len(found):
        return None
    return Lengths(float(found.mean()), float(np.percentile(found, 95)))


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
