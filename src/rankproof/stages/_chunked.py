"""Searches chunks of the documents, and ranks a document by its best chunk."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from rankproof._data.dataset import Query, chunk_separator, document_of_chunk
from rankproof._data.identity import identity_key
from rankproof._data.ordering import Ranking, rank_documents
from rankproof._data.text import pluralise
from rankproof._registry import Option
from rankproof.stages._base import BuildContext, Cost, QueryTimer, Stage
from rankproof.stages._chunking import Chunking, TokenizerName, Unit, chunk_corpus
from rankproof.stages._fields import Depth, check_settings

CollapseRule = Literal["best"]
BEST_CHUNK_RULE = "a document has the score of its best chunk"


def collapse_ranking(
    ranking: Ranking, document_of: Callable[[str], str], *, pool: int | None, depth: int | None = None
) -> Ranking:
    """The best `depth` documents, each with the score of its best chunk among the first `pool`.

    Documents with equal scores are ordered as in every ranking, the larger id first.
    """
    chunks, scores = ranking
    best: dict[str, float] = {}
    for chunk, score in zip(chunks[:pool], scores[:pool].tolist(), strict=True):
        best.setdefault(document_of(chunk), score)
    docs, values = rank_documents(list(best), np.array(list(best.values()), dtype=np.float64))
    return docs[:depth], values[:depth]


WHOLE_DOCUMENTS_NOTE = (
    "answers are read from whole documents, not from chunks; put `chunked` around the answering system to answer from chunks"
)


@dataclass(frozen=True)
class Chunked:
    """Runs the input stage on chunks of `size` units that overlap by `overlap` units (None: size // 5).

    Its ranking of chunks is collapsed to documents. `pool` limits the chunks that are used (None: all). The depth of the input
    stage counts chunks, `depth` counts documents.
    """

    stage: Annotated[Stage, Option("the system that searches the chunks; its depth is in chunks", key="of")]
    size: Annotated[int, Option("how many units a chunk has", least=1)] = 200
    overlap: Annotated[int | None, Option("how many units it shares with the previous chunk (default: size / 5)", least=0)] = None
    unit: Annotated[Unit, Option("the unit that is counted: words, sentences or tokens")] = "words"
    tokenizer: Annotated[TokenizerName, Option("the tokenizer whose tokens are counted: wordllama")] = "wordllama"
    pool: Annotated[int | None, Option("number of top chunks to use (default: all)", least=1)] = None
    rule: Annotated[CollapseRule, Option("how chunks become documents: best")] = "best"
    depth: Depth = 100
    kind: ClassVar[str] = "chunks"

    def __post_init__(self) -> None:
        check_settings(self)
        if self.overlap is None:
            object.__setattr__(self, "overlap", self.size // 5)
        Chunking(self.size, self._shared, self.unit, self.tokenizer)
        if self.pool is not None and self.pool >= self.stage.depth:
            object.__setattr__(self, "pool", None)

    @property
    def chunking(self) -> Chunking:
        """How the documents are split."""
        return Chunking(self.size, self._shared, self.unit, self.tokenizer)

    @property
    def _shared(self) -> int:
        return 0 if self.overlap is None else self.overlap

    def revision(self) -> str:
        """The version of the tokenizer that determines the chunks."""
        return self.chunking.revision()

    def inputs(self) -> tuple[Stage, ...]:
        """The stage that ranks chunks."""
        return (self.stage,)

    def input_context(self, context: BuildContext) -> BuildContext:
        """The context with the chunks as its corpus; equal chunking gives the same corpus key."""
        key = identity_key(context.corpus_key, "chunks", self.chunking)
        return replace(context, corpus=chunk_corpus(context.corpus, self.chunking), corpus_key=key)

    def build(self, context: BuildContext) -> ChunkedSearcher:
        """Counts the chunks of every document."""
        start = time.perf_counter()
        counts = [len(self.chunking.spans(document)) for document in context.corpus.values()]
        return ChunkedSearcher(self, chunk_separator(context.corpus), counts, time.perf_counter() - start)


def whole_documents_note(stage: Stage) -> tuple[str, ...]:
    """A note on answers that are read from whole documents although chunks were searched."""
    return (WHOLE_DOCUMENTS_NOTE,) if _is_chunked(stage) else ()


def _is_chunked(stage: Stage) -> bool:
    return isinstance(stage, Chunked) or any(map(_is_chunked, stage.inputs()))


class ChunkedSearcher:
    """Collapses a ranking of chunks to documents."""

    def __init__(self, stage: Chunked, separator: str, counts: Sequence[int], seconds: float) -> None:
        self._stage, self._counts, self._seconds = stage, counts, seconds
        self._document_of = partial(document_of_chunk, separator=separator)

    def search(self, query: Query, inputs: Sequence[Ranking], timer: QueryTimer) -> Ranking:
        """The documents of the chunks, ranked by their best chunk."""
        with timer.part("search"):
            return collapse_ranking(inputs[0], self._document_of, pool=self._stage.pool, depth=self._stage.depth)

    def cost(self) -> Cost:
        """The time of splitting."""
        return Cost(seconds=self._seconds)

    def facts(self) -> Mapping[str, Any]:
        """The chunking, the number of chunks and the rule."""
        stage, chunks = self._stage, sum(self._counts)
        return {
            "unit": stage.unit,
            "size": stage.size,
            "overlap": stage.overlap,
            "chunks": chunks,
            "chunks_a_document": chunks / max(len(self._counts), 1),
            "pool": stage.pool,
            "rule": BEST_CHUNK_RULE,
        }

    def notes(self) -> Sequence[str]:
        """A note on documents that cannot be found."""
        without_chunks = sum(not count for count in self._counts)
        return (
            [f"{pluralise(without_chunks, 'document has', 'documents have')} neither title nor text and cannot be found"]
            if without_chunks
            else []
        )

    def close(self) -> None:
        """Does nothing: no resource is open."""
