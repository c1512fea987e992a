"""Qdrant: embedded in this process by its library qdrant-edge, or a server over HTTP."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar
from urllib.parse import quote

from rankproof._data.arrays import Matrix
from rankproof._data.identity import NOT_IN_IDENTITY, library_version
from rankproof._extras import extra
from rankproof._io.paths import TemporaryPath
from rankproof._registry import Option
from rankproof.errors import ExternalError, for_message
from rankproof.stores._base import address_digest, library_errors, new_folder
from rankproof.stores._collection import BatchSize, ExactOrHnsw, Hits, IndexTimeout, OpenCollection, Timeout
from rankproof.stores._http import (
    HttpCollection,
    ServerStore,
    StoreRequestError,
    StoreServer,
    count_at,
    error_reason,
    key_in,
    part_of,
    rows_at,
    text_at,
    version_numbers,
    wait_until,
)

MAX_DIMENSIONS = 65_535
INDEXING_THRESHOLD_KB, FULL_SCAN_KB = 1, 10
"""The least sizes that Qdrant allows: it would search a small collection without its HNSW graph."""
LEAST_EF = 200
_BLOCK = 512


@dataclass(frozen=True, slots=True)
class Qdrant(ServerStore):
    """Qdrant by inner product, embedded or on a server; points have numbers, and the document's id in their payload."""

    url: Annotated[str, Option("the address of the server, such as http://localhost:6333 (default: embedded)")] = field(
        default="", metadata=NOT_IN_IDENTITY
    )
    api_key_env: Annotated[str, Option("the environment variable with the API key, empty for none")] = field(
        default="", metadata=NOT_IN_IDENTITY
    )
    index: ExactOrHnsw = "exact"
    m: Annotated[int, Option("links per vector in the HNSW graph", least=2, most=1_000)] = 16
    ef_construction: Annotated[int, Option("candidate list size while the index is built", least=4, most=10_000)] = 100
    ef: Annotated[
        int | None,
        Option("candidate list size in a search (default: twice the number of results, at least 200)", least=1, most=100_000),
    ] = None
    batch: BatchSize = field(default=1_000, metadata=NOT_IN_IDENTITY)
    timeout: Timeout = field(default=60.0, metadata=NOT_IN_IDENTITY)
    index_timeout: IndexTimeout = field(default=3_600.0, metadata=NOT_IN_IDENTITY)

    may_be_embedded: ClassVar[bool] = True

    def revision(self) -> str:
        """The version of the embedded library, or a digest of the server's address."""
        return ", ".join(address_digest(self.url)) or library_version("qdrant-edge-py")

    def open(self, name: str, dimensions: int, folder: str) -> OpenCollection:
        """An empty collection; on a server, that of an earlier run is replaced."""
        return QdrantCollection(self, name, dimensions) if self.url else EmbeddedQdrant(self, dimensions, folder)

    def search_settings(self, limit: int) -> dict[str, Any]:
        """The parameters of a search."""
        return {"exact": True} if self.exact else {"hnsw_ef": max(limit, self.ef or max(2 * limit, LEAST_EF))}


class EmbeddedQdrant(OpenCollection):
    """An open shard in a folder, searched with one thread."""

    engine: ClassVar[str] = "Qdrant"
    most_dimensions: ClassVar[int] = MAX_DIMENSIONS

    def __init__(self, value: Qdrant, dimensions: int, folder: str) -> None:
        super().__init__(dimensions, exact=value.exact, batch=value.batch)
        with extra("qdrant"):
            import qdrant_edge
        self._library: Any = qdrant_edge
        self._value = value
        self._folder: TemporaryPath = new_folder(folder)
        try:
            with library_errors("Qdrant", "opening"):
                self._shard = qdrant_edge.EdgeShard.create(self._folder.path, self._config())
        except BaseException:
            self._folder.remove()
            raise

    def _config(self) -> Any:
        library, value = self._library, self._value
        threshold = None if value.exact else INDEXING_THRESHOLD_KB
        return library.EdgeConfig(
            vectors=library.EdgeVectorParams(size=self._dimensions, distance=library.Distance.Dot),
            hnsw_config=library.HnswIndexConfig(m=value.m, ef_construct=value.ef_construction, full_scan_threshold=FULL_SCAN_KB),
            optimizers=library.EdgeOptimizersConfig(indexing_threshold=threshold, default_segment_number=1),
            max_search_threads=1,
            wal_enabled=False,
        )

    def _write(self, numbers: list[int], names: list[str], rows: Matrix, *, is_new: bool) -> None:
        records = zip(numbers, names, rows.tolist(), strict=True)
        with library_errors("Qdrant", "adding vectors"):
            points = [self._library.Point(number, row, {"id": name}) for number, name, row in records]
            self._shard.update(self._library.UpdateOperation.upsert_points(points))

    def _finish(self) -> None:
        with library_errors("Qdrant", "building the index"):
            if not self._value.exact:
                self._shard.optimize()
            self._shard.flush()

    def _count(self) -> int:
        with library_errors("Qdrant", "counting"):
            return int(self._shard.count(self._library.CountRequest(exact=True)))

    def _nearest(self, query: list[float], limit: int) -> Hits:
        library = self._library
        with library_errors("Qdrant", "searching"):
            settings = library.SearchParams(**self._value.search_settings(limit))
            points = self._shard.query(library.QueryRequest(limit=limit, query=library.Query.Nearest(query), params=settings))
            return [(point.id, point.score) for point in points]

    def _engine_facts(self) -> Mapping[str, Any]:
        indexed = {} if self._exact else {"indexed_vectors": self._shard.info().indexed_vectors_count}
        return {**self._value.facts(library_version("qdrant-edge-py"), ef=self._value.ef or "2 x results"), **indexed}

    def _stored_bytes(self) -> int:
        return written_size(Path(self._folder.path))

    def _drop(self) -> None:
        with library_errors("Qdrant", "closing"):
            self._shard.close()

    def _close(self) -> None:
        self._folder.remove()


def written_size(folder: Path) -> int:
    """The bytes that were written in the folder: Qdrant makes files of 32 MiB and fills them from the start."""
    files = [path.stat() for path in folder.rglob("*") if path.is_file()]
    return sum(min(file.st_size, getattr(file, "st_blocks", file.st_size) * _BLOCK) for file in files)


class QdrantCollection(HttpCollection):
    """An open collection on a server."""

    engine: ClassVar[str] = "Qdrant"
    most_dimensions: ClassVar[int] = MAX_DIMENSIONS

    def __init__(self, value: Qdrant, name: str, dimensions: int) -> None:
        self._value, self._greens = value, 0
        self._indexed: Any = None
        super().__init__(value.url, name, dimensions, exact=value.exact, batch=value.batch)

    def _connect(self) -> None:
        value = self._value
        key = key_in(value.api_key_env, "api_key_env", value.url)
        self._server = StoreServer(self.engine, value.url, {"api-key": key} if key else {}, key, value.timeout)

    def _call(self, doing: str, method: str, path: str, body: Any = None, **how: Any) -> Any:
        """The result of a request about the collection."""
        reply = self._server.call(doing, method, f"/collections/{quote(self._collection)}{path}", body, check=_check, **how)
        return None if reply is None else part_of(reply, "result")

    def _server_version(self) -> str:
        reply = self._server.call("connecting", "GET", "/")
        version = text_at(reply, "version")
        if "qdrant" not in text_at(reply, "title").lower():
            raise ExternalError(f"{self._url}: this is not Qdrant; check the address")
        if version_numbers(version) < (1, 16):
            what = f"{self._url}: Qdrant {for_message(version)} keeps no metadata of a collection"
            raise ExternalError(f"{what}; update the server to 1.16 or later")
        return version

    def _found_mark(self) -> str | None:
        collection = self._call("looking for the collection", "GET", "", is_optional=True)
        return None if collection is None else text_at(collection, "config", "metadata", "rankproof")

    def _create(self) -> None:
        hnsw = {"m": self._value.m, "ef_construct": self._value.ef_construction, "full_scan_threshold": FULL_SCAN_KB}
        body = {
            "vectors": {"size": self._dimensions, "distance": "Dot"},
            "metadata": {"rankproof": self._mark},
            "shard_number": 1,
            "replication_factor": 1,
            "hnsw_config": hnsw,
            "optimizers_config": {"indexing_threshold": 0 if self._exact else INDEXING_THRESHOLD_KB},
        }
        self._call("creating the collection", "PUT", "", body, is_repeatable=False)

    def _delete(self) -> None:
        self._call("deleting the collection", "DELETE", "", is_optional=True)

    def _write(self, numbers: list[int], names: list[str], rows: Matrix, *, is_new: bool) -> None:
        records = zip(numbers, names, rows.tolist(), strict=True)
        points = [{"id": number, "vector": row, "payload": {"id": name}} for number, name, row in records]
        self._call("adding vectors", "PUT", "/points?wait=true", {"points": points})

    def _finish(self) -> None:
        if not self._exact:
            self._greens = 0
            wait_until(self._is_indexed, self._value.index_timeout, f"{self._url}: the HNSW index")

    def _is_indexed(self) -> bool:
        """Whether the server is idle twice in a row: it may not have started at the first time."""
        collection = self._call("waiting for the index", "GET", "")
        optimizer, status = part_of(collection, "optimizer_status"), part_of(collection, "status")
        if optimizer != "ok" or status == "red":
            reason = error_reason(optimizer) or f"status {for_message(str(status))}"
            raise ExternalError(f"{self._url}: Qdrant failed while building the index ({reason}); see the server's log")
        self._greens = self._greens + 1 if status == "green" else 0
        self._indexed = collection.get("indexed_vectors_count")
        return self._greens > 1

    def _count(self) -> int:
        return count_at(self._call("counting", "POST", "/points/count", {"exact": True}), "count")

    def _nearest(self, query: list[float], limit: int) -> Hits:
        body = {"query": query, "limit": limit, "params": self._value.search_settings(limit), "with_payload": False}
        reply = self._call("searching", "POST", "/points/query", body)
        return [(point.get("id"), point.get("score")) for point in rows_at(reply, "points")]

    def _engine_facts(self) -> Mapping[str, Any]:
        indexed = {"indexed_vectors": self._indexed} if type(self._indexed) is int else {}
        return {**self._value.facts(f"Qdrant {for_message(self._version)}", ef=self._value.ef or "2 x results"), **indexed}


def _check(document: Any) -> None:
    """Raises StoreRequestError for a reply that is no success, or to a write that was not carried out in time."""
    status = part_of(document, "status")
    if status != "ok":
        raise StoreRequestError(error_reason(status) or "no reason is given")
    result = document.get("result")
    if isinstance(result, dict) and "operation_id" in result and result.get("status") != "completed":
        raise StoreRequestError(f"the write is {for_message(str(result.get('status')))}, not completed")
