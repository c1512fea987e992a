"""Elasticsearch and OpenSearch: an index with vectors on a server, searched by kNN."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal

from rankproof._data.arrays import Matrix
from rankproof._data.identity import NOT_IN_IDENTITY
from rankproof._registry import Option
from rankproof.errors import ExternalError, UsageError, for_message
from rankproof.stores._collection import BatchSize, ExactOrHnsw, Hits, OpenCollection, Timeout
from rankproof.stores._http import (
    HttpCollection,
    ServerStore,
    StoreRequestError,
    StoreServer,
    basic_login,
    busy_error,
    count_at,
    error_reason,
    key_in,
    part_of,
    rows_at,
    text_at,
    version_numbers,
)

MAX_RESULTS = 10_000
"""The default of index.max_result_window, and the most candidates of a kNN search."""
LEAST_CANDIDATES = 200
_TOO_MANY_REQUESTS = 429
_KINDS = ("elasticsearch", "opensearch")

Url = Annotated[str, Option("the address of the server, such as http://localhost:9200")]
LoginEnv = Annotated[str, Option("the environment variable with user:password, empty for none")]
M = Annotated[int, Option("links per vector in the HNSW graph", least=2, most=512)]
EfConstruction = Annotated[int, Option("candidate list size while the index is built", least=4, most=3_200)]
Candidates = Annotated[
    int | None,
    Option("candidate list size in a search (default: twice the number of results, at least 200)", least=1, most=MAX_RESULTS),
]


@dataclass(frozen=True, slots=True)
class Elasticsearch(ServerStore):
    """An index of Elasticsearch with a dense_vector field, searched exactly or by HNSW."""

    url: Url = field(metadata=NOT_IN_IDENTITY)
    api_key_env: Annotated[str, Option("the environment variable with the encoded API key, empty for none")] = field(
        default="", metadata=NOT_IN_IDENTITY
    )
    login_env: LoginEnv = field(default="", metadata=NOT_IN_IDENTITY)
    index: ExactOrHnsw = "exact"
    m: M = 16
    ef_construction: EfConstruction = 100
    candidates: Candidates = None
    batch: BatchSize = field(default=500, metadata=NOT_IN_IDENTITY)
    timeout: Timeout = field(default=60.0, metadata=NOT_IN_IDENTITY)

    def open(self, name: str, dimensions: int, folder: str) -> OpenCollection:
        """An empty index; that of an earlier run is replaced."""
        return OpenElasticsearch(self, name, dimensions)


@dataclass(frozen=True, slots=True)
class OpenSearch(ServerStore):
    """An index of OpenSearch with a knn_vector field, searched exactly or by HNSW."""

    url: Url = field(metadata=NOT_IN_IDENTITY)
    login_env: LoginEnv = field(default="", metadata=NOT_IN_IDENTITY)
    index: ExactOrHnsw = "exact"
    engine: Annotated[Literal["faiss", "lucene"], Option("the library of the HNSW index: faiss or lucene")] = "faiss"
    m: M = 16
    ef_construction: EfConstruction = 100
    candidates: Candidates = None
    batch: BatchSize = field(default=500, metadata=NOT_IN_IDENTITY)
    timeout: Timeout = field(default=60.0, metadata=NOT_IN_IDENTITY)

    def open(self, name: str, dimensions: int, folder: str) -> OpenCollection:
        """An empty index; that of an earlier run is replaced."""
        return OpenOpenSearch(self, name, dimensions)


def inner_product(score: Any) -> Any:
    """The inner product of a score, which is 1 + x for x >= 0 and 1 / (1 - x) below; anything else is returned as it is.

    This is `max_inner_product` of Elasticsearch and `innerproduct` of OpenSearch, in their documentation of vector fields.
    """
    if type(score) not in (int, float) or not score > 0:
        return None
    return score - 1.0 if score >= 1 else 1.0 - 1.0 / score


class _OpenIndex(HttpCollection):
    """What both servers share: bulk writes, refreshes, counts, sizes and the checks of replies."""

    most_results: ClassVar[int] = MAX_RESULTS

    def __init__(self, value: Elasticsearch | OpenSearch, name: str, dimensions: int) -> None:
        self._settings = value
        super().__init__(value.url, name, dimensions, exact=value.exact, batch=value.batch)

    @abstractmethod
    def _field(self) -> Mapping[str, Any]:
        """The mapping of the vector."""

    @abstractmethod
    def _query(self, query: list[float], limit: int, candidates: int) -> Mapping[str, Any]:
        """The part of a search that is special to the server."""

    def _connect(self) -> None:
        value = self._settings
        key = key_in(getattr(value, "api_key_env", ""), "api_key_env", value.url)
        login = key_in(value.login_env, "login_env", value.url)
        header = {"Authorization": f"ApiKey {key}" if key else basic_login(login)} if key or login else {}
        self._server = StoreServer(self.engine, value.url, header, key or login, value.timeout)

    def _call(self, doing: str, method: str, path: str, body: Any = None, **how: Any) -> Any:
        """The reply to a request about the index."""
        return self._server.call(doing, method, f"/{self._collection}{path}", body, **how)

    def _found_mark(self) -> str | None:
        mapping = self._call("looking for the index", "GET", "/_mapping", is_optional=True)
        return None if mapping is None else text_at(mapping, self._collection, "mappings", "_meta", "rankproof")

    def _index_settings(self) -> dict[str, Any]:
        return {"number_of_shards": 1, "number_of_replicas": 0, "refresh_interval": "-1"}

    def _create(self) -> None:
        mappings = {"dynamic": "strict", "_meta": {"rankproof": self._mark}, "properties": {"vector": self._field()}}
        body = {"settings": {"index": self._index_settings()}, "mappings": mappings}
        reply = self._call("creating the index", "PUT", "", body, is_repeatable=False)
        if part_of(reply, "acknowledged") is not True or part_of(reply, "shards_acknowledged") is not True:
            raise ExternalError(f"{self._url}: {self.engine} did not start the index in time; see its health and log")

    def _delete(self) -> None:
        self._call("deleting the index", "DELETE", "", is_optional=True)

    def _write(self, numbers: list[int], names: list[str], rows: Matrix, *, is_new: bool) -> None:
        records = zip(numbers, rows.tolist(), strict=True)
        lines = [json.dumps(line) for number, row in records for line in ({"index": {"_id": str(number)}}, {"vector": row})]
        self._call("adding vectors", "POST", "/_bulk", ("\n".join(lines) + "\n").encode(), check=_check_bulk)

    def _finish(self) -> None:
        self._call("refreshing", "POST", "/_refresh", check=_check_shards)

    def _count(self) -> int:
        return count_at(self._call("counting", "GET", "/_count", check=_check_shards), "count")

    def _nearest(self, query: list[float], limit: int) -> Hits:
        wanted = self._settings.candidates or max(2 * limit, LEAST_CANDIDATES)
        candidates = min(max(limit, wanted), MAX_RESULTS)
        body = {"size": limit, "_source": False, **self._query(query, limit, candidates)}
        reply = self._call("searching", "POST", "/_search", body, check=_check_search)
        return [(hit.get("_id"), inner_product(hit.get("_score"))) for hit in rows_at(reply, "hits", "hits")]

    def _stored_bytes(self) -> int:
        stats = self._call("reading the size", "GET", "/_stats/store", check=_check_shards)
        return count_at(stats, "_all", "primaries", "store", "size_in_bytes")

    def _engine_facts(self) -> Mapping[str, Any]:
        value = self._settings
        library = {"engine": value.engine} if isinstance(value, OpenSearch) else {}
        graph = {**library, "candidates": value.candidates or "2 x results"}
        return value.facts(f"{self.engine} {for_message(self._version)}", **graph)

    def _kind_and_version(self) -> tuple[str, str]:
        """`elasticsearch` or `opensearch`, and the version."""
        reply = self._server.call("connecting", "GET", "/")
        version = text_at(reply, "version", "number")
        if not version:
            raise ExternalError(f"{self._url}: this is not {self.engine}; check the address")
        return text_at(reply, "version", "distribution") or "elasticsearch", version

    def _checked_version(self, kind: str, least: tuple[int, int]) -> str:
        actual, version = self._kind_and_version()
        if actual != kind:
            fix = f"use the store {actual}" if actual in _KINDS else "check the address"
            raise UsageError(f"{self._url}: this is {for_message(actual)} {for_message(version)}", fix=fix)
        if version_numbers(version) < least:
            what = f"{self._url}: {self.engine} {for_message(version)}"
            raise UsageError(what, fix=f"update the server to {least[0]}.{least[1]} or later")
        return version


class OpenElasticsearch(_OpenIndex):
    """An open index of Elasticsearch."""

    engine: ClassVar[str] = "Elasticsearch"
    most_dimensions: ClassVar[int] = 4_096

    def _server_version(self) -> str:
        return self._checked_version("elasticsearch", (8, 15))

    def _field(self) -> Mapping[str, Any]:
        value = self._settings
        graph = {} if value.exact else {"m": value.m, "ef_construction": value.ef_construction}
        options = {"type": "flat" if value.exact else value.index, **graph}
        # Not dot_product or cosine: they take no zero vector, and dot_product only unit vectors.
        kind = {"type": "dense_vector", "dims": self._dimensions, "similarity": "max_inner_product"}
        return {**kind, "index": True, "index_options": options}

    def _query(self, query: list[float], limit: int, candidates: int) -> Mapping[str, Any]:
        return {"knn": {"field": "vector", "query_vector": query, "k": limit, "num_candidates": candidates}}


class OpenOpenSearch(_OpenIndex):
    """An open index of OpenSearch."""

    engine: ClassVar[str] = "OpenSearch"
    most_dimensions: ClassVar[int] = 16_000

    def _server_version(self) -> str:
        return self._checked_version("opensearch", (2, 13))

    def _index_settings(self) -> dict[str, Any]:
        # The exact search is a script, which needs no graph.
        return {**super()._index_settings(), "knn": not self._exact}

    def _field(self) -> Mapping[str, Any]:
        value = self._settings
        kind = {"type": "knn_vector", "dimension": self._dimensions}
        if self._exact or not isinstance(value, OpenSearch):
            return kind
        graph = {"m": value.m, "ef_construction": value.ef_construction}
        return {**kind, "method": {"name": "hnsw", "space_type": "innerproduct", "engine": value.engine, "parameters": graph}}

    def _query(self, query: list[float], limit: int, candidates: int) -> Mapping[str, Any]:
        if not self._exact:
            # The candidate list of both libraries has at least k entries.
            return {"query": {"knn": {"vector": {"vector": query, "k": candidates}}}}
        parameters = {"field": "vector", "query_value": query, "space_type": "innerproduct"}
        script = {"source": "knn_score", "lang": "knn", "params": parameters}
        return {"query": {"script_score": {"query": {"match_all": {}}, "script": script}}}


def _check_shards(document: Any) -> None:
    """Raises StoreRequestError for a success in which a shard failed."""
    if count_at(document, "_shards", "failed"):
        failures = document["_shards"].get("failures")
        raise StoreRequestError(f"a shard failed: {error_reason(failures) or 'no reason is given'}")


def _check_search(document: Any) -> None:
    if part_of(document, "timed_out") is not False:
        raise StoreRequestError("the search timed out on the server, so that its reply is not complete")
    _check_shards(document)


def _check_bulk(document: Any) -> None:
    """Raises StoreRequestError for a success in which a document was rejected."""
    items = [item.get("index") for item in rows_at(document, "items")]
    failed = [item for item in items if not isinstance(item, dict) or item.get("error")]
    if not failed and part_of(document, "errors") is False:
        return
    reason = error_reason(failed) or "no reason is given"
    is_busy = bool(failed) and all(isinstance(item, dict) and item.get("status") == _TOO_MANY_REQUESTS for item in failed)
    why = f"{len(failed):,} of {len(items):,} documents were rejected: {reason}"
    raise busy_error(why) if is_busy else StoreRequestError(why)
