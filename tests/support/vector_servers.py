"""Loopback servers with the documented requests of Qdrant: strict, on real sockets, and able to misbehave on purpose."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qsl, unquote, urlsplit


@dataclass(frozen=True)
class Request:
    """What a client sent."""

    method: str
    path: str
    options: Mapping[str, str]
    headers: Mapping[str, str]
    content: bytes

    @property
    def body(self) -> Any:
        return json.loads(self.content)


@dataclass(frozen=True)
class Reply:
    """An answer; `hangs_up` ends the connection in the middle of it."""

    status: int = 200
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    hangs_up: bool = False

    def content(self) -> bytes:
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


class RefusalError(Exception):
    """A request that the server refuses."""

    def __init__(self, status: int, body: Any) -> None:
        super().__init__(status)
        self.reply = Reply(status, body)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Listener

    def answer(self) -> None:
        where = urlsplit(self.path)
        content = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(self.command, unquote(where.path), dict(parse_qsl(where.query)), headers, content)
        reply = self.server.owner.reply(request)
        self.send_response(reply.status)
        for name, value in {"Content-Type": "application/json", **reply.headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(reply.content())))
        self.end_headers()
        self.wfile.write(reply.content()[: len(reply.content()) // 2] if reply.hangs_up else reply.content())
        self.close_connection = self.close_connection or reply.hangs_up

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = answer  # noqa: N815

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is printed."""


class _Listener(ThreadingHTTPServer):
    daemon_threads = True
    owner: VectorServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no error of the test."""


class VectorServer:
    """`with QdrantServer() as server:`; `fault` may answer instead of it, or change its reply."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.fault: Callable[[Request, Callable[[], Reply]], Reply] = lambda request, answered: answered()
        self.authorization: Mapping[str, str] = {}
        self._lock = threading.Lock()
        self._listener = _Listener(("127.0.0.1", 0), _Handler)
        self._listener.owner = self
        self._thread = threading.Thread(target=self._listener.serve_forever, args=(0.01,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listener.server_address[1]}"

    def reply(self, request: Request) -> Reply:
        self.requests.append(request)
        return self.fault(request, lambda: self._answered(request))

    def _answered(self, request: Request) -> Reply:
        with self._lock:
            return self._checked_answer(request)

    def _checked_answer(self, request: Request) -> Reply:
        try:
            if any(request.headers.get(name) != value for name, value in self.authorization.items()):
                raise RefusalError(401, {"status": {"error": "unauthorized"}})
            return Reply(200, self.answer(request))
        except RefusalError as refused:
            return refused.reply
        except Exception as error:
            return Reply(500, {"error": f"the server of the test failed: {error!r}"})

    def answer(self, request: Request) -> Any:
        """The body of a success; raises RefusalError."""
        raise NotImplementedError

    def collections(self) -> list[str]:
        """The names of all collections."""
        raise NotImplementedError

    def reset(self) -> None:
        """Forgets faults and requests."""
        self.fault, self.authorization = lambda request, answered: answered(), {}
        self.requests.clear()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._listener.shutdown()
        self._listener.server_close()
        self._thread.join()


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

    def answer(self, request: Request) -> Any:
        if request.path == "/":
            return {"title": "qdrant - vector search engine", "version": self.version}
        parts = request.path.strip("/").split("/")
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
