"""What a store leaves on its server and in its folder: nothing, also after an error or a kill; and its names and limits."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankproof.errors import ExternalError, UsageError
from rankproof.stores import Elasticsearch, Milvus, OpenSearch, Qdrant
from rankproof.stores._base import Store
from rankproof.stores._collection import OpenCollection, collection_name
from rankproof.stores._elasticsearch import inner_product
from support.scripted_server import Sent
from support.server_stores import AXES, KILLED, Kind, kill_while_filling, path_of
from support.vector_servers import VectorServer
from support.vector_stores import like_text, require


def test_a_closed_store_leaves_nothing_on_the_server(store: Store, server: VectorServer) -> None:
    with store.open("gone", 3, "") as held:
        held.add(["a"], AXES[:1])
        assert server.collections() == ["rankproof_gone"]
    assert server.collections() == []


def test_an_error_inside_leaves_nothing_either(store: Store, server: VectorServer) -> None:
    with pytest.raises(UsageError), store.open("gone", 3, "") as held:
        held.add(["a"], AXES[:1, :2])
    assert server.collections() == []


def test_a_failed_write_leaves_nothing_and_the_next_run_works(kind: Kind, store: Store, server: VectorServer) -> None:
    server.fault = lambda request, answered: Sent(500, {}) if request.location.endswith(kind.write) else answered()
    with pytest.raises(ExternalError, match="failed while adding vectors"), store.open("gone", 3, "") as held:
        held.add(["a"], AXES[:1])
    assert server.collections() == []
    server.reset()
    with store.open("gone", 3, "") as held:
        held.add(["b"], AXES[:1])
        assert held.search(AXES[:1], 5)[0][0] == ["b"]


def test_a_foreign_collection_is_notchanged_reply(kind: Kind, store: Store, server: VectorServer) -> None:
    httpx.put(server.url + path_of(kind, "theirs"), json=kind.foreign).raise_for_status()
    with pytest.raises(ExternalError, match="rankproof_theirs was not created by rankproof"):
        store.open("theirs", 3, "")
    assert server.collections() == ["rankproof_theirs"]
    httpx.delete(server.url + path_of(kind, "theirs")).raise_for_status()


@pytest.mark.slow
def test_what_a_killed_run_left_does_not_spoil_the_next_one(kind: Kind, store: Store, server: VectorServer) -> None:
    kill_while_filling(kind.store.__name__.lower(), server.url)
    assert server.collections() == ["rankproof_left"]
    with store.open("left", 3, "") as held:
        held.add(["new"], AXES[:1])
        assert held.search(AXES[:1], 50)[0][0] == ["new"]
    assert server.collections() == []


def test_a_run_whose_collection_another_run_replaced_fails_and_leaves_the_other_alone(store: Store, server: VectorServer) -> None:
    first = store.open("shared", 3, "")
    second = store.open("shared", 3, "")
    with pytest.raises(ExternalError, match="another run replaced rankproof_shared"), first:
        first.search(AXES[:1], 1)
    assert server.collections() == ["rankproof_shared"]
    with second:
        second.add(["b"], AXES[:1])
        assert second.search(AXES[:1], 1)[0][0] == ["b"]


def test_documents_that_someone_else_adds_are_an_error(kind: Kind, store: Store, server: VectorServer) -> None:
    with store.open("mixed", 3, "") as held:
        held.add(["a"], AXES[:1])
        if kind.store is Qdrant:
            points = [{"id": 99, "vector": [1, 0, 0]}]
            httpx.put(f"{server.url}{path_of(kind, 'mixed')}/points?wait=true", json={"points": points}).raise_for_status()
        else:
            line = b'{"index":{"_id":"99"}}\n{"vector":[1,0,0]}\n'
            headers = {"Content-Type": "application/x-ndjson"}
            httpx.post(f"{server.url}{path_of(kind, 'mixed')}/_bulk", content=line, headers=headers).raise_for_status()
        with pytest.raises(ExternalError, match="has 2 documents, but 1 were added"):
            held.search(AXES[:1], 1)


@pytest.mark.slow
def test_vectors_are_written_in_batches_below_the_size_that_servers_take(kind: Kind, server: VectorServer) -> None:
    def writes(dimensions: int, count: int, batch: int) -> list[int]:
        server.reset()
        with kind.store(url=server.url, batch=batch).open("batches", dimensions, "") as held:
            held.add([f"d{at}" for at in range(count)], like_text(count, dimensions, 1))
        return [len(request.content) for request in server.requests if request.location.endswith(kind.write)]

    assert len(writes(8, 25, 10)) == 3
    sizes = writes(4096, 200, 100_000)
    assert len(sizes) == 3
    assert max(sizes) < 10_000_000


@given(st.floats(-1e6, 1e6))
def test_a_score_gives_its_inner_product_back(product: float) -> None:
    score = product + 1 if product >= 0 else 1 / (1 - product)
    assert inner_product(score) == pytest.approx(product, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(
    ("score", "product"), [(2.0, 1.0), (1, 0.0), (0.5, -1.0), (1.25, 0.25), (0, None), (-1.0, None), (None, None), ("2", None)]
)
def test_scores_of_the_documented_formula(score: Any, product: float | None) -> None:
    assert inner_product(score) == product


@pytest.mark.parametrize(
    ("name", "found"),
    [("x", "rankproof_x"), ("rankproof_0a1b", "rankproof_0a1b"), ("X", None), ("", None), ("a b", None), ("y" * 81, None)],
)
def test_a_name_that_some_engine_does_not_take_becomes_a_digest(name: str, found: str | None) -> None:
    if found:
        assert collection_name(name) == found
    else:
        assert len(collection_name(name)) == len("rankproof_") + 40
        assert collection_name(name).isidentifier()


def test_more_results_than_the_server_returns_are_refused(
    kind: Kind, store: Store, server: VectorServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with store.open("deep", 3, "") as held:
        assert isinstance(held, OpenCollection)
        monkeypatch.setattr(type(held), "most_results", 2)
        held.add(["a", "b"], AXES[:2])
        assert len(held.search(AXES[:1], 5)[0][0]) == 2
        held.add(["c"], AXES[2:])
        with pytest.raises(UsageError, match="returns at most 2; set depth to 2 or less"):
            held.search(AXES[:1], 3)


@pytest.mark.parametrize(
    ("store", "dimensions"),
    [
        (Qdrant(), 65_536),
        (Milvus(), 32_769),
        (Elasticsearch("http://127.0.0.1:1"), 4_097),
        (OpenSearch("http://127.0.0.1:1"), 16_001),
    ],
    ids=lambda value: type(value).__name__,
)
def test_too_many_dimensions_are_refused_before_anything_is_sent(store: Store, dimensions: int, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=f"{dimensions:,} dimensions, but .* allows at most {dimensions - 1:,}"):
        store.open("x", dimensions, str(tmp_path))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("value", [Qdrant(), Milvus()], ids=["qdrant", "milvus"])
def test_an_embedded_engine_removes_its_folder_also_after_an_error(value: Store, tmp_path: Path) -> None:
    require("qdrant" if isinstance(value, Qdrant) else "milvus")
    with pytest.raises(UsageError), value.open("x", 3, str(tmp_path)) as held:
        held.add(["b"], AXES[:1, :2])
    assert list(tmp_path.iterdir()) == []


KILLED_EMBEDDED = KILLED.replace("url=sys.argv[2]", "").replace('7, ""', "7, sys.argv[2]")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["qdrant", "milvus"])
def test_the_folder_of_a_killed_run_is_removed_by_the_next_one(name: str, tmp_path: Path) -> None:
    require(name)
    done = subprocess.run([sys.executable, "-c", KILLED_EMBEDDED, name, str(tmp_path)], capture_output=True, check=False)
    assert done.returncode == -9, done.stderr
    assert len(list(tmp_path.iterdir())) == 1
    with (Qdrant() if name == "qdrant" else Milvus()).open("left", 3, str(tmp_path)) as held:
        held.add(["new"], AXES[:1])
        assert held.search(AXES[:1], 50)[0][0] == ["new"]
        assert len(list(tmp_path.iterdir())) == 1
    assert list(tmp_path.iterdir()) == []
