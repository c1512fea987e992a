"""Dense retrieval: ranks passages by the inner product of their vectors with the query's."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np

from rankproof._data.arrays import Matrix
from rankproof._data.dataset import Query
from rankproof._data.identity import identity_key
from rankproof._data.ordering import Ranking
from rankproof._registry import Option
from rankproof.models._base import Encoder
from rankproof.stages._base import BuildContext, Cost, QueryTimer, Stage
from rankproof.stages._fields import DEFAULT_FIELDS, Depth, EncoderOption, Fields, PassagePrompt, QueryPrompt, check_settings
from rankproof.stages._vectors import PassageVectors, add_prompt, passage_vectors, text_vectors, vector_facts, vector_notes
from rankproof.stores._base import OpenStore, Store, ann_recall
from rankproof.stores._memory import Memory


class AnnRecall:
    """Records what an approximate store finds, and measures its recall against exact search."""

    def __init__(self, vectors: PassageVectors, depth: int) -> None:
        self._vectors, self._depth = vectors, depth
        self._found: dict[str, tuple[Matrix, Ranking]] = {}

    def record(self, query: str, vector: Matrix, found: Ranking) -> None:
        """Records one search; a repeated query replaces it, a zero vector is left out."""
        if vector.any():
            self._found[query] = vector, found

    def facts(self) -> Mapping[str, Any]:
        """The mean recall of the exact top results over the queries, None without a query."""
        share = ann_recall([found for _, found in self._found.values()], self._exact()) if self._found else None
        return {"recall_of_exact": share, "recall_depth": self._depth, "recall_queries": len(self._found)}

    def _exact(self) -> list[Ranking]:
        with Memory().open("exact", self._vectors.matrix.shape[1], "") as store:
            store.add(self._vectors.ids, self._vectors.matrix)
            return store.search(np.array([vector for vector, _ in self._found.values()]), self._depth)


INGEST_BATCH = 4096


@dataclass(frozen=True)
class Dense:
    """Ranks the passages nearest to the query by inner product; the prompts are prepended to queries and passages."""

    model: EncoderOption
    query_prompt: QueryPrompt = ""
    passage_prompt: PassagePrompt = ""
    store: Annotated[Store, Option("the vector store that is searched")] = field(default_factory=Memory)
    fields: Fields = DEFAULT_FIELDS
    depth: Depth = 100

    def __post_init__(self) -> None:
        check_settings(self)

    def inputs(self) -> tuple[Stage, ...]:
        """None: it searches the documents."""
        return ()

    def build(self, context: BuildContext) -> DenseSearcher:
        """Encodes the passages, or reads their vectors from the cache, and fills the store."""
        encoder = self.model.load(threads=context.threads)
        vectors = passage_vectors(context, self.model, encoder, self.passage_prompt, self.fields)
        start = time.perf_counter()
        with ExitStack() as stack:
            store = None
            if vectors.ids:
                key = identity_key(context.corpus_key, self)
                folder = context.block_cache.folder(key) if self.store.needs_folder else ""
                store = stack.enter_context(self.store.open(f"rankproof_{key[:16]}", vectors.matrix.shape[1], folder))
                _fill_store(store, vectors, context)
            seconds = vectors.seconds + time.perf_counter() - start
            return DenseSearcher(self, encoder, vectors, store, seconds, stack.pop_all())


def _fill_store(store: OpenStore, vectors: PassageVectors, context: BuildContext) -> None:
    total = len(vectors.ids)
    for start in range(0, total, INGEST_BATCH):
        context.progress("filling the store", start, total)
        store.add(vectors.ids[start : start + INGEST_BATCH], vectors.matrix[start : start + INGEST_BATCH])
    context.progress("filling the store", total, total)


class DenseSearcher:
    """The encoder and the filled store; without documents there is no store."""

    def __init__(
        self, stage: Dense, encoder: Encoder, vectors: PassageVectors, store: OpenStore | None, seconds: float, stack: ExitStack
    ) -> None:
        self._stage, self._encoder, self._vectors, self._store, self._stack = stage, encoder, vectors, store, stack
        size = store.size() if store else 0
        # Vectors in memory are shared with other stages; any other store has a copy.
        shared = {vectors.key: (vectors.seconds, size if isinstance(stage.store, Memory) else 0)}
        self._cost = Cost(seconds=seconds, bytes=size, shared=shared)
        self._recall = None if stage.store.exact or store is None else AnnRecall(vectors, stage.depth)

    def search(self, query: Query, inputs: Sequence[Ranking], timer: QueryTimer) -> Ranking:
        """The documents of the nearest passages."""
        texts = [add_prompt(self._stage.query_prompt, query.text)]
        with timer.part("embed"):
            vectors = text_vectors(self._encoder, texts)
        with timer.part("search"):
            found = self._nearest(vectors)
        if self._recall:
            self._recall.record(query.id, vectors[0], found[0])
        timer.cut_queries += self._encoder.cut(texts)
        return found[0]

    def search_all(self, queries: Sequence[Query]) -> list[Ranking]:
        """The rankings of all queries in one batch."""
        if not queries:
            return []
        vectors = text_vectors(self._encoder, [add_prompt(self._stage.query_prompt, query.text) for query in queries])
        found = self._nearest(vectors)
        if self._recall:
            for query, vector, one in zip(queries, vectors, found, strict=True):
                self._recall.record(query.id, vector, one)
        return found

    def _nearest(self, vectors: Matrix) -> list[Ranking]:
        """The nearest passages; a zero vector, of a query without tokens, has none."""
        if self._store is None:
            return [([], np.zeros(0)) for _ in vectors]
        found = self._store.search(vectors, self._stage.depth)
        return [one if vector.any() else ([], np.zeros(0)) for one, vector in zip(found, vectors, strict=True)]

    def cost(self) -> Cost:
        """The time of encoding, cached or not, and of filling the store; the bytes of the store."""
        return self._cost

    def facts(self) -> Mapping[str, Any]:
        """Model, store, prompts and statistics of the vectors."""
        return {
            "model": dict(self._encoder.facts()),
            "store": dict(self._store.facts()) if self._store else {},
            "query_prompt": self._stage.query_prompt,
            "passage_prompt": self._stage.passage_prompt,
            "encoding_seconds": self._vectors.seconds,
            **vector_facts(self._vectors, self._encoder),
            **(self._recall.facts() if self._recall else {}),
        }

    def notes(self) -> Sequence[str]:
        """Notes on collapsed vectors and on truncated or empty passages."""
        return vector_notes(self._vectors)

    def close(self) -> None:
        """Closes the store."""
        self._stack.close()
