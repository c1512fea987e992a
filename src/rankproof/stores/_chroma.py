"""Chroma in a folder; its embedding function and telemetry are off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Annotated, Any

import numpy as np

from rankproof._data.arrays import Matrix
from rankproof._data.identity import NOT_IN_IDENTITY, library_version
from rankproof._data.ordering import Ranking, rank_documents
from rankproof._data.validation import check_options
from rankproof._extras import extra
from rankproof._registry import Option
from rankproof.errors import ExternalError
from rankproof.stores._base import (
    OpenStore,
    Store,
    address_digest,
    checked_batch,
    checked_depth,
    checked_dimensions,
    checked_vectors,
    folder_size,
    library_errors,
    new_folder,
)

COLLECTION = "rankproof"


@dataclass(frozen=True, slots=True)
class Chroma(Store):
    """Chroma with an HNSW index by inner product; the search list is at least as long as the result."""

    folder: Annotated[str, Option("the folder of the database (default: a temporary folder)", role="path")] = field(
        default="", metadata=NOT_IN_IDENTITY
    )
    ef: Annotated[int, Option("candidate list size in a search", least=1, most=100_000)] = 800
    m: Annotated[int, Option("links per vector in the HNSW graph", least=2, most=1_000)] = 16
    ef_construction: Annotated[int, Option("candidate list size while the index is built", least=2, most=100_000)] = 100

    def __post_init__(self) -> None:
        check_options(self)

    @property
    def exact(self) -> bool:
        """False: HNSW is approximate."""
        return False

    @property
    def needs_folder(self) -> bool:
        """Whether no folder is given."""
        return not self.folder

    def revision(self) -> str:
        """The version of the library, and a digest of the folder: another disk has other times."""
        return ", ".join((library_version("chromadb"), *address_digest(self.folder)))

    def open(self, name: str, dimensions: int, folder: str) -> OpenChroma:
        """An empty database in a new folder: Chroma unpickles existing files, so there must be none."""
        return OpenChroma(self, checked_dimensions(dimensions), self.folder or folder)


class OpenChroma(OpenStore):
    """An open database, deleted when it is closed."""

    def __init__(self, value: Chroma, dimensions: int, folder: str) -> None:
        self._value, self._dimensions, self._ids = value, dimensions, set[str]()
        self._folder = new_folder(folder)
        try:
            with library_errors("Chroma", "opening"):
                self._client, self._version = _chroma_client(Path(self._folder.path))
                self._collection = self._client.create_collection(
                    COLLECTION, embedding_function=None, configuration={"hnsw": _index_settings(value)}
                )
        except BaseException:
            self._folder.remove()
            raise

    def add(self, ids: Sequence[str], vectors: Matrix) -> None:
        """Adds the vectors; an existing id gets the new vector."""
        names, rows = checked_batch(ids, vectors, self._dimensions)
        with library_errors("Chroma", "adding vectors"):
            most = self._client.get_max_batch_size()
            for start in range(0, len(names), most):
                self._collection.upsert(ids=names[start : start + most], embeddings=rows[start : start + most])
            self._ids.update(names)
            count = self._collection.count()
        if count != len(self._ids):
            raise ExternalError(f"Chroma has {count:,} rows, but {len(self._ids):,} documents were added; run again")

    def search(self, vectors: Matrix, k: int) -> list[Ranking]:
        """For each row the k nearest vectors that HNSW finds; ties: larger id first."""
        depth, queries = min(checked_depth(k), len(self._ids)), checked_vectors(vectors, self._dimensions)
        if depth == 0 or len(queries) == 0:
            return [([], np.zeros(0)) for _ in queries]
        with library_errors("Chroma", "searching"):
            reply = self._collection.query(query_embeddings=queries, n_results=depth, include=["distances"])
        rankings = zip(reply["ids"], reply["distances"], strict=True)
        # Chroma returns 1 - x for the inner product x.
        return [rank_documents(names, 1.0 - np.array(distances, np.float64)) for names, distances in rankings]

    def facts(self) -> Mapping[str, Any]:
        """Version and settings of the index."""
        settings = {name: getattr(self._value, name) for name in ("ef", "m", "ef_construction")}
        return {"store": "chroma", "library": f"chromadb {self._version}", "exact": False, "index": "hnsw", **settings}

    def size(self) -> int:
        """The bytes of the files in its folder."""
        return folder_size(Path(self._folder.path))

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            with library_errors("Chroma", "closing"):
                self._client.close()
        except ExternalError:
            if error is None:
                raise
        finally:
            self._folder.remove()


def _index_settings(value: Chroma) -> dict[str, Any]:
    return {"space": "ip", "ef_search": value.ef, "ef_construction": value.ef_construction, "max_neighbors": value.m}


def _chroma_client(path: Path) -> tuple[Any, str]:
    with extra("chroma"):
        import chromadb
        from chromadb.config import Settings
    return chromadb.PersistentClient(path=str(path), settings=Settings(anonymized_telemetry=False)), chromadb.__version__
