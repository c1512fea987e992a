"""Servers of stores that are busy, gone, of another kind, or that misbehave."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from rankproof._io.retry import RetryPolicy
from rankproof.errors import ExternalError, UsageError
from rankproof.stores import Elasticsearch, OpenSearch, Qdrant, _http
from rankproof.stores._base import OpenStore, Store
from support.lucene_servers import ElasticsearchServer, OpenSearchServer
from support.scripted_server import Request, Sent
from support.search_servers import free_port
from support.server_stores import AXES, Answered, Kind, changed_reply, path_of, times
from support.vector_servers import QdrantServer, VectorServer
from support.vector_stores import require


def _fill_and_search(held: OpenStore) -> None:
    held.add(["a", "b", "c"], AXES)
    held.search(AXES[:1], 3)


@pytest.mark.parametrize("status", [429, 503])
def test_a_busy_server_is_asked_again(kind: Kind, store: Store, server: VectorServer, status: int) -> None:
    with store.open("busy", 3, "") as held:
        for path in (kind.write, kind.search):
            server.fault = times(3, Sent(status, {"error": "busy"}, {"Retry-After": "0"}), path)
            held.add(["a"], AXES[:1])
            assert held.search(AXES[:1], 1)[0][0] == ["a"]
            server.fault = times(4, Sent(status, {"error": "busy"}), path)
            with pytest.raises(ExternalError, match=f"status {status}: busy.*wait until the server is less busy"):
                _fill_and_search(held)
        server.reset()


def test_a_server_that_demands_a_long_pause_is_not_waited_for(kind: Kind, store: Store, server: VectorServer) -> None:
    with store.open("busy", 3, "") as held:
        server.fault = times(1, Sent(429, {"error": "busy"}, {"Retry-After": "3600"}), kind.write)
        with pytest.raises(ExternalError, match="status 429"):
            held.add(["a"], AXES[:1])


def test_a_lost_reply_to_a_write_or_a_search_is_asked_for_again(kind: Kind, store: Store, server: VectorServer) -> None:
    lost = Sent(200, {"status": "ok", "text": "x" * 100}, hangs_up=True)
    with store.open("lost", 3, "") as held:
        server.fault = times(2, lost, kind.write)
        held.add(["a"], AXES[:1])
        server.fault = times(2, lost, kind.search)
        assert held.search(AXES[:1], 1)[0][0] == ["a"]


def test_a_server_that_does_not_answer_is_not_waited_for_without_end(kind: Kind, server: VectorServer) -> None:
    ended = threading.Event()

    def fault(request: Request, answered: Answered) -> Sent:
        if request.location.endswith(kind.search):
            ended.wait()
        return answered()

    with kind.store(url=server.url, timeout=1).open("silent", 3, "") as held:
        held.add(["a"], AXES[:1])
        server.fault = fault
        with pytest.raises(ExternalError, match=r"no data for 1 s"):
            held.search(AXES[:1], 1)
        ended.set()


def test_a_lost_reply_to_the_creation_is_an_error_and_leaves_nothing(kind: Kind, store: Store, server: VectorServer) -> None:
    def fault(request: Request, answered: Answered) -> Sent:
        reply = answered()
        created = request.method == "PUT" and request.location == path_of(kind, "lost")
        return Sent(reply.status, reply.body, hangs_up=True) if created else reply

    server.fault = fault
    with pytest.raises(ExternalError, match="failed while creating"):
        store.open("lost", 3, "")
    assert server.collections() == []


def test_a_server_that_is_not_there_is_named_with_what_to_do(kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_http, "_RETRIES", RetryPolicy(max_requests=2, sleep=lambda seconds: None))
    url = f"http://127.0.0.1:{free_port()}"
    with pytest.raises(ExternalError, match=f"{url}: .* failed while connecting .*check that the server is running"):
        kind.store(url=url, timeout=1).open("x", 3, "")


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b"null", b'{"version": 7}', b'{"version": "1.2"}', b"[" * 100_000])
def test_a_server_of_another_kind_is_an_error(store: Store, server: VectorServer, body: bytes) -> None:
    server.fault = lambda request, answered: Sent(200, body)
    with pytest.raises(ExternalError, match="check the address"):
        store.open("x", 3, "")


def test_a_redirect_is_not_followed(store: Store, server: VectorServer) -> None:
    server.fault = lambda request, answered: Sent(307, {}, {"Location": "http://192.0.2.1/"})
    with pytest.raises(ExternalError, match=r"redirects \(status 307\).*set url"):
        store.open("x", 3, "")


def test_each_of_the_two_names_the_other_and_an_old_server_is_refused() -> None:
    with ElasticsearchServer() as elastic, OpenSearchServer() as opened:
        with pytest.raises(UsageError, match=r"this is opensearch 3.3.0; use the store opensearch"):
            Elasticsearch(opened.url).open("x", 3, "")
        with pytest.raises(UsageError, match=r"this is elasticsearch 9.2.0; use the store elasticsearch"):
            OpenSearch(elastic.url).open("x", 3, "")
        elastic.version = {"number": "1.0", "distribution": "another"}
        with pytest.raises(UsageError, match=r"this is another 1.0; check the address"):
            Elasticsearch(elastic.url).open("x", 3, "")
        elastic.version, opened.version = {"number": "7.17.1"}, {"number": "1.3.0", "distribution": "opensearch"}
        with pytest.raises(UsageError, match=r"update the server to 8.15"):
            Elasticsearch(elastic.url).open("x", 3, "")
        with pytest.raises(UsageError, match=r"update the server to 2.13"):
            OpenSearch(opened.url).open("x", 3, "")


def test_a_qdrant_that_keeps_no_mark_is_refused() -> None:
    require("qdrant")
    with QdrantServer() as server:
        server.version = "1.9.7"
        with pytest.raises(ExternalError, match=r"Qdrant 1.9.7 .*update the server to 1.16"):
            Qdrant(url=server.url).open("x", 3, "")


def _hits(change: Callable[[list[dict[str, Any]]], Any]) -> Callable[[Any], Any]:
    """Changes the hits of a reply of any of the servers."""

    def changed(body: Any) -> Any:
        place, name = (body["result"], "points") if "result" in body else (body["hits"], "hits")
        place[name] = change(place[name])
        return body

    return changed


def _score(body: dict[str, Any], value: Any) -> dict[str, Any]:
    return {**body, ("score" if "score" in body else "_score"): value}


def _number(body: dict[str, Any], value: Any) -> dict[str, Any]:
    return {**body, ("id" if "score" in body else "_id"): value}


WRONG_HITS: dict[str, tuple[Callable[[list[dict[str, Any]]], Any], str]] = {
    "none": (lambda hits: [], "has 0 documents where 3 were requested"),
    "one too few": (lambda hits: hits[:-1], "has 2 documents where 3 were requested"),
    "one too many": (lambda hits: [*hits, _number(hits[0], 3)], "was not added, or the same one twice"),
    "one twice": (lambda hits: [hits[0], *hits[:2]], "or the same one twice"),
    "a foreign number": (lambda hits: [_number(hit, 7) for hit in hits[:1]], "a document that was not added"),
    "a negative number": (lambda hits: [_number(hit, -1) for hit in hits[:1]], "a document that was not added"),
    "text": (lambda hits: [_number(hit, "a") for hit in hits[:1]], "a document that was not added"),
    "a list": (lambda hits: [_number(hit, [1]) for hit in hits[:1]], "a document that was not added"),
    "NaN": (lambda hits: [_score(hit, float("nan")) for hit in hits], "not a finite number"),
    "infinity": (lambda hits: [_score(hit, float("inf")) for hit in hits], "not a finite number"),
    "no score": (lambda hits: [_score(hit, None) for hit in hits], "not a finite number"),
    "a score of text": (lambda hits: [_score(hit, "1") for hit in hits], "not a finite number"),
    "no list": (lambda hits: {"a": 1}, "has no rows at"),
    "no objects": (lambda hits: [1, 2], "has no rows at"),
}


@pytest.mark.parametrize("wrong", list(WRONG_HITS))
def test_hits_that_cannot_be_right_are_an_error(kind: Kind, store: Store, server: VectorServer, wrong: str) -> None:
    change, words = WRONG_HITS[wrong]
    with store.open("wrong", 3, "") as held:
        held.add(["a", "b", "c"], AXES)
        assert len(held.search(AXES[:1], 3)[0][0]) == 3
        server.fault = changed_reply(_hits(change), kind.search)
        with pytest.raises(ExternalError, match=words):
            held.search(AXES[:1], 3)


def test_a_short_reply_of_an_approximate_index_is_a_fact(kind: Kind, server: VectorServer) -> None:
    with kind.store(url=server.url, index="hnsw").open("short", 3, "") as held:
        held.add(["a", "b", "c"], AXES)
        held.search(AXES[:1], 3)
        assert "short_replies" not in held.facts()
        server.fault = changed_reply(_hits(lambda hits: hits[:1]), kind.search)
        assert len(held.search(AXES[:2], 3)[0][0]) == 1
        assert held.facts()["short_replies"] == 2


LIES: dict[str, tuple[type[VectorServer], str, Callable[[Any], Any], str]] = {
    "errors of a bulk": (
        ElasticsearchServer,
        "/_bulk",
        lambda body: {"errors": True, "items": [{"index": {"status": 400, "error": {"reason": "too long"}}}] * 3},
        "3 of 3 documents were rejected: too long",
    ),
    "errors without an item": (ElasticsearchServer, "/_bulk", lambda body: {**body, "errors": True}, "were rejected"),
    "a failed shard": (
        ElasticsearchServer,
        "/_search",
        lambda body: {**body, "_shards": {"failed": 1, "failures": [{"reason": {"reason": "broken"}}]}},
        "a shard failed: broken",
    ),
    "no shards": (ElasticsearchServer, "/_search", lambda body: {**body, "_shards": {}}, r"no _shards\.failed"),
    "a search that timed out": (ElasticsearchServer, "/_search", lambda body: {**body, "timed_out": True}, "timed out"),
    "a failed refresh": (ElasticsearchServer, "/_refresh", lambda body: {"_shards": {"failed": 1}}, "a shard failed"),
    "a failed count": (ElasticsearchServer, "/_count", lambda body: {"count": 3, "_shards": {"failed": 1}}, "a shard failed"),
    "a count that is text": (ElasticsearchServer, "/_count", lambda body: {**body, "count": "3"}, "no number at count"),
    "a status that is an error": (
        QdrantServer,
        "/points/query",
        lambda body: {"status": {"error": "no memory"}, "time": 0},
        "no memory",
    ),
    "a write that is only queued": (
        QdrantServer,
        "/points",
        lambda body: {**body, "result": {"operation_id": 1, "status": "acknowledged"}},
        "the write is acknowledged, not completed",
    ),
    "a count that is negative": (
        QdrantServer,
        "/points/count",
        lambda body: {**body, "result": {"count": -3}},
        "no number at count",
    ),
}


@pytest.mark.parametrize("lie", list(LIES))
def test_a_success_with_an_error_inside_is_an_error(lie: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_http, "_RETRIES", RetryPolicy(max_requests=2, sleep=lambda seconds: None))
    kind, path, change, words = LIES[lie]
    require("qdrant" if kind is QdrantServer else "")
    with kind() as server:
        store = Qdrant(url=server.url) if kind is QdrantServer else Elasticsearch(server.url)
        with store.open("lie", 3, "") as held:
            server.fault = changed_reply(change, path)
            with pytest.raises(ExternalError, match=words):
                _fill_and_search(held)
        assert server.collections() == []


def test_documents_that_a_busy_server_refused_in_a_bulk_are_written_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_http, "_RETRIES", RetryPolicy(max_requests=3, sleep=lambda seconds: None))
    busy = {"index": {"_id": "0", "status": 429, "error": {"type": "es_rejected_execution_exception", "reason": "queue is full"}}}
    with ElasticsearchServer() as server, Elasticsearch(server.url).open("busy", 3, "") as held:
        server.fault = times(2, Sent(200, {"errors": True, "items": [busy]}), "/_bulk")
        held.add(["a"], AXES[:1])
        assert held.search(AXES[:1], 1)[0][0] == ["a"]
        server.fault = times(3, Sent(200, {"errors": True, "items": [busy]}), "/_bulk")
        with pytest.raises(ExternalError, match="queue is full"):
            held.add(["a"], AXES[:1])


def test_an_index_of_qdrant_that_fails_or_is_not_ready_in_time_is_an_error() -> None:
    require("qdrant")
    with QdrantServer() as server, Qdrant(url=server.url, index="hnsw", index_timeout=0.2).open("index", 3, "") as held:
        held.add(["a"], AXES[:1])
        server.fault = changed_reply(lambda body: {**body, "result": {**body["result"], "status": "yellow"}}, "/rankproof_index")
        with pytest.raises(ExternalError, match=r"the HNSW index is not ready after 0.2 s"):
            held.search(AXES[:1], 1)
        failed = {"error": "disk full"}
        server.fault = changed_reply(
            lambda body: {**body, "result": {**body["result"], "optimizer_status": failed}}, "/rankproof_index"
        )
        with pytest.raises(ExternalError, match="failed while building the index \\(disk full\\)"):
            held.search(AXES[:1], 1)
        server.reset()
        assert held.search(AXES[:1], 1)[0][0] == ["a"]
        assert held.facts()["indexed_vectors"] == 0
