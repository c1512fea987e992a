"""Dense retrieval: ranks passages by the inner product of their vectors with the query's."""

from __future__ import annotations

import threading
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
from rankproof._llm.budget import Estimate
from rankproof._llm.embedding import CountingEncoder
from rankproof._registry import Option
from rankproof.stages._base import BuildContext, Cost, QueryTimer, Searcher, Stage
from rankproof.stages._fields import DEFAULT_FIELDS, Depth, EncoderOption, Fields, PassagePrompt, QueryPrompt
from rankproof.stages._text_vectors import (
    EncodesTexts,
    add_prompt,
    prompt_notes,
    query_vector,
    text_vectors,
)
from rankproof.stages._vectors import PassageVectors, truncation_note
from rankproof.stores._base import OpenStore, Store
from rankproof.stores._memory import Memory, StoreCheck, best_kernel, memory_facts

INGEST_BATCH = 4096
"""Vectors that a store gets at once."""


@dataclass(frozen=True)
class Dense(EncodesTexts, Stage):
    """Ranks the passages nearest to the query by inner product; the prompts are prepended to queries and passages."""

    model: EncoderOption
    query_prompt: QueryPrompt = ""
    passage_prompt: PassagePrompt = ""
    store: Annotated[Store, Option("the vector store that is searched")] = field(default_factory=Memory)
    fields: Fields = DEFAULT_FIELDS
    depth: Depth = 100

    def build(self, context: BuildContext) -> DenseSearcher:
        """Encodes the passages, or finds their vectors in the cache, and fills the store; memory searches the vectors there."""
        vectors = PassageVectors(context, self.model, self.passage_prompt, self.fields)
        start = time.perf_counter()
        with ExitStack() as stack:
            store = None
            if vectors.statistics.passages and not isinstance(self.store, Memory):
                key = identity_key(context.corpus_key, self)
                folder = context.block_cache.folder(key) if self.store.needs_folder else ""
                store = stack.enter_context(self.store.open(f"rankproof_{key[:16]}", vectors.statistics.dimensions, folder))
                _fill_store(store, vectors, context)
            seconds = vectors.seconds + time.perf_counter() - start
            made = ApiDenseSearcher if isinstance(vectors.encoder, CountingEncoder) else DenseSearcher
            return made(self, vectors, store, seconds, stack.pop_all())

    def estimate(self, queries: Sequence[Query], context: BuildContext) -> Estimate:
        """One call for each query; the passages are estimated on their own."""
        return self.encoded_queries().estimate(queries)


def _fill_store(store: OpenStore, vectors: PassageVectors, context: BuildContext) -> None:
    done, total = 0, vectors.statistics.passages
    for ids, matrix in vectors.batches(INGEST_BATCH):
        context.progress("filling the store", done, total)
        store.add(ids, matrix)
        done += len(ids)
    context.progress("filling the store", total, total)


class DenseSearcher(Searcher):
    """The passage vectors and the filled store; there is no store for vectors in memory or without documents."""

    def __init__(self, stage: Dense, vectors: PassageVectors, store: OpenStore | None, seconds: float, stack: ExitStack) -> None:
        self._stage, self._encoder, self._vectors, self._store, self._stack = stage, vectors.encoder, vectors, store, stack
        # Vectors in memory are shared with other stages; any other store has a copy.
        own, shared = (store.size(), 0) if store else (vectors.size(), vectors.size())
        self._cost = Cost(seconds=seconds, bytes=own, shared={vectors.key: (vectors.seconds, shared)})
        self._check = None if store is None else StoreCheck(stage.store, vectors, stage.depth)
        self._cut, self._asked = 0, 0
        # A store need not be safe for several threads.
        self._searching = threading.Lock()
        self.batch_invariant = stage.store.exact and getattr(vectors.encoder, "batch_invariant", False)

    def search(self, query: Query, inputs: Sequence[Ranking], timer: QueryTimer) -> Ranking:
        """The documents of the nearest passages."""
        text = add_prompt(self._stage.query_prompt, query.text)
        vectors = query_vector(self._encoder, text, timer)
        if vectors is None:
            return [], np.zeros(0)
        with self._searching, timer.part("search"):
            ranking = self._in_store(vectors)[0] if self._store else self._vectors.search_one(vectors, self._stage.depth)
        if self._check:
            self._check.record(query.id, vectors[0], ranking)
        return ranking

    def search_all(self, queries: Sequence[Query]) -> list[Ranking]:
        """The rankings of all queries in one batch."""
        if not queries:
            return []
        texts = [add_prompt(self._stage.query_prompt, query.text) for query in queries]
        vectors = text_vectors(self._encoder, texts, "query")
        rankings = self._in_store(vectors) if self._store else self._vectors.search_all(vectors, self._stage.depth)
        self._cut, self._asked = self._encoder.cut(texts), len(texts)
        if self._check:
            for query, vector, ranking in zip(queries, vectors, rankings, strict=True):
                self._check.record(query.id, vector, ranking)
        return rankings

    def _in_store(self, vectors: Matrix) -> list[Ranking]:
        """What the store finds; nothing for a zero vector, of a query without tokens."""
        assert self._store is not None
        rankings = self._store.search(vectors, self._stage.depth)
        return [ranking if vector.any() else ([], np.zeros(0)) for ranking, vector in zip(rankings, vectors, strict=True)]

    def cost(self) -> Cost:
        """The time of encoding, cached or not, and of filling the store; the bytes of the store."""
        return self._cost

    def facts(self) -> Mapping[str, Any]:
        """Model, store, prompts and statistics of the vectors; what the store returned is checked."""
        return {
            "model": dict(self._encoder.facts()),
            "store": dict(self._store.facts() if self._store else memory_facts(best_kernel(), self._vectors.device)),
            "query_prompt": self._stage.query_prompt,
            "passage_prompt": self._stage.passage_prompt,
            "encoding_seconds": self._vectors.seconds,
            **self._vectors.facts(),
            **(self._check.facts() if self._check else {}),
        }

    def notes(self) -> Sequence[str]:
        """Notes on other prompts than in training, collapsed vectors, truncated or empty passages, and truncated queries."""
        cut = [truncation_note(self._cut, self._asked, "queries")] if self._cut else []
        prompts = prompt_notes(self._encoder, self._stage.query_prompt, self._stage.passage_prompt)
        return [*prompts, *self._vectors.notes(), *cut]

    def close(self) -> None:
        """Closes the store."""
        self._stack.close()


class ApiDenseSearcher(DenseSearcher):
    """Asks each query on its own, because each request to an embedding API is paid for and timed; searches run one at a time."""

    @property
    def concurrency(self) -> int:
        """How many queries run at once."""
        assert isinstance(self._encoder, CountingEncoder)
        return self._encoder.concurrency

    def search(self, query: Query, inputs: Sequence[Ranking], timer: QueryTimer) -> Ranking:
        """The documents of the nearest passages; none if the query got no vector."""
        timer.cut_queries += self._encoder.cut([add_prompt(self._stage.query_prompt, query.text)])
        return super().search(query, inputs, timer)
