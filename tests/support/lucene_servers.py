"""Loopback servers with the documented requests of Elasticsearch and OpenSearch, on an exact search: strict on real sockets."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from support.scripted_server import Request
from support.vector_servers import RefusalError, VectorServer

MAX_WINDOW = 10_000
_SHARDS = {"total": 1, "successful": 1, "skipped": 0, "failed": 0}
_BAD_NAME = re.compile(r"[A-Z\\/*?\"<>| ,#:]|^[-_+]")


def refused(status: int, kind: str, reason: str) -> RefusalError:
    """An error as both servers write it."""
    cause = {"type": kind, "reason": reason}
    return RefusalError(status, {"error": {"root_cause": [cause], **cause}, "status": status})


def known(body: Mapping[str, Any], names: str, kind: str = "parsing_exception") -> None:
    unknown = set(body) - set(names.split())
    if unknown:
        raise refused(400, kind, f"unknown key {sorted(unknown)}")


class _Index:
    """Documents that a search sees after the next refresh."""

    def __init__(self, body: Mapping[str, Any]) -> None:
        self.settings, self.mappings = body["settings"]["index"], body["mappings"]
        self.field: Mapping[str, Any] = self.mappings["properties"]["vector"]
        self.written: dict[str, list[float]] = {}
        self.seen: dict[str, list[float]] = {}

    @property
    def dimensions(self) -> int:
        return int(self.field.get("dims", self.field.get("dimension")))


class _LuceneServer(VectorServer):
    version: Mapping[str, Any]
    FIELD: str

    def __init__(self) -> None:
        super().__init__()
        self.held: dict[str, _Index] = {}

    def collections(self) -> list[str]:
        return sorted(self.held)

    def accepted(self, request: Request) -> Any:
        if request.location == "/" and request.method == "GET":
            return {"name": "node", "cluster_name": "loopback", "version": dict(self.version)}
        kind = request.headers.get("content-type", "")
        if request.content and kind not in ("application/json", "application/x-ndjson"):
            raise refused(406, "media_type_header_exception", f"Content-Type header [{kind}] is not supported")
        name, _, action = request.location.strip("/").partition("/")
        actions: Mapping[str, Callable[[str, Request], Any]] = {
            "PUT": self._create,
            "DELETE": self._delete,
            "GET _mapping": self._mapping,
            "POST _bulk": self._bulk,
            "POST _refresh": self._refresh,
            "GET _count": self._count,
            "POST _search": self._search,
            "GET _stats/store": self._stats,
        }
        key = f"{request.method} {action}".strip()
        if key not in actions:
            raise refused(405, "illegal_argument_exception", f"no handler found for uri [{request.location}]")
        if key != "PUT" and name not in self.held:
            raise refused(404, "index_not_found_exception", f"no such index [{name}]")
        return actions[key](name, request)

    def _create(self, name: str, request: Request) -> Any:
        body = request.body
        known(body, "settings mappings")
        known(body["settings"]["index"], f"number_of_shards number_of_replicas refresh_interval {self.SETTINGS}")
        known(body["mappings"], "dynamic _meta properties", "mapper_parsing_exception")
        if _BAD_NAME.search(name) or len(name.encode()) > 255:
            raise refused(400, "invalid_index_name_exception", f"Invalid index name [{name}]")
        if name in self.held:
            raise refused(400, "resource_already_exists_exception", f"index [{name}] already exists")
        self.check_field(body["mappings"]["properties"]["vector"])
        self.held[name] = _Index(body)
        return {"acknowledged": True, "shards_acknowledged": True, "index": name}

    SETTINGS = ""

    def check_field(self, field: Mapping[str, Any]) -> None:
        raise NotImplementedError

    def _delete(self, name: str, request: Request) -> Any:
        del self.held[name]
        return {"acknowledged": True}

    def _mapping(self, name: str, request: Request) -> Any:
        return {name: {"mappings": self.held[name].mappings}}

    def _bulk(self, name: str, request: Request) -> Any:
        if not request.content.endswith(b"\n"):
            raise refused(400, "illegal_argument_exception", "The bulk request must be terminated by a newline [\\n]")
        lines = [json.loads(line) for line in request.content.splitlines()]
        items = [self._index(name, action, document) for action, document in zip(lines[::2], lines[1::2], strict=True)]
        return {"took": 1, "errors": any("error" in item["index"] for item in items), "items": items}

    def _index(self, name: str, action: Mapping[str, Any], document: Mapping[str, Any]) -> dict[str, Any]:
        known(action, "index")
        known(action["index"], "_id")
        number, index = action["index"]["_id"], self.held[name]
        done: dict[str, Any] = {"_index": name, "_id": number, "status": 201}
        if not isinstance(number, str) or not 0 < len(number.encode()) <= 512:
            raise refused(400, "illegal_argument_exception", "id is too long, must be no longer than 512 bytes")
        if set(document) != {"vector"}:
            error = {"type": "strict_dynamic_mapping_exception", "reason": "dynamic introduction of a field is not allowed"}
            return {"index": {**done, "status": 400, "error": error}}
        if len(document["vector"]) != index.dimensions:
            error = {"type": "document_parsing_exception", "reason": "the vector has another number of dimensions"}
            return {"index": {**done, "status": 400, "error": error}}
        index.written[number] = document["vector"]
        return {"index": done}

    def _refresh(self, name: str, request: Request) -> Any:
        self.held[name].seen = dict(self.held[name].written)
        return {"_shards": _SHARDS}

    def _count(self, name: str, request: Request) -> Any:
        return {"count": len(self.held[name].seen), "_shards": _SHARDS}

    def _stats(self, name: str, request: Request) -> Any:
        held = self.held[name]
        size = len(held.seen) * (held.dimensions * 4 + 40)
        return {"_shards": _SHARDS, "_all": {"primaries": {"store": {"size_in_bytes": size}}}}

    def _search(self, name: str, request: Request) -> Any:
        body, index = request.body, self.held[name]
        query, most = self.vector_and_most(body, index)
        if not 0 <= body["size"] <= MAX_WINDOW:
            raise refused(400, "illegal_argument_exception", f"Result window is too large, size must be at most [{MAX_WINDOW}]")
        if len(query) != index.dimensions:
            raise refused(400, "illegal_argument_exception", "the query vector has another number of dimensions")
        found = _scored(index.seen, query)[: min(most, body["size"])]
        hits = [{"_index": name, "_id": number, "_score": score} for number, score in found]
        total = {"value": len(hits), "relation": "eq"}
        return {"took": 1, "timed_out": False, "_shards": _SHARDS, "hits": {"total": total, "hits": hits}}

    def vector_and_most(self, body: Mapping[str, Any], index: _Index) -> tuple[list[float], int]:
        """The query vector, and how many hits its part of the search gives."""
        raise NotImplementedError


def _scored(vectors: Mapping[str, list[float]], query: list[float]) -> list[tuple[str, float]]:
    """All documents by the score of their inner product in single precision; ties in the order of writing."""
    if not vectors:
        return []
    products = np.array(list(vectors.values()), np.float32) @ np.array(query, np.float32)
    scores = np.where(products < 0, 1 / (1 - np.minimum(products, 0)), products + 1).astype(np.float32)
    order = np.argsort(-scores, kind="stable")
    names = list(vectors)
    return [(names[at], float(scores[at])) for at in order]


class ElasticsearchServer(_LuceneServer):
    """Elasticsearch's requests."""

    version: Mapping[str, Any] = {"number": "9.2.0", "build_flavor": "default", "lucene_version": "10.3.1"}

    def check_field(self, field: Mapping[str, Any]) -> None:
        known(field, "type dims similarity index index_options", "mapper_parsing_exception")
        graph = "m ef_construction" if field["index_options"]["type"] == "hnsw" else ""
        known(field["index_options"], f"type {graph}", "mapper_parsing_exception")
        if field["type"] != "dense_vector" or field["index_options"]["type"] not in ("hnsw", "flat"):
            raise refused(400, "mapper_parsing_exception", "no such type of field or index")
        if not 1 <= field["dims"] <= 4096 or field["similarity"] != "max_inner_product":
            raise refused(400, "mapper_parsing_exception", "dims must be in [1, 4096]")

    def vector_and_most(self, body: Mapping[str, Any], index: _Index) -> tuple[list[float], int]:
        known(body, "knn size _source")
        knn = body["knn"]
        known(knn, "field query_vector k num_candidates")
        if not 1 <= knn["k"] <= knn["num_candidates"] <= MAX_WINDOW or knn["field"] != "vector":
            raise refused(400, "x_content_parse_exception", "[num_candidates] cannot be less than [k] or exceed [10000]")
        return knn["query_vector"], knn["k"]


class OpenSearchServer(_LuceneServer):
    """OpenSearch's requests."""

    version: Mapping[str, Any] = {"distribution": "opensearch", "number": "3.3.0", "lucene_version": "10.3.1"}
    SETTINGS = "knn"

    def check_field(self, field: Mapping[str, Any]) -> None:
        known(field, "type dimension method", "mapper_parsing_exception")
        if field["type"] != "knn_vector" or not 1 <= field["dimension"] <= 16_000:
            raise refused(400, "mapper_parsing_exception", "Dimension value must be in [1, 16000]")
        if method := field.get("method"):
            known(method, "name space_type engine parameters", "mapper_parsing_exception")
            known(method["parameters"], "m ef_construction", "mapper_parsing_exception")
            if (method["name"], method["space_type"]) != ("hnsw", "innerproduct") or method["engine"] not in ("faiss", "lucene"):
                raise refused(400, "mapper_parsing_exception", "no such method")

    def vector_and_most(self, body: Mapping[str, Any], index: _Index) -> tuple[list[float], int]:
        known(body, "query size _source")
        known(body["query"], "knn script_score")
        if "script_score" in body["query"]:
            script = body["query"]["script_score"]["script"]
            known(script["params"], "field query_value space_type")
            if (script["source"], script["lang"], script["params"]["space_type"]) != ("knn_score", "knn", "innerproduct"):
                raise refused(400, "script_exception", "no such script")
            return script["params"]["query_value"], MAX_WINDOW
        knn = body["query"]["knn"]["vector"]
        known(knn, "vector k")
        if not index.settings.get("knn") or not 1 <= knn["k"] <= MAX_WINDOW:
            raise refused(400, "query_shard_exception", "[knn] requires k to be in the range (0, 10000] and index.knn")
        return knn["vector"], knn["k"]
