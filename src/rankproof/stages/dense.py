"""Dense retrieval: passages and queries as vectors, the nearest found by a vector store."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np

from .._registry import Option
from ..data.arrays import Matrix
from ..data.identity import key_of
from ..data.queries import Query
from ..data.ranking import Ranking
from ..models.ports import Encoder
from ..stores.memory import Memory
from ..stores.ports import OpenStore, Store
from .base import Cost, Ground, Stage
from .clock import Clock
from .encoding import prompted, text_vectors
from .passage_notes import vector_facts, vector_notes
from .passage_vectors import PassageVectors, passage_vectors
from .passages import DEFAULT_FIELDS
from .recall_of_exact import Recall
from .settings import Depth, EncoderOption, Fields, PassagePrompt, QueryPrompt, check

INGEST = 4096


@dataclass(frozen=True)
class Dense:
    """The passages nearest to the query by inner product; the prompts, put before the texts, are part of what the stage is."""

    model: EncoderOption
    query_prompt: QueryPrompt = ""
    passage_prompt: PassagePrompt = ""
    store: Annotated[Store, Option("the vector store that is searched")] = field(default_factory=Memory)
    fields: Fields = DEFAULT_FIELDS
    depth: Depth = 100

    def __post_init__(self) -> None:
        check(self)

    def below(self) -> tuple[Stage, ...]:
        """Nothing: it searches the documents themselves."""
        return ()

    def build(self, ground: Ground) -> DenseSearcher:
        """Encodes the passages, or takes the vectors that another stage had made, and fills the store."""
        encoder = self.model.load(threads=ground.threads)
        vectors = passage_vectors(ground, self.model, encoder, self.passage_prompt, self.fields)
        start = time.perf_counter()
        with ExitStack() as stack:
            store = None
            if vectors.ids:
                key = key_of(ground.corpus_key, self)
                folder = ground.keep.folder(key) if self.store.needs_folder else ""
                store = stack.enter_context(self.store.open(f"rankproof_{key[:16]}", vectors.matrix.shape[1], folder))
                _fill(store, vectors, ground)
            seconds = vectors.seconds + time.perf_counter() - start
            return DenseSearcher(self, encoder, vectors, store, seconds, stack.pop_all())


def _fill(store: OpenStore, vectors: PassageVectors, ground: Ground) -> None:
    total = len(vectors.ids)
    for start in range(0, total, INGEST):
        ground.progress("filling the store", start, total)
        store.add(vectors.ids[start : start + INGEST], vectors.matrix[start : start + INGEST])
    ground.progress("filling the store", total, total)


class DenseSearcher:
    """The encoder and the filled store; without any document there is no store."""

    def __init__(
        self, stage: Dense, encoder: Encoder, vectors: PassageVectors, store: OpenStore | None, seconds: float, stack: ExitStack
    ) -> None:
        self._stage, self._encoder, self._vectors, self._store, self._stack = stage, encoder, vectors, store, stack
        size = store.size() if store else 0
        # The vectors in memory are those that other stages share; another store holds a copy.
        shared = {vectors.key: (vectors.seconds, size if isinstance(stage.store, Memory) else 0)}
        self._cost = Cost(seconds=seconds, bytes=size, shared=shared)
        self._recall = None if stage.store.exact or store is None else Recall(vectors, stage.depth)

    def search(self, query: Query, below: Sequence[Ranking], clock: Clock) -> Ranking:
        """The nearest passages' documents."""
        texts = [prompted(self._stage.query_prompt, query.text)]
        with clock.part("embed"):
            vectors = text_vectors(self._encoder, texts)
        with clock.part("search"):
            found = self._nearest(vectors)
        if self._recall:
            self._recall.remember(query.id, vectors[0], found[0])
        clock.cut_queries += self._encoder.cut(texts)
        return found[0]

    def search_all(self, queries: Sequence[Query]) -> list[Ranking]:
        """The same in one batch."""
        if not queries:
            return []
        vectors = text_vectors(self._encoder, [prompted(self._stage.query_prompt, query.text) for query in queries])
        found = self._nearest(vectors)
        if self._recall:
            for query, vector, one in zip(queries, vectors, found, strict=True):
                self._recall.remember(query.id, vector, one)
        return found

    def _nearest(self, vectors: Matrix) -> list[Ranking]:
        """A query without any token has no direction, and so no nearest passage."""
        if self._store is None:
            return [([], np.zeros(0)) for _ in vectors]
        found = self._store.search(vectors, self._stage.depth)
        return [one if vector.any() else ([], np.zeros(0)) for one, vector in zip(found, vectors, strict=True)]

    def cost(self) -> Cost:
        """Encoding, remembered or not, and filling the store; the bytes that the store takes."""
        return self._cost

    def facts(self) -> Mapping[str, Any]:
        """Model, store, prompts, and how the vectors lie."""
        return {
            "model": dict(self._encoder.facts()),
            "store": dict(self._store.facts()) if self._store else {},
            "query_prompt": self._stage.query_prompt,
            "passage_prompt": self._stage.passage_prompt,
            "encoding_seconds": self._vectors.seconds,
            **vector_facts(self._vectors),
            **(self._recall.facts() if self._recall else {}),
        }

    def notes(self) -> Sequence[str]:
        """Vectors that all lie on one point, passages that were cut or are empty."""
        return vector_notes(self._vectors)

    def close(self) -> None:
        """Closes the store."""
        self._stack.close()
