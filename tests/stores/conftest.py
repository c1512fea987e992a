"""Each store on an HTTP server with its loopback server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rankproof._io.retry import RetryPolicy
from rankproof.stores import _http
from rankproof.stores._base import Store
from support.server_stores import KINDS, Kind
from support.vector_servers import VectorServer
from support.vector_stores import require


@pytest.fixture(scope="module", params=list(KINDS))
def started(request: pytest.FixtureRequest) -> Iterator[tuple[Kind, VectorServer]]:
    require(request.param)
    with KINDS[request.param].server() as server:
        yield KINDS[request.param], server


@pytest.fixture
def kind(started: tuple[Kind, VectorServer]) -> Kind:
    return started[0]


@pytest.fixture
def server(started: tuple[Kind, VectorServer], monkeypatch: pytest.MonkeyPatch) -> VectorServer:
    monkeypatch.setattr(_http, "_RETRIES", RetryPolicy(max_requests=4, sleep=lambda seconds: None))
    started[1].reset()
    return started[1]


@pytest.fixture
def store(kind: Kind, server: VectorServer) -> Store:
    return kind.store(url=server.url, timeout=5)
