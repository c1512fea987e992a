"""Milvus: Milvus Lite in this process, or a server through its client pymilvus."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar

from rankproof._data.arrays import Matrix
from rankproof._data.identity import NOT_IN_IDENTITY, library_version
from rankproof._data.text import clip_text
from rankproof._extras import extra
from rankproof._io.paths import TemporaryPath
from rankproof._registry import Option
from rankproof.errors import ExternalError, RankproofError, for_message
from rankproof.stores._base import address_digest, folder_size, library_errors, mask_secrets, new_folder
from rankproof.stores._collection import BatchSize, ExactOrHnsw, Hits, IndexTimeout, OpenCollection, ServerCollection, Timeout
from rankproof.stores._http import ServerStore, key_in, wait_until

MAX_DIMENSIONS, MAX_RESULTS = 32_768, 16_384
LEAST_EF = 200
_MAX_REASON = 400
INDEX_TYPES = {"exact": "FLAT", "hnsw": "HNSW"}


@dataclass(frozen=True, slots=True)
class Milvus(ServerStore):
    """Milvus by inner product, embedded as Milvus Lite or on a server."""

    url: Annotated[str, Option("the address of the server, such as http://localhost:19530 (default: Milvus Lite)")] = field(
        default="", metadata=NOT_IN_IDENTITY
    )
    api_key_env: Annotated[str, Option("the environment variable with the API key, or with user:password; empty for none")] = (
        field(default="", metadata=NOT_IN_IDENTITY)
    )
    database: Annotated[str, Option("the database on the server (default: that of the login)")] = ""
    index: ExactOrHnsw = "exact"
    m: Annotated[int, Option("links per vector in the HNSW graph", least=2, most=2_048)] = 16
    ef_construction: Annotated[int, Option("candidate list size while the index is built", least=4, most=10_000)] = 200
    ef: Annotated[
        int | None,
        Option("candidate list size in a search (default: twice the number of results, at least 200)", least=1, most=32_768),
    ] = None
    batch: BatchSize = field(default=1_000, metadata=NOT_IN_IDENTITY)
    timeout: Timeout = field(default=60.0, metadata=NOT_IN_IDENTITY)
    index_timeout: IndexTimeout = field(default=3_600.0, metadata=NOT_IN_IDENTITY)

    may_be_embedded: ClassVar[bool] = True

    def revision(self) -> str:
        """The version of Milvus Lite, or a digest of the server's address."""
        return ", ".join((library_version("pymilvus"), *address_digest(self.url))) if self.url else library_version("milvus-lite")

    def open(self, name: str, dimensions: int, folder: str) -> OpenCollection:
        """An empty collection; on a server, that of an earlier run is replaced."""
        return MilvusCollection(self, name, dimensions) if self.url else MilvusLiteCollection(self, dimensions, folder)

    def build_settings(self) -> dict[str, Any]:
        """The parameters of the index."""
        return {} if self.exact else {"M": self.m, "efConstruction": self.ef_construction}

    def search_settings(self, limit: int) -> dict[str, Any]:
        """The parameters of a search."""
        return {} if self.exact else {"ef": max(limit, self.ef or max(2 * limit, LEAST_EF))}


class MilvusLiteCollection(OpenCollection):
    """An open collection of Milvus Lite in a folder."""

    engine: ClassVar[str] = "Milvus Lite"
    most_dimensions: ClassVar[int] = MAX_DIMENSIONS
    most_results: ClassVar[int] = MAX_RESULTS

    def __init__(self, value: Milvus, dimensions: int, folder: str) -> None:
        super().__init__(dimensions, exact=value.exact, batch=value.batch)
        with extra("milvus"):
            import milvus_lite
        # Without a handler it would print its warnings on standard error.
        logging.getLogger("milvus_lite").addHandler(logging.NullHandler())
        self._value, self._has_index = value, False
        self._folder: TemporaryPath = new_folder(folder)
        try:
            with library_errors(self.engine, "opening"):
                self._database = milvus_lite.MilvusLite(self._folder.path)
                self._collection = self._database.create_collection("rankproof", _lite_schema(milvus_lite, dimensions))
        except BaseException:
            self._folder.remove()
            raise

    def _write(self, numbers: list[int], names: list[str], rows: Matrix, *, is_new: bool) -> None:
        records = [{"id": number, "vector": row} for number, row in zip(numbers, rows.tolist(), strict=True)]
        with library_errors(self.engine, "adding vectors"):
            (self._collection.insert if is_new else self._collection.upsert)(records)

    def _finish(self) -> None:
        index = {
            "index_type": INDEX_TYPES[self._value.index],
            "metric_type": "IP",
            "params": self._value.build_settings(),
        }
        with library_errors(self.engine, "building the index"):
            self._collection.flush()
            # A thread merges segments, and builds the indexes of new ones once the collection is loaded.
            self._collection._wait_for_bg()
            if not self._has_index:
                self._collection.create_index("vector", index)
                self._collection.load()
                self._has_index = True

    def _count(self) -> int:
        with library_errors(self.engine, "counting"):
            return int(self._collection.num_entities)

    def _nearest(self, query: list[float], limit: int) -> Hits:
        settings = self._value.search_settings(limit)
        with library_errors(self.engine, "searching"):
            hits = self._collection.search(
                [query], top_k=limit, metric_type="IP", anns_field="vector", output_fields=["id"], search_params=settings
            )
            return [(hit["id"], hit["distance"]) for hit in hits[0]]

    def _engine_facts(self) -> Mapping[str, Any]:
        return self._value.facts(library_version("milvus-lite"), ef=self._value.ef or "2 x results")

    def _stored_bytes(self) -> int:
        return folder_size(Path(self._folder.path))

    def _drop(self) -> None:
        with library_errors(self.engine, "closing"):
            self._database.close()

    def _close(self) -> None:
        self._folder.remove()


def _lite_schema(library: Any, dimensions: int) -> Any:
    number = library.FieldSchema(name="id", dtype=library.DataType.INT64, is_primary=True)
    vector = library.FieldSchema(name="vector", dtype=library.DataType.FLOAT_VECTOR, dim=dimensions)
    return library.CollectionSchema(fields=[number, vector])


@contextmanager
def unchanged_environment() -> Iterator[None]:
    """Removes the variables that an import adds: pymilvus reads the file .env above its own folder."""
    before = set(os.environ)
    try:
        yield
    finally:
        for name in set(os.environ) - before:
            del os.environ[name]


class MilvusCollection(ServerCollection):
    """An open collection on a server, read with strong consistency."""

    engine: ClassVar[str] = "Milvus"
    most_dimensions: ClassVar[int] = MAX_DIMENSIONS
    most_results: ClassVar[int] = MAX_RESULTS

    def __init__(self, value: Milvus, name: str, dimensions: int) -> None:
        self._value = value
        self._key = key_in(value.api_key_env, "api_key_env", value.url)
        super().__init__(value.url, name, dimensions, exact=value.exact, batch=value.batch)

    def _connect(self) -> None:
        with unchanged_environment(), extra("milvus"):
            import pymilvus
        # Without a handler it would print its errors on standard error.
        logging.getLogger("pymilvus").addHandler(logging.NullHandler())
        value, self._types = self._value, pymilvus.DataType
        with self._errors("connecting"):
            self._client: Any = pymilvus.MilvusClient(
                uri=value.url, token=self._key, db_name=value.database, timeout=value.timeout
            )

    def _disconnect(self) -> None:
        with suppress(ExternalError), self._errors("closing"):
            self._client.close()

    def _server_version(self) -> str:
        with self._errors("reading the version"):
            return str(self._client.get_server_version(timeout=self._value.timeout))

    def _found_mark(self) -> str | None:
        with self._errors("looking for the collection"):
            if not self._client.has_collection(self._collection, timeout=self._value.timeout):
                return None
            collection = self._client.describe_collection(self._collection, timeout=self._value.timeout)
            return str(collection.get("description") or collection.get("properties", {}).get("rankproof", ""))

    def _create(self) -> None:
        value, client, types = self._value, self._client, self._types
        with self._errors("creating the collection"):
            schema = client.create_schema(auto_id=False, enable_dynamic_field=False, description=self._mark)
            schema.add_field("id", types.INT64, is_primary=True)
            schema.add_field("vector", types.FLOAT_VECTOR, dim=self._dimensions)
            index = client.prepare_index_params()
            index.add_index(
                "vector",
                index_type=INDEX_TYPES[value.index],
                index_name="vector",
                metric_type="IP",
                params=value.build_settings(),
            )
            # The server of Milvus Lite forgets the description, but not the properties.
            client.create_collection(
                self._collection,
                schema=schema,
                index_params=index,
                consistency_level="Strong",
                properties={"rankproof": self._mark},
                timeout=value.timeout,
            )

    def _delete(self) -> None:
        with self._errors("deleting the collection"):
            self._client.drop_collection(self._collection, timeout=self._value.timeout)

    def _write(self, numbers: list[int], names: list[str], rows: Matrix, *, is_new: bool) -> None:
        data = [{"id": number, "vector": row} for number, row in zip(numbers, rows, strict=True)]
        with self._errors("adding vectors"):
            # Not insert: after a lost reply, the same rows would be there twice.
            reply = self._client.upsert(self._collection, data, timeout=self._value.timeout)
            written = reply.get("upsert_count")
        if written != len(data):
            raise ExternalError(f"{self._url}: Milvus took only a part of {len(data):,} vectors; see the server's log")

    def _finish(self) -> None:
        if self._exact:
            return
        with self._errors("flushing"):
            self._client.flush(self._collection, timeout=self._value.index_timeout)
        wait_until(self._is_indexed, self._value.index_timeout, f"{self._url}: the HNSW index")

    def _is_indexed(self) -> bool:
        with self._errors("waiting for the index"):
            index = self._client.describe_index(self._collection, "vector", timeout=self._value.timeout)
            if index.get("state") == "Failed":
                raise ExternalError(f"{self._url}: Milvus failed while building the index; see the server's log")
            return bool(index.get("state") == "Finished" and index.get("pending_index_rows", 0) == 0)

    def _count(self) -> int:
        with self._errors("counting"):
            rows = self._client.query(
                self._collection,
                filter="",
                output_fields=["count(*)"],
                consistency_level="Strong",
                timeout=self._value.timeout,
            )
            return int(rows[0]["count(*)"])

    def _nearest(self, query: list[float], limit: int) -> Hits:
        with self._errors("searching"):
            hits = self._client.search(
                self._collection,
                [query],
                limit=limit,
                anns_field="vector",
                search_params={"metric_type": "IP", "params": self._value.search_settings(limit)},
                consistency_level="Strong",
                timeout=self._value.timeout,
            )
            return [(hit["id"], hit["distance"]) for hit in hits[0]]

    def _engine_facts(self) -> Mapping[str, Any]:
        library = f"Milvus {for_message(self._version)}, {library_version('pymilvus')}"
        return self._value.facts(library, ef=self._value.ef or "2 x results")

    @contextmanager
    def _errors(self, doing: str) -> Iterator[None]:
        """Converts the errors of pymilvus and grpc, which have no common class, to ExternalError without the key."""
        try:
            yield
        except RankproofError:
            raise
        except Exception as error:
            reason = clip_text(mask_secrets(str(getattr(error, "message", "") or error), self._secrets()), _MAX_REASON)
            what = f"{self._url}: Milvus failed while {doing} ({reason})"
        else:
            return
        # Raised outside of the handler, so that no traceback leads to a frame with the key.
        raise ExternalError(f"{what}; check the server, its address and the key, then run again")

    def _secrets(self) -> list[str]:
        return [part for part in (self._key, self._key.partition(":")[2]) if part]
