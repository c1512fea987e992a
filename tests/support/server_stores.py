"""The stores on HTTP servers with their loopback servers, faults of these servers, and a run that is killed while filling."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankproof.stores import Elasticsearch, OpenSearch, Qdrant
from rankproof.stores._base import Store
from support.lucene_servers import ElasticsearchServer, OpenSearchServer
from support.scripted_server import Request, Sent
from support.vector_servers import QdrantServer, VectorServer

AXES = np.eye(3, dtype=np.float32)
Answered = Callable[[], Sent]


@dataclass(frozen=True)
class Kind:
    """A store, its server, the request that creates a foreign collection, and the paths of its writes and searches."""

    server: type[VectorServer]
    store: Callable[..., Store]
    foreign: dict[str, Any]
    write: str
    search: str


KINDS = {
    "qdrant": Kind(QdrantServer, Qdrant, {"vectors": {"size": 3, "distance": "Dot"}}, "/points", "/points/query"),
    "elasticsearch": Kind(
        ElasticsearchServer,
        Elasticsearch,
        {
            "settings": {"index": {}},
            "mappings": {
                "properties": {
                    "vector": {
                        "type": "dense_vector",
                        "dims": 3,
                        "similarity": "max_inner_product",
                        "index_options": {"type": "flat"},
                    }
                }
            },
        },
        "/_bulk",
        "/_search",
    ),
    "opensearch": Kind(
        OpenSearchServer,
        OpenSearch,
        {"settings": {"index": {}}, "mappings": {"properties": {"vector": {"type": "knn_vector", "dimension": 3}}}},
        "/_bulk",
        "/_search",
    ),
}


def path_of(kind: Kind, name: str) -> str:
    return f"/collections/rankproof_{name}" if kind.store is Qdrant else f"/rankproof_{name}"


def times(count: int, reply: Sent, path: str) -> Callable[[Request, Answered], Sent]:
    """Answers the first requests to the path with the reply."""
    left = [count]

    def fault(request: Request, answered: Answered) -> Sent:
        if request.location.endswith(path) and left[0]:
            left[0] -= 1
            return reply
        return answered()

    return fault


def changed_reply(change: Callable[[Any], Any], path: str) -> Callable[[Request, Answered], Sent]:
    """Changes the body of the replies to the path."""

    def fault(request: Request, answered: Answered) -> Sent:
        reply = answered()
        return Sent(reply.status, change(json.loads(reply.content))) if request.location.endswith(path) else reply

    return fault


KILLED = """
import os, signal, sys
import numpy as np
from rankproof.stores._registry import store_by_name

with store_by_name(sys.argv[1], url=sys.argv[2]).open("left", 7, "") as held:
    held.add([f"old{at}" for at in range(40)], np.ones((40, 7), np.float32))
    os.kill(os.getpid(), signal.SIGKILL)
"""


def kill_while_filling(name: str, url: str) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, name, url], capture_output=True, text=True, check=False)
    assert done.returncode == -9, done.stderr
