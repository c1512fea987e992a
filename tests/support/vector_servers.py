"""Loopback servers with the documented requests of Qdrant: strict, on real sockets, and able to misbehave on purpose."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from support.scripted_server import Request, ScriptedServer, Sent


class RefusalError(Exception):
    """A request that the server refuses."""

    def __init__(self, status: int, body: Any) -> None:
        super().__init__(status)
        self.sent = Sent(status, body)


class VectorServer(ScriptedServer):
    """`with QdrantServer() as server:`; `fault` may answer instead of it, or change its reply."""

    def __init__(self) -> None:
        super().__init__(lambda request: self.fault(request, lambda: self._answered(request)))
        self.fault: Callable[[Request, Callable[[], Sent]], Sent] = lambda request, answered: answered()
        self.authorization: Mapping[str, str] = {}
        self._collections_lock = threading.Lock()

    def _answered(self, request: Request) -> Sent:
        with self._collections_lock:
            return self._checked_answer(request)

    def _checked_answer(self, request: Request) -> Sent:
        try:
            if any(request.headers.get(name) != value for name, value in self.authorization.items()):
                raise RefusalError(401, {"status": {"error": "unauthorized"}})
            return Sent(body=self.accepted(request))
        except RefusalError as refused:
            return refused.sent
        except Exception as error:
            return Sent(500, {"error": f"the server of the test failed: {error!r}"})

    def accepted(self, request: Request) -> Any:
        """The body of a success; raises RefusalError."""
        raise NotImplementedError

    def collections(self) -> list[str]:
        """The names of all collections."""
        raise NotImplementedError

    def reset(self) -> None:
        """Forgets faults and requests."""
        self.fault, self.authorization = lambda request, answered: answered(), {}
        self.requests.clear()


@contextmanager
def started(kind: type[VectorServer]) -> Iterator[str]:
    """The address of a server of that kind."""
    with kind() as server:
        yield server.url


def given_server(name: str) -> AbstractContextManager[str] | None:
    """The address of a real server in RANKPROOF_TEST_QDRANT, _MILVUS, _ELASTICSEARCH or _OPENSEARCH, None if there is none."""
    address = os.environ.get(f"RANKPROOF_TEST_{name.upper()}")
    return nullcontext(address) if address else None


def known(body: Mapping[str, Any], names: str) -> None:
    """Refuses keys that the real server does not know."""
    unknown = set(body) - set(names.split())
    if unknown:
        raise RefusalError(400, {"status": {"error": f"Format error in JSON body: unknown field {sorted(unknown)}"}, "time": 0.0})


class _Points:
    """A collection, on the core of Qdrant itself."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        import qdrant_edge

        self.config, self.edge, self.folder = config, qdrant_edge, tempfile.mkdtemp()
        vectors, hnsw = config["vectors"], config.get("hnsw_config", {})
        threshold = config.get("optimizers_config", {}).get("indexing_threshold")
        index = qdrant_edge.HnswIndexConfig(hnsw.get("m", 16), hnsw.get("ef_construct", 100), hnsw.get("full_scan_threshold", 10))
        self.indexes = bool(threshold)
        self.shard = qdrant_edge.EdgeShard.create(
            self.folder,
            qdrant_edge.EdgeConfig(
                vectors=qdrant_edge.EdgeVectorParams(vectors["size"], getattr(qdrant_edge.Distance, vectors["distance"])),
                hnsw_config=index,
                optimizers=qdrant_edge.EdgeOptimizersConfig(indexing_threshold=threshold or None, default_segment_number=1),
                wal_enabled=False,
            ),
        )
        self.is_optimized = True

    def close(self) -> None:
        self.shard.close()
        shutil.rmtree(self.folder)


class QdrantServer(VectorServer):
    """Qdrant's requests on its own embedded core."""

    MAX_BODY = 32 << 20
    version = "1.20.0"

    def __init__(self) -> None:
        super().__init__()
        self.held: dict[str, _Points] = {}

    def collections(self) -> list[str]:
        return sorted(self.held)

    def accepted(self, request: Request) -> Any:
        if request.location == "/":
            return {"title": "qdrant - vector search engine", "version": self.version}
        parts = request.location.strip("/").split("/")
        if parts[0] != "collections" or not 2 <= len(parts) <= 4:
            raise RefusalError(404, b"")
        if request.content and request.headers.get("content-type") != "application/json":
            raise RefusalError(415, {"status": {"error": "Content-Type must be application/json"}})
        if len(request.content) > self.MAX_BODY:
            raise RefusalError(413, {"status": {"error": "JSON payload is larger than allowed (limit: 33554432 bytes)."}})
        name, action = parts[1], f"{request.method} {'/'.join(parts[2:])}".strip()
        actions: Mapping[str, Callable[[str, Request], Any]] = {
            "PUT": self._create,
            "GET": self._info,
            "DELETE": self._delete,
            "PUT points": self._upsert,
            "POST points/count": self._count,
            "POST points/query": self._query,
        }
        if action not in actions:
            raise RefusalError(404, b"")
        if name not in self.held and action not in ("PUT", "DELETE"):
            raise RefusalError(404, {"status": {"error": f"Not found: Collection `{name}` doesn't exist!"}, "time": 0.0})
        return {"result": actions[action](name, request), "status": "ok", "time": 0.001}

    def _create(self, name: str, request: Request) -> Any:
        body = request.body
        known(body, "vectors shard_number replication_factor hnsw_config optimizers_config metadata")
        known(body["vectors"], "size distance")
        known(body.get("hnsw_config", {}), "m ef_construct full_scan_threshold")
        known(body.get("optimizers_config", {}), "indexing_threshold")
        if name in self.held:
            raise RefusalError(409, {"status": {"error": f"Wrong input: Collection `{name}` already exists!"}, "time": 0.0})
        self.held[name] = _Points(body)
        return True

    def _info(self, name: str, request: Request) -> Any:
        points = self.held[name]
        status = "green" if points.is_optimized else "yellow"
        if not points.is_optimized:
            points.shard.optimize()
            points.is_optimized = True
        found = points.shard.info()
        return {
            "status": status,
            "optimizer_status": "ok",
            "indexed_vectors_count": found.indexed_vectors_count,
            "points_count": found.points_count,
            "segments_count": found.segments_count,
            "config": {"params": {"vectors": points.config["vectors"]}, "metadata": points.config.get("metadata")},
            "payload_schema": {},
        }

    def _delete(self, name: str, request: Request) -> Any:
        if name not in self.held:
            return False
        self.held.pop(name).close()
        return True

    def _upsert(self, name: str, request: Request) -> Any:
        known(request.body, "points")
        points, made = self.held[name], []
        for point in request.body["points"]:
            known(point, "id vector payload")
            if not _is_point_id(point["id"]):
                error = f"value {point['id']} is not a valid point ID, valid values are either an unsigned integer or a UUID"
                raise RefusalError(400, {"status": {"error": f"Format error in JSON body: {error}"}})
            if len(point["vector"]) != points.config["vectors"]["size"]:
                raise RefusalError(400, {"status": {"error": "Wrong input: Vector dimension error"}})
            made.append(points.edge.Point(point["id"], point["vector"], point.get("payload")))
        points.shard.update(points.edge.UpdateOperation.upsert_points(made))
        points.is_optimized = not points.indexes
        return {"operation_id": 1, "status": "completed" if request.options.get("wait") == "true" else "acknowledged"}

    def _count(self, name: str, request: Request) -> Any:
        known(request.body, "exact")
        points = self.held[name]
        return {"count": points.shard.count(points.edge.CountRequest(exact=request.body["exact"]))}

    def _query(self, name: str, request: Request) -> Any:
        body = request.body
        known(body, "query limit params with_payload")
        known(body.get("params", {}), "exact hnsw_ef")
        points, edge = self.held[name], self.held[name].edge
        if body["limit"] < 1:
            raise RefusalError(
                422, {"status": {"error": "Validation error in JSON body: [limit: must be greater or equal to 1]"}}
            )
        params = edge.SearchParams(**body.get("params", {}))
        asked = edge.QueryRequest(limit=body["limit"], query=edge.Query.Nearest(body["query"]), params=params)
        return {"points": [{"id": each.id, "version": 0, "score": each.score} for each in points.shard.query(asked)]}


def _is_point_id(value: Any) -> bool:
    if type(value) is int:
        return 0 <= value < 2**64
    try:
        return isinstance(value, str) and bool(uuid.UUID(value))
    except ValueError:
        return False
